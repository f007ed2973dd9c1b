package pipeline

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/seedcase"
)

// deviations are the fields that differ from the seed on purpose. The test checks
// that they do. A field covers everything below it; "*" is the whole outcome.
var deviations = []struct{ id, field, why string }{
	{"anchor-budget-11", "*", "fix: two allocations of one source are refused; the seed enforces the last and shows the first"},
	{"anchor-budget-13", "*", "fix: a window never lacks its system prompts; the seed leaves one out in silence"},
	{"anchor-err-07", "diagnostics.steps", "match or reject: there is one Build, so a step cannot be of the wrong kind; the no-op runs"},
	{"anchor-err-07", "diagnostics.skipped_steps", "as above"},
	{"anchor-err-07", "callback_events", "as above"},
	{"anchor-err-10", "rows.0.steps_ran", "fix: a reserve that leaves no room is refused before anything runs"},
	{"anchor-err-10", "rows.1.steps_ran", "as above"},
}

// seedRunners turn the input of a case into an outcome of the shape of its expected
// value.
var seedRunners = map[string]func(t *testing.T, c seedcase.Case) any{
	"window":            runWindowCase,
	"budget":            runWindowCase,
	"budget_validation": runBudgetValidationCase,
	"item_validation":   runItemValidationCase,
	"formatter":         runFormatterCase,
	"rrf":               runFuseCase,
	"steps":             runStepsCase,
	"errors_callbacks":  runErrorsCase,
	"query_enricher":    runEnricherCase,
	"end_to_end":        runEndToEndCase,
}

func TestSeedCases(t *testing.T) {
	data, err := os.ReadFile("../testdata/seed-cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Cases []seedcase.Case }
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Cases) < 56 {
		t.Fatalf("%d cases, want at least 56", len(doc.Cases))
	}
	known := make(map[string]bool)
	for _, c := range doc.Cases {
		known[c.ID] = true
		if c.Area == "sliding_window" || c.Area == "summary_buffer" || c.Area == "formatter_roles" {
			continue // packages memory and format run them
		}
		t.Run(c.ID, func(t *testing.T) { checkSeedCase(t, c) })
	}
	for _, d := range deviations {
		if !known[d.id] {
			t.Errorf("deviation of %s: no such case", d.id)
		}
	}
}

func checkSeedCase(t *testing.T, c seedcase.Case) {
	run := seedRunners[c.Area]
	if run == nil {
		t.Fatalf("area %q has no runner", c.Area)
	}
	tolerance := 0.0
	if c.Area == "rrf" || c.Area == "steps" {
		tolerance = 1e-12
	}
	differing := seedcase.Differences("", seedcase.JSON(t, run(t, c)), c.Expected, tolerance)
	for _, d := range deviations {
		if d.id != c.ID {
			continue
		}
		before := len(differing)
		differing = slices.DeleteFunc(differing, func(s string) bool {
			path, _, _ := strings.Cut(s, ":")
			return d.field == "*" || path == d.field || strings.HasPrefix(path, d.field+".")
		})
		if len(differing) == before {
			t.Errorf("%s does not deviate any more (%s)", d.field, d.why)
		}
	}
	for _, d := range differing {
		t.Error(d)
	}
}

func TestDifferencesSeesEachKind(t *testing.T) {
	want := map[string]any{"a": 1.0, "b": []any{"x", nil}, "c": map[string]any{"d": true}}
	for name, got := range map[string]any{
		"number": map[string]any{"a": 1.1, "b": []any{"x", nil}, "c": map[string]any{"d": true}},
		"length": map[string]any{"a": 1.0, "b": []any{"x"}, "c": map[string]any{"d": true}},
		"null":   map[string]any{"a": 1.0, "b": []any{"x", "y"}, "c": map[string]any{"d": true}},
		"nested": map[string]any{"a": 1.0, "b": []any{"x", nil}, "c": map[string]any{"d": false}},
		"absent": map[string]any{"b": []any{"x", nil}, "c": map[string]any{"d": true}},
		"extra":  map[string]any{"a": 1.0, "b": []any{"x", nil}, "c": map[string]any{"d": true}, "e": 1.0},
		"type":   []any{},
	} {
		if d := seedcase.Differences("", got, want, 0); len(d) != 1 {
			t.Errorf("%s: %v, want one difference", name, d)
		}
	}
}

// seedItem is an item whose time is an offset in seconds.
type seedItem struct{ Item }

var seedEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (s *seedItem) UnmarshalJSON(data []byte) error {
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	if offset, ok := doc["created_at_offset_s"].(float64); ok {
		doc["created_at"] = seedEpoch.Add(time.Duration(offset * float64(time.Second)))
		delete(doc, "created_at_offset_s")
	}
	for key, value := range map[string]any{"content": "", "source": SourceRetrieval} {
		if _, ok := doc[key]; !ok {
			doc[key] = value
		}
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, &s.Item)
}

func plainItems(items []seedItem) []Item {
	out := make([]Item, len(items))
	for i := range items {
		out[i] = items[i].Item
	}
	return out
}

// seedDiagnostics is what the seed shows of diagnostics, without times.
func seedDiagnostics(t *testing.T, d *Diagnostics) map[string]any {
	doc := seedcase.JSON(t, d).(map[string]any)
	for _, own := range []string{"times_ms", "warnings", "step_failures"} {
		delete(doc, own)
	}
	for _, s := range doc["steps"].([]any) {
		if ms, ok := s.(map[string]any)["time_ms"].(float64); !ok || ms < 0 {
			t.Errorf("step without time: %v", s)
		}
		delete(s.(map[string]any), "time_ms")
	}
	return doc
}
