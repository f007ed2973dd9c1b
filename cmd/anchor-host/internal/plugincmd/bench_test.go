package plugincmd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/authoring"
)

// quickBench are the arguments of a bench that is over soon.
func quickBench(fixture string, args ...string) []string {
	module := filepath.Join(clitest.FixtureDir, fixture, "plugin.wasm")
	return append([]string{"plugin", "bench", module, "--duration", "1ms", "--items", "3", "--cache-dir", "off"}, args...)
}

func TestPluginBench(t *testing.T) {
	t.Parallel()
	saved := filepath.Join(t.TempDir(), "card.json")
	code, stdout, stderr := run(t, "", quickBench("keep-first", "--save", saved)...)
	if code != cli.CodeOK {
		t.Fatalf("code %d, %s", code, stderr)
	}
	for _, want := range []string{"plugin  keep-first 0.1.0, ", "call    filter of 3 items (generated), state reset, ", "LANE  CALLS  P50 ", "\njson  "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in:\n%s", want, stdout)
		}
	}
	code, stdout, stderr = run(t, "", quickBench("keep-first", "--compare", saved, "-o", "json")...)
	var report struct {
		authoring.Card
		Compared []authoring.Ratio
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil || code != cli.CodeOK {
		t.Fatalf("code %d, %v, %s", code, err, stderr)
	}
	row := report.Rows[0]
	if row.Lane != host.LaneJSON || row.Calls < 10 || row.Out != int64(len(`{"keep":[0]}`)) || row.Fuel <= 0 || row.In == 0 || row.Memory != 64<<10 {
		t.Errorf("the card says %+v", row)
	}
	for _, r := range report.Compared {
		if !strings.HasPrefix(r.Figure, "p") && (r.Now != r.Before || r.Worse) { // all but times repeat exactly
			t.Errorf("%s: %v, before %v, worse %v", r.Figure, r.Now, r.Before, r.Worse)
		}
	}
	if len(report.Compared) != 7 {
		t.Errorf("%d figures compared", len(report.Compared))
	}
	code, _, stderr = run(t, "", quickBench("no-change", "--compare", saved)...)
	if code != cli.CodeOK || !strings.Contains(stderr, `note: the earlier card is of plugin "keep-first", this one of "no-change"`) ||
		!strings.Contains(stderr, "note: every answer was no change: the card shows what doing nothing costs") {
		t.Errorf("another plugin: code %d, %s", code, stderr)
	}
	code, stdout, stderr = run(t, "", quickBench("keep-first", "--compare", saved)...)
	if code != cli.CodeOK || !strings.Contains(stdout, "LANE  FIGURE  BEFORE ") || !strings.Contains(stdout, "json  fuel ") {
		t.Errorf("code %d, %s%s", code, stdout, stderr)
	}
}

// A request may be given; the lane and state are those asked for.
func TestPluginBenchInput(t *testing.T) {
	t.Parallel()
	const request = `{"query": {"query_str": "q"}, "items": [{"score": 0.5}, {"score": 0.25}]}`
	code, stdout, stderr := run(t, request, quickBench("batch-keep-first", "--input", "-", "--lane", "batch", "--state", "keep", "-o", "json")...)
	var card authoring.Card
	if err := json.Unmarshal([]byte(stdout), &card); err != nil || code != cli.CodeOK {
		t.Fatalf("code %d, %v, %s", code, err, stderr)
	}
	if card.Items != 2 || card.State != host.StateKeep || len(card.Rows) != 1 || card.Rows[0].Lane != host.LaneBatch {
		t.Errorf("the card says %+v", card)
	}
}

func TestPluginBenchErrors(t *testing.T) {
	t.Parallel()
	dir := clitest.Write(t, map[string]string{"no-card.json": "{}", "other.json": `{"operation": "rerank"}`, "request.json": `{"items": 7}`})
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("endless.json"), make([]byte, 16<<20+1), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, fixture string
		args          []string
		code          int
		want          string
	}{
		{"lane", "keep-first", []string{"--lane", "fast"}, cli.CodeUsage, `flag --lane: want one of both, json, batch, got "fast"`},
		{"a lane it has not", "keep-first", []string{"--lane", "batch"}, cli.CodeUsage, "flag --lane: filter has no batch lane (it has json)"},
		{"state", "keep-first", []string{"--state", "clean"}, cli.CodeUsage, `flag --state: unknown value "clean" (want one of reset, keep, fresh)`},
		{"items", "keep-first", []string{"--items", "-1"}, cli.CodeUsage, "flag --items: want 0 to 1048576, got -1"},
		{"duration", "keep-first", []string{"--duration", "0s"}, cli.CodeUsage, "flag --duration: want more than 0, got 0s"},
		{"operation", "keep-first", []string{"--op", "rerank"}, cli.CodeUsage, `flag --op: plugin "keep-first" has no operation "rerank" (it has filter)`},
		{"setting", "keep-first", []string{"--set", "min=1"}, cli.CodeUsage, `flag --set: plugin "keep-first" has no setting "min"`},
		{"input", "keep-first", []string{"--input", file("request.json")}, cli.CodeInvalid, "request of filter: "},
		{"no card", "keep-first", []string{"--compare", file("no-card.json")}, cli.CodeInvalid, "no cost card (write one with --save)"},
		{"no such card", "keep-first", []string{"--compare", file("gone.json")}, cli.CodeNotFound, "flag --compare: "},
		{"a card without end", "keep-first", []string{"--compare", file("endless.json")}, cli.CodeLimit, "too large (at most 8MiB)"},
		{"another card", "keep-first", []string{"--compare", file("other.json")}, cli.CodeFailure,
			`other.json: the earlier card has operation "rerank", this one "filter" (both must measure the same calls)`},
		{"foreign", "foreign", nil, cli.CodeInvalid, `no such operation (a foreign module can be called with: anchor-host plugin call --repeat)`},
		{"a guest that fails", "trap", nil, cli.CodeFailure, `plugin "trap": filter: trap: `},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := run(t, "", quickBench(c.fixture, c.args...)...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
				t.Errorf("code %d, %q, %q; want %d, %s", code, stdout, stderr, c.code, c.want)
			}
		})
	}
}
