package steps

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// wordsOf counts as the tests' host does.
func wordsOf(text string) int { return len(strings.Fields(text)) }

// answered is the answer that a host makes of changes to rows.
func answered(c *abi.Changes, v *rowView) *host.Answer {
	a := &host.Answer{Changes: c}
	if c == nil {
		return a
	}
	for i := range c.Edits {
		n := 0
		if e := &c.Edits[i]; e.Content != nil && *e.Content != v.Text(int(e.Row)) {
			n = wordsOf(*e.Content)
		}
		a.Tokens = append(a.Tokens, n)
	}
	for i := range c.Items {
		it := &c.Items[i]
		it.Source = cmp.Or(it.Source, "retrieval")
		it.Priority = cmp.Or(it.Priority, abi.DefaultPriority(it.Source))
		a.Tokens = append(a.Tokens, wordsOf(it.Content))
	}
	return a
}

// testGrant allows all changes, and few new items.
func testGrant() abi.Grant {
	all, err := abi.ChangesOf(abi.AllChanges)
	if err != nil {
		panic(err)
	}
	return abi.Grant{Writes: all, MaxItems: 10, MaxPriority: 10, Sources: []string{"retrieval"}}
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
			o := &operation{module: explain.ModuleInfo{Plugin: "p"}, op: tc.op}
			items := mixed()
			v := visible(items, defaultScope(abi.OpFilter))
			if tc.changes != nil {
				if err := tc.changes.Check(v.Len(), testGrant()); err != nil {
					t.Fatal(err)
				}
			}
			if got := show(o.apply(v, answered(tc.changes, v), tc.topK)); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if !reflect.DeepEqual(items, mixed()) {
				t.Error("the items from before have changed")
			}
		})
	}
}

// FuzzApply: whatever a guest answers, the result is a list of valid items in
// which those outside the scope are as before, or an error of
// the check.
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
		o := &operation{module: explain.ModuleInfo{Plugin: "p"}, op: ops[int(which/2)%len(ops)]}
		o.scope = defaultScope(o.op)
		items := mixed()
		v := visible(items, o.scope)
		if c.Check(v.Len(), testGrant()) != nil {
			return
		}
		out := o.apply(v, answered(c, v), 2)
		if !reflect.DeepEqual(items, mixed()) {
			t.Fatal("the items from before have changed")
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
