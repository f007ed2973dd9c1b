package builtdoc

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// FirstDeparture returns the first place at which a build departs from an earlier one, nil if there is
// none. Times, fuel, the versions of plugins and the scores of facts, which change with time and use, do not count. Both builds were explained; without
// traces only their windows are compared.
func FirstDeparture(before, after *Doc) *explain.Departure {
	hidden := before.Hidden || after.Hidden
	switch a, b := &before.Window, &after.Window; {
	case before.Failed || after.Failed || hidden:
	case a.Query != b.Query:
		return &explain.Departure{Stage: "query", What: "the query has another text"}
	}
	if before.Traces != nil && after.Traces != nil {
		if d := eventsDiffer(before, after); d != nil {
			return d
		}
	}
	switch {
	case before.Failed != after.Failed:
		return &explain.Departure{Stage: "build", What: were(ending(before), ending(after))}
	case before.Window.MaxTokens != after.Window.MaxTokens:
		return &explain.Departure{Stage: "fill", What: fmt.Sprintf("the window has room for %d tokens, recorded were %d", after.Window.MaxTokens, before.Window.MaxTokens)}
	}
	if d := windowsDiffer(before, after); d != nil {
		return d
	}
	if before.Format != after.Format {
		return &explain.Departure{Stage: "format", What: were(before.Format, after.Format)}
	}
	return nil
}

// were says what is and what was recorded.
func were(before, after string) string {
	return fmt.Sprintf("now: %s; recorded: %s", cmp.Or(after, "nothing"), cmp.Or(before, "nothing"))
}

func ending(d *Doc) string {
	if d.Failed {
		return "the build failed"
	}
	return "the build succeeded"
}

// partName names a part of a build: a stage, or a step of it.
type partName struct{ stage, step string }

// eventsDiffer compares what each part did, in the order of the parts.
func eventsDiffer(before, after *Doc) *explain.Departure {
	itemsA, itemsB := before.byPart(), after.byPart()
	outcomesA, outcomesB := before.outcomes(), after.outcomes()
	for _, part := range partsOf(before, after) {
		where := explain.Departure{Stage: part.stage, Step: part.step}
		if a, b := outcomesA[part.step], outcomesB[part.step]; part.stage == "step" && a != b {
			where.What = were(cmp.Or(a, "it did not run"), cmp.Or(b, "it did not run"))
			return &where
		}
		a, b := itemsA[part], itemsB[part]
		for i := range max(len(a), len(b)) {
			var x, y did
			if i < len(a) {
				x = a[i]
			}
			if i < len(b) {
				y = b[i]
			}
			if x.item == y.item && sameEvent(x.event, y.event) {
				continue
			}
			where.Item = cmp.Or(y.item.id, x.item.id)
			where.What = were(x.say(where.Item), y.say(where.Item))
			return &where
		}
	}
	return nil
}

// did is what a part of a build did to an item. event is nil for nothing.
type did struct {
	item  itemName
	event *explain.Event
}

// say describes it in a sentence about an item.
func (d did) say(item string) string {
	switch {
	case d.event == nil:
		return "nothing was done to the item"
	case d.item.id != item:
		return fmt.Sprintf("item %s was %s", plain.Cell(d.item.id), Sentence(d.event))
	}
	return Sentence(d.event)
}

// byPart lists what each part of the build did, by the place of the item in the list.
func (d *Doc) byPart() map[partName][]did {
	out := map[partName][]did{}
	numbers := map[itemName]int{}
	for i := range d.Traces {
		t := &d.Traces[i]
		name := itemName{id: t.ID, source: t.Source}
		name.number = numbers[name]
		numbers[itemName{id: name.id, source: name.source}]++
		for j := range t.Events {
			e := &t.Events[j]
			part := partName{e.Stage, e.Step}
			out[part] = append(out[part], did{name, e})
		}
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b did) int { return cmp.Compare(a.place(), b.place()) })
	}
	return out
}

// place is that of the item after the part, or before it if it is gone.
func (d did) place() int {
	if d.event.Place == nil {
		return 0
	}
	return cmp.Or(d.event.Place.To, d.event.Place.From)
}

