package host

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
	"github.com/anchor-host/anchor-host/pipeline"
)

// testOperation is an operation without a guest.
func testOperation(op abi.Operation) *operation {
	h := &Host{tokens: tokenizer{given: pipeline.WordTokenizer()}}
	p := &Plugin{host: h, name: "p", log: slog.New(slog.DiscardHandler), limits: builtinLimits(), spec: &Spec{},
		account: fairness.NewQueue(clock, func() int { return 1 }).NewAccount()}
	o := &operation{plugin: p, op: op, scope: defaultScope(op)}
	all, err := abi.ChangesOf(abi.AllChanges)
	if err != nil {
		panic(err)
	}
	o.grant = grant{source: pipeline.SourceRetrieval, tokens: 100,
		Grant: abi.Grant{Writes: all, MaxItems: 10, MaxPriority: 10, Sources: []string{"retrieval"}}}
	return o
}

// mixed is a list with items in and out of the scope of a filter.
func mixed() []pipeline.Item {
	item := func(id string, src pipeline.Source, score float64) pipeline.Item {
		return pipeline.Item{ID: id, Content: "text " + id, Source: src, Score: score, Priority: src.DefaultPriority(), TokenCount: 2}
	}
	return []pipeline.Item{
		item("sys", pipeline.SourceSystem, 1), item("a", pipeline.SourceRetrieval, 0.9), item("mem", pipeline.SourceMemory, 0.5),
		item("b", pipeline.SourceTool, 0.2), item("c", pipeline.SourceRetrieval, 0.4), item("turn", pipeline.SourceConversation, 1),
	}
}

func text(s string) *string { return &s }
func number(n int) *int     { return &n }

