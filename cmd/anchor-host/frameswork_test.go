package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/frames"
)

// A run from its request to its end, by commands alone: steps say which frames they read and
// wrote, wrong orders are refused by name, and snapshots show what changed.
func TestRunOfAnAgent(t *testing.T) {
	storeFolder(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\nmemory: {frames: {run: fix}}\n"})
	line := func(stdin, words string, args ...string) string {
		t.Helper()
		return must(t, stdin, append(strings.Fields(words), append(args, "--run", "fix")...)...)
	}
	refused := func(want string, args ...string) {
		t.Helper()
		code, _, stderr := run(t, "", append(args, "--run", "fix")...)
		if code != codeInvalid && code != codeNotFound || !strings.Contains(stderr, want) {
			t.Errorf("%v: code %d: %s", args, code, stderr)
		}
	}
	refused("give the run one with", "frames", "intent")
	for _, args := range [][]string{{"intent", "show"}, {"plan", "show"}, {"snapshot", "list"}} { // nothing is stored by mistake
		code, _, stderr := run(t, "", append([]string{"frames"}, append(args, "--run", "fix")...)...)
		if code != codeUsage || !strings.Contains(stderr, "leave it out to see what there is") {
			t.Errorf("frames %v: code %d: %s", args, code, stderr)
		}
	}
	line("", "frames intent", "make the login faster")
	refused(`its intent is draft, want active`, "frames", "plan", "measure")
	line("cache sessions\n", "frames intent --analysis -")
	line("", "frames plan", "measure the login", "cache sessions")
	refused(`step "measure the login": "completed" after "pending": wrong order of statuses (want one of [progressing failed skipped])`,
		"frames", "step", "--status", "completed", "1")
	refused("step 3: not found (it has 2)", "frames", "step", "--status", "skipped", "3")
	refused("there is one already: replace it", "frames", "plan", "again")
	line("", "frames step --status progressing 1")
	line(`[{"role": "user", "content": "go on"}]`, "assemble")
	line("", "frames push --kind tool_call", "p95 is 900 ms")
	must(t, "", "build", "what next?")
	line("", "frames step --status completed 1")
	line("", "frames push --kind step_summary --step 2", "sessions table has no index")
	plan := decode[frames.Plan](t, line("", "frames plan -o json"))
	if first, second := plan.Steps[0], plan.Steps[1]; !slices.Equal(first.IFrames, []uint64{0, 1}) || !slices.Equal(first.OFrames, []uint64{1}) ||
		!slices.Equal(second.OFrames, []uint64{2}) || second.IFrames != nil {
		t.Errorf("steps %+v", plan.Steps)
	}
	next := decode[frames.Plan](t, line("", "frames plan --replace -o json", "index the sessions table"))
	if next.Previous != plan.ObjectID || !slices.Equal(next.ContextFrames, []uint64{0, 1, 2}) {
		t.Errorf("the plan that replaces it: %+v", next)
	}
	line("", "frames push --kind tool_call --max-frames 1", "not seen by the plan")
	if got := column(t, line("", "frames plan --seen"), "FRAME"); !slices.Equal(got, []string{"0", "1", "2"}) {
		t.Errorf("the plan has seen %q", got)
	}
	line("", "frames push --kind tool_call --max-frames 0", "back to no limit")
	checkSnapshotsOfRun(t, line)
	line("", "frames intent --end completed --commit 1f3a9c2")
	in := decode[frames.Intent](t, line("", "frames intent -o json"))
	if in.Plan != next.ObjectID || in.Content != "cache sessions" || in.Commit != "1f3a9c2" || len(in.Statuses()) != 3 {
		t.Errorf("intent %+v", in)
	}
	refused(`"completed" after "completed": wrong order of statuses (completed is final)`, "frames", "intent", "--end", "completed")
	checkMoved(t)
}

func checkSnapshotsOfRun(t *testing.T, line func(stdin, words string, args ...string) string) {
	t.Helper()
	line("", "frames snapshot", "mine")
	table := line("", "frames snapshot")
	if got := column(t, table, "LABEL"); !slices.Equal(got, []string{"start", "step", "mine"}) {
		t.Errorf("snapshots %q", got)
	}
	d := decode[frames.SnapshotDiff](t, line("", "frames snapshot -o json --diff 2,3"))
	if !slices.Equal(d.Entered, []uint64{4}) || len(d.Left) > 0 {
		t.Errorf("diff %+v", d)
	}
	if got := line("", "frames snapshot --diff 1,2"); !strings.Contains(got, "same") {
		t.Errorf("diff %s", got)
	}
}

// checkMoved holds that export and import take along what a run has, and forget forgets it.
func checkMoved(t *testing.T) {
	t.Helper()
	exported := must(t, "", "memory", "export")
	for _, kind := range []string{"intent", "plan", "snapshot"} {
		if !strings.Contains(exported, `"`+kind+`"`) {
			t.Errorf("no %s in the export", kind)
		}
	}
	must(t, "", "memory", "forget", "--run", "fix")
	if left := must(t, "", "memory", "export"); strings.Contains(left, "sessions") {
		t.Errorf("left behind: %s", left)
	}
	must(t, exported, "memory", "import", "-")
	plans := decode[[]frames.Plan](t, must(t, "", "frames", "plan", "--all", "--run", "fix", "-o", "json"))
	if len(plans) != 2 || len(plans[0].Steps[0].Statuses()) != 3 {
		t.Errorf("plans %+v", plans)
	}
	forged := strings.Replace(exported, `"cache sessions"`, `7`, 1)
	if code, _, stderr := run(t, forged, "memory", "import", "-"); code != codeInvalid {
		t.Errorf("a plan that is none: code %d: %s", code, stderr)
	}
}

func TestRunFlags(t *testing.T) {
	storeFolder(t, nil)
	must(t, "", "frames", "plan", "--run", "r", "a")
	for line, want := range map[string]string{
		"frames step --run r one":                         "want its number",
		"frames step --run r --reason because 1":          "flag --reason needs --status",
		"frames step --run r --read x 1":                  "flag --read: want numbers of frames",
		"frames snapshot --run r --diff a,b":              "want the number of a snapshot",
		"frames plan --run r --replace":                   "--replace needs the steps",
		"frames plan --run r --seen a":                    "take no steps",
		"frames intent --run r --reason x":                "need --end",
		"frames snapshot --run r --diff 1":                "want two numbers",
		"frames plan --run=":                              "flag --run: the value is empty",
		"frames step --run r --status progressing -o x 1": "flag --output: want one of",
	} {
		if code, _, stderr := run(t, "", strings.Fields(line)...); code != codeUsage || !strings.Contains(stderr, want) {
			t.Errorf("%s: code %d: %s", line, code, stderr)
		}
	}
	if got := column(t, must(t, "", "frames", "plan", "--run", "r"), "STATUS"); !slices.Equal(got, []string{"pending"}) {
		t.Errorf("a refused command changed the step: %q", got)
	}
	must(t, "", "frames", "step", "--run", "r", "--status", "skipped", "1")
	code, _, stderr := run(t, "", "frames", "step", "--run", "r", "--read", "4", "1")
	if code != codeNotFound || !strings.Contains(stderr, "frame 4: no such frame") {
		t.Errorf("a frame that there is not: code %d: %s", code, stderr)
	}
}
