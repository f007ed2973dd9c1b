package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
)

// final is an item of the list that results from a change set. row is its number; the
// numbers of new items follow the last row.
type final struct {
	row   uint32
	text  string
	score float64
}

// finals applies a change set as ABI.md says, but does not cut the list to top_k.
func finals(op abi.Operation, rows abi.ItemRows, c *abi.Changes) []final {
	if c == nil {
		c = &abi.Changes{}
	}
	all := make([]final, 0, len(rows)+len(c.Items))
	for i, it := range rows {
		all = append(all, final{uint32(i), it.Content, it.Score})
	}
	for _, e := range c.Edits {
		if e.Content != nil {
			all[e.Row].text = *e.Content
		}
	}
	for _, s := range c.Scores {
		all[s.Row].score = s.Score
	}
	for _, it := range c.Items {
		all = append(all, final{uint32(len(all)), it.Content, it.Score})
	}
	list := slices.Clone(all)
	switch {
	case c.Order != nil:
		list = list[:0]
		for _, row := range c.Order {
			list = append(list, all[row])
		}
		if len(c.Scores) == 0 {
			deal(list)
		}
	case c.Keep != nil:
		list = slices.DeleteFunc(list, func(f final) bool {
			_, stays := slices.BinarySearch(c.Keep, f.row) // it ascends
			return int(f.row) < len(rows) && !stays
		})
	}
	if op == abi.OpRerank && c.Order == nil && len(c.Scores) > 0 {
		slices.SortStableFunc(list, func(a, b final) int { return cmp.Compare(b.score, a.score) })
	}
	return list
}

// deal redistributes the scores of a list in its order, highest first.
func deal(list []final) {
	scores := make([]float64, len(list))
	for i, f := range list {
		scores[i] = f.score
	}
	slices.SortFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) })
	for i := range list {
		list[i].score = scores[i]
	}
}

// compare compares an answer with the expected one.
func (e *Expect) compare(rep *reply, req *request) outcome {
	if e.NoChange {
		if c := rep.canonical(len(req.rows)); c != "{}" {
			return failed("expected no change, got %s", clip(c))
		}
	}
	if e.Output != nil {
		if o := e.compareOutput(rep); o.verdict != Pass {
			return o
		}
	}
	if e.Items != nil {
		if o := e.compareItems(rep); o.verdict != Pass {
			return o
		}
	}
	if !e.list() {
		return passed
	}
	if rep.doc != nil {
		return failed("keep, order, scores and texts are of operations on rows (expect items or no_change of memory, and output of others)")
	}
	return e.compareList(finals(req.op, req.rows, rep.changes), len(req.rows))
}

// outcomeList is a final list as cases state it.
type outcomeList struct {
	order, keep []uint32
	scores      []float64
	texts       []string
}

func listOf(list []final, rows int) outcomeList {
	o := outcomeList{order: []uint32{}, keep: []uint32{}, scores: []float64{}, texts: []string{}}
	for _, f := range list {
		o.order, o.scores, o.texts = append(o.order, f.row), append(o.scores, f.score), append(o.texts, f.text)
		if int(f.row) < rows {
			o.keep = append(o.keep, f.row)
		}
	}
	slices.Sort(o.keep)
	return o
}

// renewed returns what an answer is, in the members in which e says what it expects. What e does
// not check, the result does not check.
func (e *Expect) renewed(rep *reply, req *request, r *Replay) Expect {
	out := Expect{Stored: slices.Clone(e.Stored)}
	for i := range out.Stored {
		out.Stored[i] = NewValue(out.Stored[i].Key, r.Get(out.Stored[i].Key))
	}
	if rep.doc == nil && rep.changes == nil || rep.canonical(len(req.rows)) == "{}" {
		out.NoChange = true
		return out
	}
	answer := rep.doc
	if answer == nil {
		answer = rep.changes
	}
	if rep.doc == nil && e.list() {
		o := listOf(finals(req.op, req.rows, rep.changes), len(req.rows))
		out.Keep, out.Order, out.Scores, out.Texts = kept(e.Keep, o.keep), kept(e.Order, o.order), kept(e.Scores, o.scores), kept(e.Texts, o.texts)
	}
	if e.Output != nil || !e.list() {
		out.Output, _ = json.Marshal(answer) // it was decoded from JSON or a batch
	}
	return out
}

// kept returns the list got if one is expected.
func kept[T any](want, got []T) []T {
	if want == nil {
		return nil
	}
	return got
}

func (e *Expect) compareList(list []final, rows int) outcome {
	o := listOf(list, rows)
	order, keep, scores, texts := o.order, o.keep, o.scores, o.texts
	switch {
	case e.Keep != nil && !slices.Equal(keep, slices.Sorted(slices.Values(e.Keep))):
		return unexpected("keep", e.Keep, keep)
	case e.Order != nil && !slices.Equal(order, e.Order):
		return unexpected("order", e.Order, order)
	case e.Texts != nil && !slices.Equal(texts, e.Texts):
		return unexpected("texts", e.Texts, texts)
	case e.Scores != nil && !slices.EqualFunc(scores, e.Scores, func(a, b float64) bool { return math.Abs(a-b) <= 1e-6 }):
		return unexpected("scores", e.Scores, scores)
	}
	return passed
}

// unexpected is the message about an answer other than the expected one.
func unexpected(what string, want, got any) outcome {
	w, g := text(want), text(got)
	if len(w)+len(g) > 200 {
		return failed("%s: expected and got differ: %s", what, difference(w, g))
	}
	return failed("%s: expected %s, got %s", what, w, g)
}

// text is v as JSON, for messages.
func text(v any) string {
	b, err := readable(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if b == "null" {
		return "[]"
	}
	return b
}

// readable is v as JSON with the signs <, > and & as they are.
func readable(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func (e *Expect) compareItems(rep *reply) outcome {
	var items []abi.NewItem
	if rep.changes != nil {
		items = rep.changes.Items
	} else if m, ok := rep.doc.(*abi.MemoryReply); ok {
		items = m.Items
	}
	if len(items) != len(e.Items) {
		return failed("items: expected %d, got %d", len(e.Items), len(items))
	}
	for i, want := range e.Items {
		got := any(items[i])
		if want[0] == '"' {
			got = items[i].Content
		}
		if w, g := plainJSON(want), plainJSON(got); !covers(w, g) {
			return unexpected(fmt.Sprintf("items[%d]", i), w, g)
		}
	}
	return passed
}

func (e *Expect) compareOutput(rep *reply) outcome {
	got := rep.doc
	if got == nil && rep.changes == nil {
		return failed("output: expected %s, got no change (expect no_change: true)", text(e.Output))
	}
	if got == nil {
		got = rep.changes
	}
	if w, g := plainJSON(e.Output), plainJSON(got); !covers(w, g) {
		return unexpected("output", w, g)
	}
	return passed
}

// plainJSON is v as JSON decodes it.
func plainJSON(v any) (out any) {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&out); err != nil {
		return err.Error()
	}
	return out
}

// covers reports whether got matches want. An object matches if it has the members that want
// names; lists and other values match as a whole. Numbers may differ by one millionth.
func covers(want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for key := range maps.Keys(w) {
			if v, has := g[key]; !has || !covers(w[key], v) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(w, g, covers)
	case float64:
		g, ok := got.(float64)
		return ok && math.Abs(w-g) <= 1e-6
	}
	return reflect.DeepEqual(want, got)
}
