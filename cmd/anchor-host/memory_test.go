package main

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/store"
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

// What nothing could read again is not imported, and what is there already can be
// deleted.
func TestImportChecks(t *testing.T) {
	storeFolder(t, nil)
	code, _, stderr := run(t, `{"kind":"fact","data":{}}`, "memory", "import", "-")
	if code != codeInvalid || !strings.Contains(stderr, "line 1: ") {
		t.Errorf("code %d: %s", code, stderr)
	}
	must(t, "", "memory", "list")
	s, err := agentstore.Open(t.Context(), os.Getenv("ANCHOR_HOST_STORE_PATH"), "normal")
	if err != nil {
		t.Fatal(err)
	}
	err = s.Put(t.Context(), store.Key{Tenant: "default", Kind: memory.KindFact}, store.Record{ID: "bad", Data: []byte("{}")})
	if closed := s.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	if code, _, stderr := run(t, "", "memory", "list"); code != codeOK || !strings.Contains(stderr, `fact "bad" is damaged and left out`) {
		t.Errorf("code %d: %s", code, stderr)
	}
	if got := must(t, "", "memory", "forget", "--all"); got != "forgotten: 1\n" {
		t.Errorf("got %q", got)
	}
	must(t, "", "memory", "list")
}

// Turns that come after an import are never numbered as those that the digest
// covers, and a copy numbers as the original does.
func TestNumbersAfterImport(t *testing.T) {
	storeFolder(t, nil)
	for range 3 {
		must(t, "", "memory", "add", "--conversation", "c", "a turn")
	}
	must(t, "", "memory", "forget", "--conversation", "c", "2", "3")
	exported := must(t, "", "memory", "export")
	must(t, exported, "memory", "import", "--tenant", "copy", "-")
	if got := strings.ReplaceAll(must(t, "", "memory", "export", "--tenant", "copy"), `"tenant":"copy"`, `"tenant":"default"`); got != exported {
		t.Errorf("the copy is\n%s\nwant\n%s", got, exported)
	}
	if got := column(t, must(t, "", "memory", "add", "--tenant", "copy", "--conversation", "c", "next"), "TURN"); got[0] != "4" {
		t.Errorf("turn %v, want 4", got)
	}
	must(t, `{"kind":"digest","stream":"d","id":"digest","data":{"text":"long ago","count":1,"through":99}}`, "memory", "import", "-")
	if got := column(t, must(t, "", "memory", "add", "--conversation", "d", "next"), "TURN"); got[0] != "100" {
		t.Errorf("turn %v, want 100", got)
	}
}

// Assemblies of one run at the same time all succeed, and none of their messages is
// lost.
func TestParallelAssemblies(t *testing.T) {
	storeFolder(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\nagent: {max_tokens: 1000}\n"})
	const n = 10
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if code, _, stderr := run(t, `[{"role": "user", "content": "go on"}]`, "assemble", "--run", "r"); code != codeOK {
				t.Errorf("code %d: %s", code, stderr)
			}
		})
	}
	wg.Wait()
	if got := decode[[]struct{}](t, must(t, "", "assemble", "--run", "r")); len(got) != n {
		t.Errorf("%d messages, want %d", len(got), n)
	}
}

// A tenant is forgotten whole, and only when it is named.
func TestForgetEverything(t *testing.T) {
	storeFolder(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\ntenant: acme\n"})
	for _, tenant := range []string{"acme", "other"} {
		must(t, "", "memory", "add", "--tenant", tenant, "a fact of "+tenant)
		must(t, "", "memory", "add", "--tenant", tenant, "--conversation", "c", "a turn of "+tenant)
		must(t, "", "frames", "push", "--tenant", tenant, "--run", "r", "--kind", "checkpoint", "a frame of "+tenant)
	}
	for _, args := range [][]string{
		{}, {"--tenant", "acme", "--all"}, {"--tenant", "acme", "--run", "r"}, {"--tenant", "acme", "--user", "ann"}, {"--tenant", "acme", "an-id"},
	} {
		code, _, stderr := run(t, "", append([]string{"memory", "forget", "--everything"}, args...)...)
		if code != codeUsage || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: code %d, %s", args, code, stderr)
		}
	}
	must(t, "", "memory", "add", "--tenant", "acme", "--user", "ann", "of ann")
	must(t, "", "memory", "add", "--tenant", "acme", "--user", "bob", "of bob")
	if got := must(t, "", "memory", "forget", "--user", "ann", "--tenant", "acme", "-o", "json"); !strings.Contains(got, `"facts": 1`) {
		t.Errorf("forgotten of ann: %s", got)
	}
	if code, _, stderr := run(t, "", "memory", "forget", "--user", "ann", "--tenant", "acme"); code != codeNotFound {
		t.Errorf("ann again: code %d, %s", code, stderr)
	}
	if got := must(t, "", "memory", "forget", "--user", "bob", "--tenant", "acme"); !strings.Contains(got, "facts") {
		t.Errorf("forgotten of bob: %s", got)
	}
	if got := must(t, "", "memory", "forget", "--everything", "--tenant", "acme"); got != "forgotten: 4\n" {
		t.Errorf("forgotten %q", got)
	}
	if code, _, stderr := run(t, "", "memory", "forget", "--everything", "--tenant", "acme"); code != codeNotFound {
		t.Errorf("again: code %d, %s", code, stderr)
	}
	if got := must(t, "", "memory", "export", "--tenant", "acme"); strings.Contains(got, "of acme") {
		t.Errorf("left:\n%s", got)
	}
	if got := must(t, "", "memory", "export", "--tenant", "other"); strings.Count(got, "of other") != 3 {
		t.Errorf("other:\n%s", got)
	}
	file, err := os.ReadFile(os.Getenv("ANCHOR_HOST_STORE_PATH"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(file, []byte("of acme")) {
		t.Error("the file of the store still has what was forgotten")
	}
}