// sameEvent compares two events without the versions of plugins and the scores of facts.
func sameEvent(a, b *explain.Event) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, y := *a, *b
	x.ModuleInfo, y.ModuleInfo = explain.ModuleInfo{}, explain.ModuleInfo{}
	if x.Stage == "memory" && y.Stage == x.Stage {
		x.Score, y.Score = nil, nil
	}
	x.Budget, y.Budget = plainBudget(x.Budget), plainBudget(y.Budget)
	return reflect.DeepEqual(x, y)
}

// plainBudget returns a check as it is after it was written as JSON and read.
func plainBudget(b *explain.BudgetCheck) *explain.BudgetCheck {
	if b == nil || len(b.DisplacedBy) > 0 {
		return b
	}
	out := *b
	out.DisplacedBy = nil
	return &out
}

// outcomes say how each step ended.
func (d *Doc) outcomes() map[string]string {
	out := map[string]string{}
	for i := range d.Steps {
		out[d.Steps[i].Name] = "it ran"
	}
	for i := range d.Failures {
		out[d.Failures[i].Step] = "it failed (" + cmp.Or(d.Failures[i].Reason, "failure") + ")"
	}
	return out
}

// stageOrder is the order of the stages in a build. A stage that is not in it comes before the last.
var stageOrder = map[string]int{"system": 1, "memory": 2, "step": 3, "fill": 5}

// partsOf lists the parts of two builds in their order: steps in that of the earlier build.
func partsOf(before, after *Doc) (list []partName) {
	seen := map[partName]bool{}
	add := func(p partName) {
		if !seen[p] {
			seen[p] = true
			list = append(list, p)
		}
	}
	for _, d := range []*Doc{before, after} {
		for _, name := range d.stepNames() {
			add(partName{"step", name})
		}
		for i := range d.Traces {
			for j := range d.Traces[i].Events {
				add(partName{d.Traces[i].Events[j].Stage, d.Traces[i].Events[j].Step})
			}
		}
	}
	order := func(p partName) int { return cmp.Or(stageOrder[p.stage], 4) }
	slices.SortStableFunc(list, func(a, b partName) int { return cmp.Compare(order(a), order(b)) })
	return list
}

// stepNames lists the steps in the order in which they began.
func (d *Doc) stepNames() []string {
	type begun struct {
		name string
		at   float64
	}
	var list []begun
	for i := range d.Steps {
		list = append(list, begun{d.Steps[i].Name, d.Steps[i].StartMS})
	}
	for i := range d.Failures {
		list = append(list, begun{d.Failures[i].Step, d.Failures[i].StartMS})
	}
	slices.SortStableFunc(list, func(a, b begun) int { return cmp.Compare(a.at, b.at) })
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].name
	}
	return names
}

// windowsDiffer finds what traces do not have: other texts, and windows without traces.
func windowsDiffer(before, after *Doc) *explain.Departure {
	diff := Compare(before, after)
	first := slices.IndexFunc(diff.Differ, func(it ItemDiff) bool {
		return it.Source != pipeline.SourceMemory || !slices.Equal(it.Changes, []string{"rescored"})
	})
	if first < 0 {
		return nil
	}
	it := &diff.Differ[first]
	d := &explain.Departure{Stage: "fill", Item: it.ID, What: fmt.Sprintf("the item is not as recorded: %v", it.Changes)}
	if slices.Contains(it.Changes, "rewritten") {
		d.What = "the item has another text than recorded"
	}
	for i := range after.Traces {
		if t := &after.Traces[i]; t.ID == it.ID && t.Source == it.Source {
			at := lastText(t)
			d.Stage, d.Step = at.Stage, at.Step
			break
		}
	}
	return d
}

// lastText is the part of the build that the text of an item comes from.
func lastText(t *explain.ItemTrace) explain.Origin {
	for i := range slices.Backward(t.Events) {
		if e := &t.Events[i]; e.Actions&(explain.Added|explain.Rewritten) != 0 {
			return e.Origin
		}
	}
	return t.AddedBy()
}
