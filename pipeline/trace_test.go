package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/fill"
)

// pluginStep is a step as a plugin host makes it: it never changes what it is given,
// and it knows its module.
type pluginStep struct {
	name string
	run  func(items []Item) []Item
}

func (pluginStep) Isolated() {}

func (s pluginStep) Module() explain.ModuleInfo {
	return explain.ModuleInfo{Plugin: s.name, Module: "sha256:" + s.name}
}

func (s pluginStep) Run(_ context.Context, _ *Query, items []Item) ([]Item, error) {
	return s.run(items), nil
}

// edited is a plugin step that changes copies of the items.
func edited(edit func(items []Item) []Item) Step {
	return pluginStep{"p", func(items []Item) []Item { return edit(core.CloneItems(items)) }}
}

// native is the same as a function that works in place.
func native(edit func(items []Item) []Item) Step {
	return StepFunc(func(_ context.Context, _ *Query, items []Item) ([]Item, error) { return edit(items), nil })
}

// brief writes an event on one line: stage, what it did, what changed.
func brief(e *explain.Event) string {
	s := e.Stage
	if e.Step != "" {
		s = e.Step
	}
	s += ":" + strings.ReplaceAll(e.Actions.String(), ", ", "+")
	if e.Place != nil {
		s += fmt.Sprintf(" %d>%d", e.Place.From, e.Place.To)
	}
	if e.Score != nil {
		s += fmt.Sprintf(" score %v>%v", e.Score.From, e.Score.To)
	}
	for _, c := range []struct {
		name   string
		change *explain.Change[int]
	}{{"priority", e.Priority}, {"tokens", e.Tokens}, {"bytes", e.Bytes}} {
		if c.change != nil {
			s += fmt.Sprintf(" %s %d>%d", c.name, c.change.From, c.change.To)
		}
	}
	if e.Source != nil {
		s += fmt.Sprintf(" source %s>%s", e.Source.From, e.Source.To)
	}
	if b := e.Budget; b != nil && b.Lacked > 0 {
		s += fmt.Sprintf(" %s %d/%d lacks %d for %v", b.Kind, b.Available, b.Limit, b.Lacked, b.DisplacedBy)
	}
	return s
}

func briefs(s *explain.ItemTrace) []string {
	out := []string{s.ID + " " + string(s.Outcome)}
	for i := range s.Events {
		out = append(out, brief(&s.Events[i]))
	}
	return out
}

func traceOf(t *testing.T, d *Diagnostics, id string) *explain.ItemTrace {
	t.Helper()
	all := d.Items.All()
	for i := range all {
		if all[i].ID == id {
			return &all[i]
		}
	}
	t.Fatalf("no trace of %q", id)
	return nil
}

