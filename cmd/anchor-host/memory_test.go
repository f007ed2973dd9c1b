package main

import (
	"strings"
	"testing"
)

// An empty selector, as from a variable that is not set, is no selector: it would
// select everything.
func TestEmptySelectors(t *testing.T) {
	storeFolder(t, nil)
	must(t, "", "memory", "add", "--id", "f1", "kept")
	for _, line := range []string{
		"memory forget --all --user=", "memory forget --all --conversation=", "memory forget --all --session=",
		"memory forget --all --type=", "memory forget --all --tag=", "memory forget --all --tag=a,", "memory forget --run=",
		"memory list --user=", "memory search --session= x", "memory add --conversation= x",
		"frames push --run= --kind checkpoint x", "frames window --run=", "frames list --run=", "assemble --run=",
	} {
		code, _, stderr := run(t, "[]", strings.Fields(line)...)
		flag, _, _ := strings.Cut(line[strings.LastIndex(line, " --"):], "=")
		if strings.HasPrefix(line, "frames push") {
			flag = " --run"
		}
		if code != codeUsage || !strings.Contains(stderr, "flag"+flag+": the value is empty") {
			t.Errorf("%s: code %d: %s", line, code, stderr)
		}
	}
	if got := column(t, must(t, "", "memory", "list"), "ID"); len(got) != 1 || got[0] != "f1" {
		t.Errorf("facts %v", got)
	}
}

func TestForgetRun(t *testing.T) {
	storeFolder(t, nil)
	must(t, "", "frames", "push", "--run", "r", "--kind", "checkpoint", "saved")
	must(t, `[{"role": "user", "content": "go on"}]`, "assemble", "--run", "r")
	for _, extra := range [][]string{{"f1"}, {"--user", "ann"}, {"--conversation", "c"}} {
		if code, _, stderr := run(t, "", append([]string{"memory", "forget", "--run", "r"}, extra...)...); code != codeUsage {
			t.Errorf("%v: code %d: %s", extra, code, stderr)
		}
	}
	if got := must(t, "", "memory", "forget", "--run", "r"); got != "forgotten: 3\n" {
		t.Errorf("got %q", got)
	}
	if code, _, stderr := run(t, "", "memory", "forget", "--run", "r"); code != codeNotFound {
		t.Errorf("again: code %d: %s", code, stderr)
	}
	if got := must(t, "", "memory", "export"); strings.Contains(got, "saved") || strings.Contains(got, "go on") {
		t.Errorf("left: %s", got)
	}
}

func TestLiftLimits(t *testing.T) {
	storeFolder(t, nil)
	push := func(args ...string) {
		t.Helper()
		must(t, "", append([]string{"frames", "push", "--run", "r", "--kind", "step_summary", "step"}, args...)...)
	}
	limits := func() string {
		return must(t, "", "frames", "window", "--run", "r", "-o", "document")
	}
	push("--max-frames", "2", "--max-tokens", "500")
	push()
	if got := limits(); !strings.Contains(got, `"max_frames": 2`) || !strings.Contains(got, `"max_tokens": 500`) {
		t.Errorf("limits are not kept: %s", got)
	}
	push("--max-frames", "0")
	push()
	if got := limits(); strings.Contains(got, `"max_frames": 2`) || !strings.Contains(got, `"max_tokens": 500`) {
		t.Errorf("max_frames was not lifted, or max_tokens was: %s", got)
	}
	if got := column(t, must(t, "", "frames", "window", "--run", "r"), "FRAME"); len(got) != 4 {
		t.Errorf("frames %v, want 4", got)
	}
}
