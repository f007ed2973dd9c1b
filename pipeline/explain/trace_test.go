package explain_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// allActions has the bit of each kind of change.
const allActions = explain.Cut<<1 - 1

// fullTrace returns one trace for each outcome, with every field of the documents set in at
// least one of them.
func fullTrace() []explain.ItemTrace {
	origin := explain.Origin{Stage: "step", Step: "search", ModuleInfo: explain.ModuleInfo{Plugin: "bm25", Module: "sha256:" + strings.Repeat("0", 64)}}
	added := explain.Event{
		Origin: origin, Actions: explain.Added, Place: &explain.Change[int]{To: 1},
		Score: &explain.Change[float64]{To: 0.5}, Priority: &explain.Change[int]{To: 5},
		Tokens: &explain.Change[int]{To: 7}, Bytes: &explain.Change[int]{To: 30},
		Source: &explain.Change[core.Source]{From: core.SourceUser, To: core.SourceRetrieval},
	}
	left := explain.Event{
		Origin: explain.Origin{Stage: "fill"}, Actions: explain.LeftOut, Place: &explain.Change[int]{From: 1},
		Budget: &explain.BudgetCheck{
			Kind: explain.BudgetSource, Limit: 10, Available: 3, Needed: 7, Lacked: 4, DisplacedBy: []string{"b", "c"},
		},
	}
	last := map[explain.Outcome]explain.Event{
		explain.InWindow:      {Origin: explain.Origin{Stage: "fill"}, Actions: explain.Admitted | explain.Cut, Place: &explain.Change[int]{From: 1, To: 1}},
		explain.OutOfWindow:   left,
		explain.DroppedByStep: {Origin: origin, Actions: explain.Dropped},
		explain.Undecided:     {Origin: origin, Actions: explain.Rescored | explain.Moved},
	}
	var all []explain.ItemTrace
	for _, outcome := range explain.Outcomes {
		all = append(all, explain.ItemTrace{
			ID: "item-" + string(outcome), Source: core.SourceRetrieval, Priority: 5, Score: 0.5, Tokens: 7,
			Excerpt: "Über contexts", Outcome: outcome, Events: []explain.Event{added, last[outcome]},
		})
	}
	return all
}

func TestTraceSurvivesJSON(t *testing.T) {
	want := fullTrace()
	doc, err := json.Marshal(explain.NewTrace(fullTrace))
	if err != nil {
		t.Fatal(err)
	}
	var back explain.Trace
	if err := json.Unmarshal(doc, &back); err != nil {
		t.Fatal(err)
	}
	if got := back.All(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v\nfrom %s", got, want, doc)
	}
	again, err := json.Marshal(&back)
	if err != nil || string(again) != string(doc) {
		t.Errorf("second encoding: %v\ngot  %s\nwant %s", err, again, doc)
	}
}