// Every way a step can change an item, natively in place and as a plugin does it.
func TestTraceOfAStep(t *testing.T) {
	tests := []struct {
		name string
		edit func(items []Item) []Item
		id   string
		want string // the event of the step, empty for none
	}{
		{"nothing", func(items []Item) []Item { return items }, "b", ""},
		{"rescore", func(items []Item) []Item { items[1].Score = 0.75; return items }, "b", "s:rescored score 0.5>0.75"},
		{"prioritise", func(items []Item) []Item { items[1].Priority = 9; return items }, "b", "s:prioritised priority 5>9"},
		{"rewrite", func(items []Item) []Item { items[1].Content = "longer"; return items }, "b", "s:rewritten bytes 1>6"},
		{"rewrite and recount", func(items []Item) []Item { items[1].Content, items[1].TokenCount = "b b", 2; return items }, "b",
			"s:rewritten+recounted tokens 1>2 bytes 1>3"},
		{"resource", func(items []Item) []Item { items[1].Source = SourceTool; return items }, "b", "s:resourced source retrieval>tool"},
		{"annotate", func(items []Item) []Item { items[1].Metadata = map[string]any{"k": int64(1)}; return items }, "b", "s:annotated"},
		{"redate", func(items []Item) []Item { items[1].CreatedAt = seedEpoch.Add(time.Hour); return items }, "b", "s:redated"},
		{"number", func(items []Item) []Item { items[1].Sequence = 3; return items }, "b", "s:redated"},
		{"drop", func(items []Item) []Item { return append(items[:1], items[2:]...) }, "b", "s:dropped 2>0"},
		{"drop before", func(items []Item) []Item { return items[1:] }, "b", ""},
		{"insert before", func(items []Item) []Item { return append(docs("new"), items...) }, "b", ""},
		{"move", func(items []Item) []Item { items[0], items[1] = items[1], items[0]; return items }, "b", "s:moved 2>1"},
		{"move and rescore", func(items []Item) []Item { items[1].Score = 0; slices.Reverse(items[:2]); return items }, "b",
			"s:moved+rescored 2>1 score 0.5>0"},
		{"drop one, move others", func(items []Item) []Item { return []Item{items[2], items[1]} }, "c", "s:moved 3>1"},
		{"add", func(items []Item) []Item { return append(items, docs("new")...) }, "new", "s:added 0>4 score 0>0.5"},
		{"rename", func(items []Item) []Item { items[1].ID = "new"; return items }, "new", "s:added 0>2 score 0>0.5"},
		{"rename away", func(items []Item) []Item { items[1].ID = "new"; return items }, "b", "s:dropped 2>0"},
		{"double", func(items []Item) []Item { return append(items, items[1]) }, "b", ""},
		{"all at once", func([]Item) []Item { return nil }, "b", "s:dropped 2>0"},
	}
	for _, tt := range tests {
		for kind, step := range map[string]Step{"native": native(tt.edit), "plugin": edited(tt.edit)} {
			t.Run(tt.name+"/"+kind, func(t *testing.T) {
				r := mustBuild(t, Config{Explain: true, Steps: []StepConfig{
					{Name: "find", Step: RetrieverStep(fixedRetriever(docs("a", "b", "c")), 10), Priority: 1}, {Name: "s", Step: step},
				}})
				trace := traceOf(t, r.Diagnostics, tt.id)
				var got []string
				for i := range trace.Events {
					e := &trace.Events[i]
					if e.Step != "s" {
						continue
					}
					got = append(got, brief(e))
					if told := e.Module != ""; told != (kind == "plugin") {
						t.Errorf("module %+v", e.ModuleInfo)
					}
				}
				if strings.Join(got, "; ") != tt.want {
					t.Errorf("got %v, want %q (%v)", got, tt.want, briefs(trace))
				}
				agrees(t, r)
			})
		}
	}
}

