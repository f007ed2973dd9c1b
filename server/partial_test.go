package server

import (
	"fmt"
	"testing"
)

// A request that allows it gets an answer without the plugin that never ends, within its time, and
// one that does not gets none. The fuel of the plugin counts.
func TestPartialBuilds(t *testing.T) {
	t.Parallel()
	a := &countingAdmission{}
	text := "plugins: {dir: %q}\ncounting: {tokenizer: words}\npipelines: {p: {steps: [{name: s, use: spin-forever, must: false}]}}\n"
	l := start(t, fmt.Sprintf(text, plugins(t, "spin-forever")), Options{Admission: a})
	build := func(more string) (answer, string) {
		got := l.api("POST", "/v1/builds?timeout=1s", `{"query": "q", "pipeline": "p", "items": [{"content": "a", "source": "retrieval"}]`+more+`}`)
		var doc struct {
			Partial     bool
			Diagnostics struct {
				StepFailures []struct{ Step, Reason string } `json:"step_failures"`
			}
		}
		got.into(t, &doc)
		return got, fmt.Sprint(doc.Partial, doc.Diagnostics.StepFailures)
	}
	if got, _ := build(""); got.status != 504 {
		t.Errorf("without leave: %d %s", got.status, got.body)
	}
	if got, said := build(`, "allow_partial": true`); got.status != 200 || said != "true [{s timeout}]" && said != "true [{s no_time}]" {
		t.Errorf("with leave: %d %s", got.status, got.body)
	}
	if err := newChecker(t).check("POST", "/v1/builds", 200, l.api("POST", "/v1/builds?timeout=1s", `{"query": "q", "pipeline": "p", "allow_partial": true}`).body); err != nil {
		t.Error(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.released) < 1 || a.released[0].Fuel == 0 {
		t.Errorf("the fuel of a build that failed: %+v", a.released)
	}
}
