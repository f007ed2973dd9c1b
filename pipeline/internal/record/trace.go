package record

import (
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// Trace ends the recording and returns a trace, which is computed when somebody first reads it.
func (l *Recorder) Trace() *explain.Trace { return explain.NewTrace(l.traces) }

func (l *Recorder) traces() []explain.ItemTrace {
	l.catchUp()
	traces := make([]explain.ItemTrace, len(l.starts))
	l.openTraces(traces)
	for i := range l.rows {
		end(&traces[l.owners[i]], &l.rows[i], explain.Undecided)
	}
	for i := range l.notes {
		n := &l.notes[i]
		add(&traces[n.item], n.event(l.stages[n.stage]))
	}
	for i := range l.gone {
		g := &l.gone[i]
		end(&traces[g.owner], &g.item, explain.DroppedByStep)
		add(&traces[g.owner], explain.Event{
			Origin: l.stages[g.stage], Actions: explain.Dropped, Place: &explain.Change[int]{From: int(g.place)},
		})
	}
	l.traceFill(traces)
	return traces
}

// openTraces adds the first event of each item to its trace.
func (l *Recorder) openTraces(traces []explain.ItemTrace) {
	counts := make([]int32, len(traces))
	total := 2 * len(traces) // the first event, and the end
	for i := range l.notes {
		counts[l.notes[i].item]++
	}
	events := make([]explain.Event, total+len(l.notes))
	places := make([]explain.Change[int], len(traces))
	for i := range traces {
		s := &l.starts[i]
		size := int(counts[i]) + 2
		traces[i].Events, events = events[:0:size], events[size:]
		places[i].To = int(s.place)
		e := explain.Event{Origin: l.stages[s.stage], Actions: explain.Added, Place: &places[i]}
		if s.score != 0 {
			e.Score = &explain.Change[float64]{To: s.score}
		}
		add(&traces[i], e)
	}
}

func add(t *explain.ItemTrace, e explain.Event) { t.Events = append(t.Events, e) }

// end sets the values that an item had at the end.
func end(t *explain.ItemTrace, it *core.Item, outcome explain.Outcome) {
	t.ID, t.Source, t.Priority, t.Score, t.Tokens = it.ID, it.Source, it.Priority, it.Score, it.TokenCount
	t.Excerpt, t.Outcome = explain.Excerpt(it.Content), outcome
}

// event returns the event of a change.
func (n *change) event(stage explain.Origin) explain.Event {
	a, b := &n.before, &n.after
	e := explain.Event{Origin: stage, Actions: n.actions}
	if n.actions.Has(explain.Moved) {
		e.Place = &explain.Change[int]{From: int(a.place), To: int(b.place)}
	}
	if n.actions.Has(explain.Rescored) {
		e.Score = &explain.Change[float64]{From: a.score, To: b.score}
	}
	if n.actions.Has(explain.Prioritised) {
		e.Priority = &explain.Change[int]{From: int(a.priority), To: int(b.priority)}
	}
	if n.actions.Has(explain.Recounted) {
		e.Tokens = &explain.Change[int]{From: a.tokens, To: b.tokens}
	}
	if n.actions.Has(explain.Rewritten) {
		e.Bytes = &explain.Change[int]{From: a.bytes, To: b.bytes}
	}
	if n.actions.Has(explain.Resourced) {
		e.Source = &explain.Change[core.Source]{From: core.Sources[a.source], To: core.Sources[b.source]}
	}
	return e
}

// traceFill ends the traces of the items that reached the window stage.
func (l *Recorder) traceFill(traces []explain.ItemTrace) {
	if l.fill.entries == nil {
		return
	}
	met, places := l.fill.budgets(l.rows)
	for i := range l.fill.entries {
		f := &l.fill.entries[i]
		it, trace := &l.rows[f.row], &traces[l.owners[f.row]]
		e := explain.Event{
			Origin: explain.Origin{Stage: "fill"}, Actions: explain.LeftOut, Budget: met[f.row],
			Place: &explain.Change[int]{From: int(f.row) + 1, To: places[f.row]},
		}
		trace.Outcome, trace.Tokens = explain.OutOfWindow, f.tokens
		if f.kind() == "" {
			trace.Outcome, e.Actions = explain.InWindow, explain.Admitted
			if f.bytes != len(it.Content) {
				e.Actions |= explain.Cut
				e.Bytes = &explain.Change[int]{From: len(it.Content), To: f.bytes}
			}
		}
		add(trace, e)
	}
}