// show is a list on one line: id, score and what differs from the original.
func show(items []pipeline.Item) string {
	var out []string
	for _, it := range items {
		s := fmt.Sprintf("%s %v", it.ID, it.Score)
		if it.Content != "text "+it.ID {
			s += fmt.Sprintf(" %q/%d", it.Content, it.TokenCount)
		}
		if it.Priority != it.Source.DefaultPriority() {
			s += fmt.Sprintf(" !%d", it.Priority)
		}
		if it.Metadata != nil {
			s += fmt.Sprint(" ", it.Metadata)
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestApply(t *testing.T) {
	newItem := abi.NewItem{Key: "k", Content: "three new words", Score: 0.3}
	for _, tc := range []struct {
		name    string
		op      abi.Operation
		changes *abi.Changes
		topK    int
		want    string
	}{
		{"no change", abi.OpFilter, nil, 0, "sys 1, a 0.9, mem 0.5, b 0.2, c 0.4, turn 1"},
		{"keep all", abi.OpFilter, &abi.Changes{Keep: []uint32{0, 1, 2}}, 0, "sys 1, a 0.9, mem 0.5, b 0.2, c 0.4, turn 1"},
		{"keep some: the others of the scope go", abi.OpFilter, &abi.Changes{Keep: []uint32{0, 2}}, 0, "sys 1, a 0.9, mem 0.5, c 0.4, turn 1"},
		{"keep none", abi.OpFilter, &abi.Changes{Keep: []uint32{}}, 0, "sys 1, mem 0.5, turn 1"},
		{"edits", abi.OpFilter, &abi.Changes{Edits: []abi.Edit{
			{Row: 0, Content: text("one two three")}, {Row: 1, Metadata: abi.Metadata{"n": int64(1)}, Priority: number(2)}, {Row: 2, Content: text("text c")},
		}}, 0, `sys 1, a 0.9 "one two three"/3, mem 0.5, b 0.2 !2 map[n:1], c 0.4, turn 1`},
		{"scores keep places", abi.OpProcess, &abi.Changes{Scores: []abi.RowScore{{Row: 0, Score: 0.1}}}, 0, "sys 1, a 0.1, mem 0.5, b 0.2, c 0.4, turn 1"},
		{"new items go to the end", abi.OpFilter, &abi.Changes{Keep: []uint32{0}, Items: []abi.NewItem{newItem}}, 0,
			`sys 1, a 0.9, mem 0.5, turn 1, p:k 0.3 "three new words"/3`},
		{"a new item without key is named by its content", abi.OpFilter, &abi.Changes{Items: []abi.NewItem{{Content: "x", Score: 0}}}, 0,
			`sys 1, a 0.9, mem 0.5, b 0.2, c 0.4, turn 1, p:2d711642b726b044 0 "x"/1`},
		{"order deals the scores out", abi.OpFilter, &abi.Changes{Order: []uint32{1, 2, 0}}, 0, "sys 1, b 0.9, mem 0.5, c 0.4, a 0.2, turn 1"},
		{"order of the survivors", abi.OpFilter, &abi.Changes{Keep: []uint32{0, 1}, Order: []uint32{1, 0}}, 0, "sys 1, b 0.9, mem 0.5, a 0.2, turn 1"},
		{"order with scores leaves them", abi.OpFilter, &abi.Changes{Scores: []abi.RowScore{{Row: 1, Score: 0.7}}, Order: []uint32{1, 2, 0}}, 0,
			"sys 1, b 0.7, mem 0.5, c 0.4, a 0.9, turn 1"},
		{"order with new items", abi.OpFilter, &abi.Changes{Keep: []uint32{0, 1}, Items: []abi.NewItem{newItem}, Order: []uint32{3, 1, 0}}, 0,
			`sys 1, p:k 0.9 "three new words"/3, mem 0.5, b 0.3, a 0.2, turn 1`},
		{"order longer than the places", abi.OpFilter, &abi.Changes{Items: []abi.NewItem{newItem}, Order: []uint32{3, 0, 1, 2}}, 0,
			`sys 1, p:k 0.9 "three new words"/3, mem 0.5, a 0.4, b 0.3, turn 1, c 0.2`},
		{"rerank by scores", abi.OpRerank, &abi.Changes{Scores: []abi.RowScore{{Row: 1, Score: 1}, {Row: 2, Score: 0.9}}}, 5,
			"sys 1, b 1, mem 0.5, a 0.9, c 0.9, turn 1"},
		{"rerank cuts to top_k", abi.OpRerank, &abi.Changes{Scores: []abi.RowScore{{Row: 1, Score: 1}}}, 2, "sys 1, b 1, mem 0.5, a 0.9, turn 1"},
		{"rerank by order cuts to top_k", abi.OpRerank, &abi.Changes{Order: []uint32{2, 1, 0}}, 1, "sys 1, c 0.9, mem 0.5, turn 1"},
		{"rerank that only keeps cuts to top_k", abi.OpRerank, &abi.Changes{Keep: []uint32{1, 2}}, 1, "sys 1, b 0.2, mem 0.5, turn 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := testOperation(tc.op)
			o.scope = defaultScope(abi.OpFilter)
			items := mixed()
			v := visible(items, o.scope)
			if tc.changes != nil {
				if err := o.check(tc.changes, v.Len()); err != nil {
					t.Fatal(err)
				}
			}
			out, err := o.apply(t.Context(), v, tc.changes, tc.topK)
			if err != nil {
				t.Fatal(err)
			}
			if got := show(out); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if !reflect.DeepEqual(items, mixed()) {
				t.Error("the items from before have changed")
			}
		})
	}
}

func TestApplyRefuses(t *testing.T) {
	for _, tc := range []struct {
		name    string
		changes *abi.Changes
		prepare func(*operation)
		reason  abi.Reason
		want    string
	}{
		{"priority above the ceiling", &abi.Changes{Edits: []abi.Edit{{Row: 0, Priority: number(6)}}}, nil, abi.ReasonDenied,
			"edits[0]: row 0: priority 6 is not granted (the step may state at most 5)"},
		{"priority above the manifest's wish", &abi.Changes{Items: []abi.NewItem{{Content: "x", Priority: 4}}},
			func(o *operation) { o.grant.wish = 3 }, abi.ReasonDenied, "items[0]: priority 4 is not granted (the step may state at most 3)"},
		{"too many tokens in new items", &abi.Changes{Items: []abi.NewItem{{Content: strings.Repeat("w ", 101)}}}, nil, abi.ReasonOutputTooLarge,
			"adds 101 tokens, allowed 100"},
		{"too many tokens in edits", &abi.Changes{Edits: []abi.Edit{{Row: 0, Content: text(strings.Repeat("w ", 103))}}}, nil, abi.ReasonOutputTooLarge,
			"adds 101 tokens, allowed 100"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := testOperation(abi.OpProcess)
			if tc.prepare != nil {
				tc.prepare(o)
			}
			items := mixed()
			v := visible(items, defaultScope(abi.OpFilter))
			out, err := o.apply(t.Context(), v, tc.changes, 0)
			var perr *PluginError
			if out != nil || !errors.As(err, &perr) || perr.Code != tc.reason || perr.Err.Error() != tc.want {
				t.Errorf("items %v, error %v (want %s: %s)", out, err, tc.reason, tc.want)
			}
			if !reflect.DeepEqual(items, mixed()) {
				t.Error("the items from before have changed")
			}
		})
	}
	o := testOperation(abi.OpProcess)
	o.grant.MaxItems = 1
	err := o.check(&abi.Changes{Items: []abi.NewItem{{Content: "x"}, {Content: "y"}}}, 0)
	var f *fault
	if !errors.As(err, &f) || f.code != abi.ReasonOutputTooLarge {
		t.Errorf("two items where one is allowed: %v", err)
	}
}

// A priority may be lowered from above the ceiling, or left there.
func TestApplyLowersPriority(t *testing.T) {
	o := testOperation(abi.OpProcess)
	items := mixed()
	items[1].Priority = 9
	out, err := o.apply(t.Context(), visible(items, o.scope), &abi.Changes{Edits: []abi.Edit{{Row: 0, Priority: number(8)}}}, 0)
	if err != nil || out[1].Priority != 8 {
		t.Errorf("priority %d, error %v", out[1].Priority, err)
	}
}

// FuzzApply: whatever a guest answers, the result is a list of valid items in
// which those outside the scope are as before, or an error.
func FuzzApply(f *testing.F) {
	for _, c := range []*abi.Changes{
		{Keep: []uint32{0, 2}}, {Order: []uint32{2, 1, 0}}, {Scores: []abi.RowScore{{Row: 1, Score: 0.5}}},
		{Items: []abi.NewItem{{Content: "x", Score: 1, Metadata: abi.Metadata{"a": 1.5}}}, Edits: []abi.Edit{{Row: 0, Content: text("y")}}},
	} {
		b, err := abi.AppendChanges(nil, c)
		if err != nil {
			f.Fatal(err)
		}
		doc, err := abi.AppendChangesJSON(nil, c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, uint8(0))
		f.Add(doc, uint8(3))
	}
	ops := []abi.Operation{abi.OpFilter, abi.OpProcess, abi.OpRerank}
	f.Fuzz(func(t *testing.T, answer []byte, which uint8) {
		decode := abi.DecodeChanges
		if which%2 == 1 {
			decode = abi.DecodeChangesJSON
		}
		c, err := decode(answer)
		if (c == nil) == (err == nil) {
			t.Fatal("neither changes nor error, or both")
		}
		if err != nil {
			return
		}
		o := testOperation(ops[int(which/2)%len(ops)])
		items := mixed()
		v := visible(items, o.scope)
		if o.check(c, v.Len()) != nil {
			return
		}
		out, err := o.apply(t.Context(), v, c, 2)
		if !reflect.DeepEqual(items, mixed()) {
			t.Fatal("the items from before have changed")
		}
		if err != nil {
			if out != nil {
				t.Fatal("items and an error")
			}
			return
		}
		checkApplied(t, o, items, out)
	})
}

func checkApplied(t *testing.T, o *operation, before, after []pipeline.Item) {
	t.Helper()
	for i := range after {
		if err := after[i].Validate(); err != nil {
			t.Fatal(err)
		}
		if !utf8.ValidString(after[i].Content) {
			t.Fatalf("item %d has a text that is not UTF-8: %q", i, after[i].Content)
		}
	}
	outside := func(items []pipeline.Item) []pipeline.Item {
		return slices.DeleteFunc(slices.Clone(items), func(it pipeline.Item) bool { return o.scope.has(it.Source) })
	}
	if !reflect.DeepEqual(outside(before), outside(after)) {
		t.Fatalf("items outside the scope have changed: %s", show(after))
	}
}