// The words are part of the result document: other programs read them.
func TestWordsOfTheDocument(t *testing.T) {
	if got, want := explain.Outcomes, []explain.Outcome{"in_window", "left_out", "dropped", "undecided"}; !reflect.DeepEqual(got, want) {
		t.Errorf("outcomes: got %v, want %v", got, want)
	}
	for _, outcome := range explain.Outcomes {
		var trace explain.Trace
		doc := `[{"id": "a", "fate": "` + string(outcome) + `", "events": [{"stage": "system", "did": ["added"]}]}]`
		if err := json.Unmarshal([]byte(doc), &trace); err != nil {
			t.Errorf("%s: %v", outcome, err)
			continue
		}
		if got := trace.All()[0].Outcome; got != outcome {
			t.Errorf("got %q, want %q", got, outcome)
		}
	}
	names := strings.Split("added moved rescored rewritten prioritised recounted resourced annotated redated dropped admitted left_out cut", " ")
	if got := allActions.Names(); !reflect.DeepEqual(got, names) {
		t.Errorf("actions: got %v, want %v", got, names)
	}
	for i, name := range names {
		want := explain.Actions(1) << i
		var got explain.Actions
		if err := json.Unmarshal([]byte(`["`+name+`"]`), &got); err != nil || got != want || got.String() != name {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		if !allActions.Has(want) || (allActions &^ want).Has(want) {
			t.Errorf("%s: Has is wrong", name)
		}
	}
}

func TestTraceRefuses(t *testing.T) {
	actions := allActions.String()
	tests := map[string]string{
		`[{"id": "a", "fate": "eaten", "events": [{"did": ["added"]}]}]`:                 `items[0]: item "a": fate "eaten": invalid value (want one of [in_window left_out dropped undecided])`,
		`[{"id": "a", "events": [{"did": ["added"]}]}]`:                                  `items[0]: item "a": fate "": invalid value (want one of [in_window left_out dropped undecided])`,
		`[{"id": "a", "fate": "in_window", "events": []}]`:                               `items[0]: item "a": no events: invalid value`,
		`[{"id": "a", "fate": "in_window", "events": [{"did": ["added", "eaten"]}]}]`:    `items: did: "eaten": invalid value (want some of ` + actions + `)`,
		`[{"id": "a", "fate": "in_window", "events": [{"did": "added"}]}]`:               `items: did: json: cannot unmarshal string into Go value of type []string`,
		`[{"id": "a", "fate": "in_window", "events": [{"did": ["added"], "by": "me"}]}]`: `items: json: unknown field "by"`,
		`{}`: `items: json: cannot unmarshal object into Go value of type []explain.ItemTrace`,
	}
	for doc, want := range tests {
		trace := explain.NewTrace(fullTrace)
		err := json.Unmarshal([]byte(doc), trace)
		if err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", doc, err, want)
		}
		if strings.Contains(want, "invalid value") && !errors.Is(err, core.ErrInvalid) {
			t.Errorf("%s: the error does not wrap ErrInvalid", doc)
		}
		if got := trace.All(); !reflect.DeepEqual(got, fullTrace()) {
			t.Errorf("%s: the trace has changed", doc)
		}
	}
}

func TestTraceWithoutItems(t *testing.T) {
	for name, trace := range map[string]*explain.Trace{
		"nil": nil, "zero": {}, "no items": explain.NewTrace(func() []explain.ItemTrace { return nil }),
	} {
		if got := trace.All(); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	doc, err := json.Marshal(&explain.Trace{})
	if err != nil || string(doc) != "[]" {
		t.Errorf("%s, %v", doc, err)
	}
}

// Readers may ask at once, and the items are computed for the first of them only.
func TestTraceLoadsOnce(t *testing.T) {
	loads := 0
	trace := explain.NewTrace(func() []explain.ItemTrace { loads++; return fullTrace() })
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			if len(trace.All()) != len(explain.Outcomes) {
				t.Error("items are missing")
			}
		})
	}
	readers.Wait()
	if loads != 1 {
		t.Errorf("loaded %d times, want 1", loads)
	}
}

func TestFirstAndLastEvent(t *testing.T) {
	item := fullTrace()[1]
	if got := item.AddedBy(); got.Stage != "step" || got.Step != "search" || got.Plugin != "bm25" {
		t.Errorf("added by %+v", got)
	}
	if got := item.Last(); got.Budget == nil || got.Budget.Lacked != 4 {
		t.Errorf("last %+v", got)
	}
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("ü", explain.ExcerptLength)
	for text, want := range map[string]string{"": "", "short": "short", long: long, long + "ü": long, "\xff" + long: "\xff" + long[:2*(explain.ExcerptLength-1)]} {
		if got := explain.Excerpt(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// Hostile documents are refused or read; what was read can be written and read again.
func FuzzTrace(f *testing.F) {
	doc, err := json.Marshal(explain.NewTrace(fullTrace))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(doc)
	f.Add([]byte(`[{"id": "a", "fate": "eaten", "events": [{"did": ["added"]}]}]`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var trace explain.Trace
		if json.Unmarshal(doc, &trace) != nil {
			return
		}
		first, err := json.Marshal(&trace)
		if err != nil {
			t.Fatal(err)
		}
		var back explain.Trace
		if err := json.Unmarshal(first, &back); err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		second, err := json.Marshal(&back)
		if err != nil || string(second) != string(first) {
			t.Fatalf("%v\n%s\n%s", err, first, second)
		}
	})
}