// Where ids repeat, text and source tell items apart, and their order the twins.
func TestTraceWhereIDsRepeat(t *testing.T) {
	item := func(content string, source Source, score float64) Item {
		return Item{ID: "x", Content: content, Source: source, Score: score, Priority: 5, TokenCount: 1, CreatedAt: seedEpoch}
	}
	before := []Item{item("a", SourceRetrieval, 0.1), item("b", SourceRetrieval, 0.2), item("a", SourceTool, 0.3), item("b", SourceRetrieval, 0.4)}
	tests := []struct {
		name  string
		after []Item
		want  []string // of each trace, the last event of the step or "-"
	}{
		{"same", before, []string{"-", "-", "-", "-"}},
		{"first gone", before[1:], []string{"s:dropped 1>0", "-", "-", "-"}},
		{"other source gone", []Item{before[0], before[1], before[3]}, []string{"-", "-", "s:dropped 3>0", "-"}},
		{"twin gone", []Item{before[0], before[1], before[2]}, []string{"-", "-", "-", "s:dropped 4>0"}},
		{"reversed", []Item{before[3], before[2], before[1], before[0]},
			[]string{"s:moved 1>4", "s:moved+rescored 2>1 score 0.2>0.4", "s:moved 3>2", "s:moved+rescored 4>3 score 0.4>0.2"}},
		{"rewritten", []Item{before[0], before[1], item("c", SourceTool, 0.3), before[3]}, []string{"-", "-", "s:rewritten bytes 1>1", "-"}},
		{"doubled", append(slices.Clone(before), before[0]), []string{"-", "-", "-", "-", "s:added 0>5 score 0>0.1"}},
		{"other ids between", append(docs("y"), before[2], before[0]),
			[]string{"s:moved 1>3", "s:dropped 2>0", "s:moved 3>2", "s:dropped 4>0", "s:added 0>1 score 0>0.5"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := mustBuild(t, Config{Explain: true, Steps: []StepConfig{
				{Name: "find", Step: RetrieverStep(fixedRetriever(before), 10), Priority: 1},
				{Name: "s", Step: edited(func([]Item) []Item { return tt.after })},
			}})
			var got []string
			for _, trace := range r.Diagnostics.Items.All() {
				last := "-"
				for i := range trace.Events {
					if trace.Events[i].Step == "s" {
						last = brief(&trace.Events[i])
					}
				}
				got = append(got, last)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			agrees(t, r)
		})
	}
}

// fixedMemory is a memory provider.
type fixedMemory []Item

func (m fixedMemory) Items(context.Context, *Query) ([]Item, error) { return m, nil }

// storyItem is an item of so many words.
func storyItem(id string, source Source, n int, score float64) Item {
	return Item{ID: id, Content: strings.Repeat("w ", n), Source: source, Score: score, Priority: source.DefaultPriority(), CreatedAt: seedEpoch}
}

// The whole traces of one build with all stages, a group of retrievers, a step that is
// skipped, a filter, a reranker, a query transform, and every budget.
func TestWholeTraces(t *testing.T) {
	budget := &fill.Budget{TotalTokens: 100, EnforceSharedPool: true, ReserveTokens: 50, Allocations: []fill.Allocation{
		{Source: SourceRetrieval, MaxTokens: 10, Priority: 5, Overflow: fill.OverflowTruncate},
		{Source: SourceTool, MaxTokens: 5, Priority: 4, Overflow: fill.OverflowDrop},
		{Source: SourceMemory, MaxTokens: 10, Priority: 4},
	}}
	r := mustBuild(t, Config{
		Explain: true, MaxTokens: 90, Budget: budget, SystemPrompts: []SystemPrompt{{Content: "be short"}},
		Memory: fixedMemory{storyItem("said", SourceConversation, 20, 0.5), storyItem("said too", SourceConversation, 12, 0.4)},
		Steps: []StepConfig{
			{Name: "find", Priority: 10, Step: RetrieverStep(fixedRetriever{storyItem("r1", SourceRetrieval, 8, 0.9), storyItem("r2", SourceRetrieval, 3, 0.8), storyItem("r3", SourceRetrieval, 1, 0.1)}, 10)},
			{Name: "tools", Priority: 10, Step: RetrieverStep(fixedRetriever{storyItem("t1", SourceTool, 4, 0.9), storyItem("t2", SourceTool, 2, 0.8)}, 10)},
			{Name: "variants", Priority: 20, Step: QueryTransformStep(twoVariants{}, fixedRetriever{storyItem("r2", SourceRetrieval, 3, 0.8), storyItem("v", SourceUser, 4, 0.7)}, 5)},
			{Name: "broken", Priority: 30, OnError: Skip, Step: StepFunc(func(_ context.Context, q *Query, items []Item) ([]Item, error) {
				for i := range items {
					items[i].Score = 0
				}
				return nil, errBoom
			})},
			{Name: "filter", Priority: 40, Step: FilterFunc(func(it *Item) bool { return it.ID != "r3" })},
			{Name: "rank", Priority: 50, Step: RerankerStep(swapLastTwo{}, 100)},
		},
	})
	want := [][]string{
		{"system-1 in_window", "system:added 0>1 score 0>1", "fill:admitted 1>1"},
		{"said in_window", "memory:added 0>2 score 0>0.5", "fill:admitted 2>2"},
		{"said too left_out", "memory:added 0>3 score 0>0.4", "fill:left_out 3>0 shared_pool 3/25 lacks 9 for [said]"},
		{"r1 in_window", "find:added 0>4 score 0>0.9", "fill:admitted 4>3"},
		{"r2 left_out", "find:added 0>5 score 0>0.8", "fill:left_out 5>0 source 2/10 lacks 1 for [r1]"},
		{"r3 dropped", "find:added 0>6 score 0>0.1", "filter:dropped 6>0"},
		{"t1 left_out", "tools:added 0>7 score 0>0.9", "fill:left_out 6>0 whole_source 5/5 lacks 1 for []"},
		{"t2 left_out", "tools:added 0>8 score 0>0.8", "rank:moved 7>8", "fill:left_out 8>0 whole_source 5/5 lacks 1 for []"},
		{"v left_out", "variants:added 0>9", "rank:moved 8>7", "fill:left_out 7>0 shared_pool 3/25 lacks 1 for [said]"},
	}
	all := r.Diagnostics.Items.All()
	for i := range all {
		if got := briefs(&all[i]); i >= len(want) || !slices.Equal(got, want[i]) {
			t.Errorf("trace %d: got %q", i, got)
		}
	}
	if len(all) != len(want) {
		t.Errorf("%d traces, want %d", len(all), len(want))
	}
	agrees(t, r)
}

type twoVariants struct{}

func (twoVariants) TransformQuery(_ context.Context, q *Query) ([]Query, error) {
	return []Query{*q, {Text: "other"}}, nil
}

type swapLastTwo struct{}

func (swapLastTwo) Rerank(_ context.Context, _ *Query, items []Item, _ int) ([]Item, error) {
	out := slices.Clone(items)
	slices.Reverse(out[len(out)-2:])
	return out, nil
}

// A full window names what took the room, as few items as make up for what lacked.
func TestDisplacedBy(t *testing.T) {
	found := fixedRetriever{storyItem("a", SourceRetrieval, 5, 0.9), storyItem("b", SourceRetrieval, 3, 0.8), storyItem("big", SourceRetrieval, 6, 0.7),
		storyItem("c", SourceRetrieval, 1, 0.6), storyItem("huge", SourceRetrieval, 99, 0.5)}
	r := mustBuild(t, Config{Explain: true, MaxTokens: 10, Steps: []StepConfig{{Name: "find", Step: RetrieverStep(found, 10)}}})
	for id, want := range map[string]string{
		"big":  "fill:left_out 3>0 window 2/10 lacks 4 for [b a]",
		"c":    "fill:admitted 4>3",
		"huge": "fill:left_out 5>0 window 1/10 lacks 98 for []",
	} {
		if got := brief(traceOf(t, r.Diagnostics, id).Last()); got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
	agrees(t, r)
}

// A build that fails tells the traces up to there.
func TestTracesOfAFailedBuild(t *testing.T) {
	p := mustNew(t, Config{Explain: true, Steps: []StepConfig{
		{Name: "find", Step: RetrieverStep(fixedRetriever(docs("a", "b")), 10), Priority: 1},
		{Name: "filter", Step: FilterFunc(func(it *Item) bool { return it.ID == "a" }), Priority: 2},
		{Name: "boom", Step: StepFunc(func(context.Context, *Query, []Item) ([]Item, error) { return nil, errBoom }), Priority: 3},
	}})
	_, err := p.Build(t.Context(), Query{Text: "q"})
	var failed *BuildError
	if !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if got := traceOf(t, failed.Diagnostics, "a").Outcome; got != explain.Undecided {
		t.Errorf("fate of a: %s", got)
	}
	if got := traceOf(t, failed.Diagnostics, "b").Outcome; got != explain.DroppedByStep {
		t.Errorf("fate of b: %s", got)
	}
}

func TestNoTracesUnlessAskedFor(t *testing.T) {
	r := mustBuild(t, Config{Steps: []StepConfig{{Name: "find", Step: RetrieverStep(fixedRetriever(docs("a")), 10)}}})
	if r.Diagnostics.Items != nil || r.Diagnostics.Items.All() != nil {
		t.Error("traces without Explain")
	}
	out, err := json.Marshal(r.Diagnostics)
	if err != nil || strings.Contains(string(out), `"items":`) {
		t.Errorf("%s, %v", out, err)
	}
}

func TestTracesAsJSON(t *testing.T) {
	r := mustBuild(t, Config{Explain: true, MaxTokens: 2, Steps: []StepConfig{
		{Name: "find", Step: RetrieverStep(fixedRetriever(docs("a", "b", "c")), 10), Priority: 1},
		{Name: "s", Step: edited(func(items []Item) []Item { items[2].Score = 1; return items })},
	}})
	first, err := json.Marshal(r.Diagnostics.Items)
	if err != nil {
		t.Fatal(err)
	}
	var back explain.Trace
	if err := json.Unmarshal(first, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back.All(), r.Diagnostics.Items.All()) {
		t.Errorf("%s", first)
	}
	for doc, want := range map[string]string{
		`[{"id":"a","events":[]}]`:                  `items[0]: item "a": no events: invalid value`,
		`[{"id":"a","events":[{"did":["eaten"]}]}]`: `items: did: "eaten": invalid value (want some of ` + explain.Actions(1<<13-1).String() + ")",
	} {
		if err := json.Unmarshal([]byte(doc), &back); err == nil || err.Error() != want {
			t.Errorf("%s: %v", doc, err)
		}
	}
}

func TestModuleOf(t *testing.T) {
	two := ClassifiedStep(nil, map[string]Retriever{"a": toldRetriever("x"), "b": toldRetriever("y"), "c": toldRetriever("x")}, "", 1)
	for _, tt := range []struct {
		step Step
		want explain.ModuleInfo
	}{
		{native(nil), explain.ModuleInfo{}},
		{RetrieverStep(toldRetriever("x"), 1), explain.ModuleInfo{Plugin: "x", Module: "sha256:x"}},
		{RetrieverStep(fixedRetriever(nil), 1), explain.ModuleInfo{}},
		{two, explain.ModuleInfo{Plugin: "x+y", Module: "sha256:x+sha256:y"}},
	} {
		if got := moduleOf(tt.step); got != tt.want {
			t.Errorf("%T: %+v", tt.step, got)
		}
	}
}

type toldRetriever string

func (r toldRetriever) Module() explain.ModuleInfo {
	return explain.ModuleInfo{Plugin: string(r), Module: "sha256:" + string(r)}
}

func (toldRetriever) Retrieve(context.Context, *Query, int) ([]Item, error) { return nil, nil }

// agrees checks what must hold of the traces of every build: each considered item has
// one, it begins with being added, its last event is its fate, and the fates agree with
// the result.
func agrees(t testing.TB, r *Result) {
	t.Helper()
	inWindow, leftOut := map[string]int{}, map[string]int{}
	places := map[int]string{}
	for _, s := range r.Diagnostics.Items.All() {
		last := s.Last()
		switch {
		case !s.Events[0].Actions.Has(explain.Added):
			t.Errorf("%s begins with %s", s.ID, s.Events[0].Actions)
		case s.Outcome == explain.InWindow && last.Actions.Has(explain.Admitted):
			inWindow[s.ID]++
			places[last.Place.To] = s.ID
			if it := r.Window.Items[last.Place.To-1]; it.ID != s.ID || it.TokenCount != s.Tokens || it.Score != s.Score || it.Priority != s.Priority {
				t.Errorf("trace %+v of item %+v", s, it)
			}
		case s.Outcome == explain.OutOfWindow && last.Actions.Has(explain.LeftOut):
			leftOut[s.ID]++
			if last.Budget.Lacked < 1 {
				t.Errorf("%s lacks nothing", s.ID)
			}
		case s.Outcome == explain.DroppedByStep && last.Actions.Has(explain.Dropped):
		default:
			t.Errorf("%s: fate %s, but %s", s.ID, s.Outcome, last.Actions)
		}
		for i := range s.Events[1:] {
			if s.Events[1+i].Actions.Has(explain.Added) || s.Events[i].Actions&(explain.Dropped|explain.Admitted|explain.LeftOut) != 0 {
				t.Errorf("%s: %q", s.ID, briefs(&s))
			}
		}
	}
	wantIn, wantOut := map[string]int{}, map[string]int{}
	for i := range r.Window.Items {
		wantIn[r.Window.Items[i].ID]++
		if places[i+1] != r.Window.Items[i].ID {
			t.Errorf("place %d is %q, want %q", i+1, places[i+1], r.Window.Items[i].ID)
		}
	}
	for i := range r.Overflow {
		wantOut[r.Overflow[i].ID]++
	}
	if !maps.Equal(inWindow, wantIn) || !maps.Equal(leftOut, wantOut) {
		t.Errorf("in %v, want %v; out %v, want %v", inWindow, wantIn, leftOut, wantOut)
	}
}

// Without Explain the hooks are a branch each.
func TestRecordingCostsNothingWhenOff(t *testing.T) {
	b := &build{p: &Pipeline{}, list: &itemList{items: docs("a")}, diag: &Diagnostics{}}
	st := &step{StepConfig: StepConfig{Name: "s"}}
	if n := testing.AllocsPerRun(100, func() {
		b.recorder = b.p.newRecorder()
		b.recordOffer("system", nil, true)
		b.show([]step{*st})
		b.recordStep(st, false, nil)
		b.recordFill()
		b.diag.Items = b.trace()
	}); n != 0 || b.diag.Items != nil {
		t.Errorf("%v allocations, traces %v", n, b.diag.Items)
	}
}

func TestTraceOfACut(t *testing.T) {
	r := mustBuild(t, Config{Explain: true, MaxTokens: 3, Truncate: fill.Truncation{At: fill.CutCharacter, MinTokens: 1},
		Steps: []StepConfig{{Name: "find", Step: RetrieverStep(fixedRetriever{storyItem("long", SourceRetrieval, 9, 0.5)}, 1)}}})
	if e := traceOf(t, r.Diagnostics, "long").Last(); !e.Actions.Has(explain.Admitted|explain.Cut) || e.Bytes == nil || e.Bytes.From != 18 || e.Bytes.To != len(r.Window.Items[0].Content) {
		t.Errorf("%s", brief(e))
	}
	agrees(t, r)
}
