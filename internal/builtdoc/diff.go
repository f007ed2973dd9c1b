package builtdoc

import (
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// Diff is the difference of two builds.
type Diff struct {
	A      string              `json:"a"`
	B      string              `json:"b"`
	Items  explain.Change[int] `json:"items_in_window"`
	Tokens explain.Change[int] `json:"tokens"`
	Room   explain.Change[int] `json:"max_tokens"`
	Came   Tally               `json:"came"`
	Went   Tally               `json:"went"`
	Differ []ItemDiff          `json:"items"`
	Same   int                 `json:"items_unchanged"`
	Notes  []string            `json:"notes,omitempty"`
}

// Tally sums items up.
type Tally struct {
	Items  int `json:"items"`
	Tokens int `json:"tokens"`
}

func (t *Tally) add(v *itemView) { t.Items, t.Tokens = t.Items+1, t.Tokens+v.tokens }

// ItemDiff is how one item differs.
type ItemDiff struct {
	ID     string          `json:"id"`
	Source pipeline.Source `json:"source"`
	// Changes are some of the words came, went, moved, rescored, prioritised, recounted
	// and rewritten.
	Changes []string `json:"changes"`
	// Place is the place in the window, from 1; 0 means outside of it.
	Place    *explain.Change[int]     `json:"place,omitempty"`
	Score    *explain.Change[float64] `json:"score,omitempty"`
	Priority *explain.Change[int]     `json:"priority,omitempty"`
	Tokens   *explain.Change[int]     `json:"tokens,omitempty"`
	Text     *explain.Change[string]  `json:"text,omitempty"` // where it begins to differ
	// Why are sentences from the traces, each with "A: " or "B: " before it.
	Why []string `json:"why,omitempty"`
}

// itemView is an item of one build, inside or outside of its window.
type itemView struct {
	id       string
	source   pipeline.Source
	place    int // in the window, from 1; 0 outside of it
	rank     int // in the window, among the items that both windows have
	score    float64
	priority int
	tokens   int
	text     string
	digest   bool   // text is a digest, or nothing
	known    string // what is known without a trace
	trace    *explain.ItemTrace
}

// itemName identifies an item in both builds. Items with repeated ids are numbered.
type itemName struct {
	id     string
	source pipeline.Source
	number int
}

// views lists the items of a build: those in the window, those that were left out, and those
// that only the traces have.
func (d *Doc) views() (list []*itemView, byName map[itemName]*itemView) {
	var others []*explain.ItemTrace // dropped or undecided
	inWindow, left := map[int]*explain.ItemTrace{}, map[itemName][]*explain.ItemTrace{}
	for i := range d.Traces {
		switch s := &d.Traces[i]; s.Outcome {
		case explain.InWindow:
			inWindow[s.Last().Place.To] = s
		case explain.OutOfWindow:
			name := itemName{id: s.ID, source: s.Source}
			left[name] = append(left[name], s)
		default:
			others = append(others, s)
		}
	}
	for i := range d.Window.Items {
		v := viewOf(&d.Window.Items[i])
		v.place, v.trace, v.known = i+1, inWindow[i+1], "in the window"
		list = append(list, v)
	}
	for i := range d.Overflow {
		o := &d.Overflow[i]
		v := viewOf(&o.Item)
		v.known = fmt.Sprintf("left out (%s): %d tokens, %d left", o.Reason, o.TokenCount, o.Available)
		name := itemName{id: o.ID, source: o.Source}
		if traces := left[name]; len(traces) > 0 {
			v.trace, left[name] = traces[0], traces[1:]
		}
		list = append(list, v)
	}
	for _, s := range others {
		list = append(list, &itemView{
			id: s.ID, source: s.Source, score: s.Score, priority: s.Priority, tokens: s.Tokens, text: s.Excerpt, trace: s,
		})
	}
	for _, v := range list {
		v.digest = d.Hidden
	}
	return list, named(list)
}

// named numbers the items with repeated ids.
func named(list []*itemView) map[itemName]*itemView {
	byName := make(map[itemName]*itemView, len(list))
	numbers := map[itemName]int{}
	for _, v := range list {
		name := itemName{id: v.id, source: v.source}
		name.number = numbers[name]
		numbers[itemName{id: v.id, source: v.source}]++
		byName[name] = v
	}
	return byName
}

func viewOf(it *pipeline.Item) *itemView {
	return &itemView{id: it.ID, source: it.Source, score: it.Score, priority: it.Priority, tokens: it.TokenCount, text: it.Content}
}

// Compare compares two builds item by item. Items outside of both windows do not count as
// a difference.
func Compare(a, b *Doc) Diff {
	d := Diff{
		A: a.Name, B: b.Name, Differ: []ItemDiff{},
		Items:  explain.Change[int]{From: len(a.Window.Items), To: len(b.Window.Items)},
		Tokens: explain.Change[int]{From: a.Window.UsedTokens, To: b.Window.UsedTokens},
		Room:   explain.Change[int]{From: a.Window.MaxTokens, To: b.Window.MaxTokens},
	}
	for _, side := range []*Doc{a, b} {
		if side.Traces == nil {
			d.Notes = append(d.Notes, fmt.Sprintf("%s has no traces (build it with --explain to see the reasons)", side.Name))
		}
	}
	inA, pairs := pair(a, b)
	for _, p := range pairs { // in the order of B's window
		d.compare(p.a, p.b, a.Traces != nil)
	}
	for _, v := range inA { // items that B does not have
		if v.place > 0 {
			d.Went.add(v)
			d.Differ = append(d.Differ, absent(v, b.Traces != nil))
		}
	}
	return d
}

// viewPair is one item in two builds; a is nil for an item that only B has.
type viewPair struct{ a, b *itemView }

// pair matches the items of two builds. inA are the items that only A has.
func pair(a, b *Doc) (inA []*itemView, pairs []viewPair) {
	listA, namesA := a.views()
	inB, namesB := b.views()
	other := map[*itemView]*itemView{}
	for name, v := range namesB {
		if w := namesA[name]; w != nil {
			other[v], other[w] = w, v
		}
	}
	for _, list := range [][]*itemView{listA, inB} {
		rank := 0
		for _, v := range list {
			if w := other[v]; v.place > 0 && w != nil && w.place > 0 {
				rank++
				v.rank = rank
			}
		}
	}
	for _, v := range inB {
		pairs = append(pairs, viewPair{other[v], v})
	}
	for _, v := range listA {
		if other[v] == nil {
			inA = append(inA, v)
		}
	}
	return inA, pairs
}

// compare adds the differences of an item in B from the same item in A.
func (d *Diff) compare(a, b *itemView, tracesA bool) {
	if a == nil {
		if b.place > 0 {
			d.Came.add(b)
			d.Differ = append(d.Differ, appeared(b, tracesA))
		}
		return
	}
	if a.place == 0 && b.place == 0 {
		return
	}
	out := ItemDiff{ID: b.id, Source: b.source}
	switch {
	case a.place == 0:
		d.Came.add(b)
		out.Changes = append(out.Changes, "came")
	case b.place == 0:
		d.Went.add(a)
		out.Changes = append(out.Changes, "went")
	case a.rank != b.rank:
		out.Changes = append(out.Changes, "moved")
	}
	out.values(a, b)
	if out.Changes == nil {
		d.Same++
		return
	}
	if a.place != b.place {
		out.Place = &explain.Change[int]{From: a.place, To: b.place}
	}
	out.Why = why(a, b)
	d.Differ = append(d.Differ, out)
}

// values adds the values that differ.
func (out *ItemDiff) values(a, b *itemView) {
	if a.score != b.score {
		out.Changes = append(out.Changes, "rescored")
		out.Score = &explain.Change[float64]{From: a.score, To: b.score}
	}
	if a.priority != b.priority {
		out.Changes = append(out.Changes, "prioritised")
		out.Priority = &explain.Change[int]{From: a.priority, To: b.priority}
	}
	if a.tokens != b.tokens && a.tokens > 0 && b.tokens > 0 { // 0: dropped before it was counted
		out.Changes = append(out.Changes, "recounted")
		out.Tokens = &explain.Change[int]{From: a.tokens, To: b.tokens}
	}
	textA, textB := a.text, b.text
	if a.digest != b.digest || a.digest && (a.place == 0 || b.place == 0) {
		return // there is nothing to compare
	}
	if a.place == 0 || b.place == 0 { // traces have only the beginning of a text
		textA, textB = beginning(textA), beginning(textB)
	}
	if textA != textB {
		out.Changes = append(out.Changes, "rewritten")
		at := firstDifference(textA, textB)
		out.Text = &explain.Change[string]{From: plain.Excerpt(textA[at:]), To: plain.Excerpt(textB[at:])}
	}
}

// appeared describes an item that only B has, and absent one that only A has.
func appeared(v *itemView, explained bool) ItemDiff {
	out := ItemDiff{ID: v.id, Source: v.source, Changes: []string{"came"}, Place: &explain.Change[int]{To: v.place}}
	return out.onlyIn(v, "B", "A", explained)
}

func absent(v *itemView, explained bool) ItemDiff {
	out := ItemDiff{ID: v.id, Source: v.source, Changes: []string{"went"}, Place: &explain.Change[int]{From: v.place}}
	return out.onlyIn(v, "A", "B", explained)
}

func (out ItemDiff) onlyIn(v *itemView, here, there string, explained bool) ItemDiff {
	if explained {
		out.Why = append(out.Why, there+": nothing brought it")
	}
	for _, s := range v.sentences() {
		out.Why = append(out.Why, here+": "+s)
	}
	return out
}

// sentences describes the events in the trace of an item. It is empty without a trace.
func (v *itemView) sentences() (list []string) {
	if v.trace == nil {
		return nil
	}
	for i := range v.trace.Events {
		list = append(list, Sentence(&v.trace.Events[i]))
	}
	return list
}

// why returns the sentences that only one of the traces has.
func why(a, b *itemView) (list []string) {
	sentencesA, sentencesB := a.sentences(), b.sentences()
	only := func(name string, v *itemView, mine, others []string) {
		if mine == nil && v.known != "" && v.place == 0 {
			list = append(list, name+": "+v.known)
		}
		for _, s := range mine {
			if !slices.Contains(others, s) {
				list = append(list, name+": "+s)
			}
		}
	}
	only("A", a, sentencesA, sentencesB)
	only("B", b, sentencesB, sentencesA)
	return list
}

// beginning returns the part of a text that a trace keeps.
func beginning(text string) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), explain.ExcerptLength)])
}

// firstDifference returns where two texts begin to differ, at a character boundary of both.
func firstDifference(a, b string) int {
	at := 0
	for i, r := range a {
		if !strings.HasPrefix(b[min(i, len(b)):], string(r)) || i >= len(b) {
			return i
		}
		at = i + len(string(r))
	}
	return min(at, len(a), len(b))
}
