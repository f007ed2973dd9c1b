package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/server/jobs"
)

// Jobs are submitted, done, shown and cancelled by commands, for one tenant at a time.
func TestJobs(t *testing.T) {
	storeFolder(t, map[string]string{
		"d/trains.md": "# Trains\n\nThe night train leaves at nine.\n", "requests.jsonl": "{\"query\": \"one\"}\n\n{\"wrong\": 1}\n",
	})
	submit := func(args ...string) (doc jobs.Doc) {
		t.Helper()
		if err := json.Unmarshal([]byte(must(t, "", append([]string{"jobs", "submit", "-o", "json"}, args...)...)), &doc); err != nil {
			t.Fatal(err)
		}
		return doc
	}
	read := submit("ingest", "d/trains.md", "--collection", "docs")
	built, cancelled := submit("builds", "requests.jsonl"), submit("embed", "--collection", "docs", "--priority", "4")
	if again := submit("builds", "requests.jsonl"); again.ID != built.ID {
		t.Errorf("the same job again: %+v", again)
	}
	if out := must(t, "", "jobs", "cancel", cancelled.ID); !strings.Contains(out, "cancelled") {
		t.Errorf("cancel:\n%s", out)
	}
	if _, out, stderr := run(t, "", "jobs", "list"); strings.Count(out, "waiting") != 2 || !strings.Contains(stderr, "no worker runs, so jobs wait (do them with: anchor-host jobs run") {
		t.Errorf("nobody works:\n%s%s", out, stderr)
	}
	must(t, "", "jobs", "run", "--workers", "2")
	if out := must(t, "", "jobs", "list"); strings.Count(out, "done") != 2 || !strings.Contains(out, "2 of 2") {
		t.Errorf("list:\n%s", out)
	}
	if out := must(t, "", "collections", "search", "docs", "night train"); !strings.Contains(out, "d/trains.md") {
		t.Errorf("search:\n%s", out)
	}
	if out := must(t, "", "jobs", "show", read.ID, "-o", "json"); !strings.Contains(out, `"added": 1`) {
		t.Errorf("show:\n%s", out)
	}
	if out := must(t, "", "jobs", "show", built.ID, "--results"); strings.Count(out, "\n") != 2 || !strings.Contains(out, `"query":"one"`) || !strings.Contains(out, `"error"`) {
		t.Errorf("results:\n%s", out)
	}
	if out := must(t, "", "jobs", "logs", built.ID); !strings.Contains(out, "build 1: ") {
		t.Errorf("log:\n%s", out)
	}
	for _, c := range []struct {
		code int
		args []string
	}{
		{codeNotFound, []string{"show", built.ID, "--tenant", "other"}}, {codeNotFound, []string{"cancel", "x"}}, {codeUsage, []string{"submit", "dance"}}, {codeUsage, []string{"run", "--workers", "-1"}},
		{codeInvalid, []string{"submit", "ingest", "--collection", "c"}}, {codeInvalid, []string{"submit", "builds", "requests.jsonl", "--priority", "5"}}, {codeNotFound, []string{"submit", "builds", "none.jsonl"}},
	} {
		if code, _, stderr := run(t, "", append([]string{"jobs"}, c.args...)...); code != c.code {
			t.Errorf("%v: code %d, want %d: %s", c.args, code, c.code, stderr)
		}
	}
}
