package record

import (
	"cmp"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// fillLog records how the window was filled.
type fillLog struct {
	entries []fillEntry // first the items that the budget excluded, then the window, then the rest
	limits  Limits
}

// fillEntry is the verdict on one item.
type fillEntry struct {
	available int // free tokens when the item was rejected
	tokens    int
	bytes     int // of the text that is in the window
	row       int32
	code      uint8 // of the kind
}

// kinds are the kinds of budgets by their code in an entry. The empty kind is the code of an
// item in the window. A code instead of a string makes entries free of pointers, so that the
// garbage collector need not visit them.
var kinds = [...]explain.BudgetKind{"", explain.BudgetWindow, explain.BudgetMinimums, explain.BudgetSource, explain.BudgetWholeSource, explain.BudgetSharedPool}

func (e *fillEntry) kind() explain.BudgetKind { return kinds[e.code] }

// Limits are the sizes, in tokens, of the budgets that can exclude items.
type Limits struct {
	Window int
	// Sources are the allocations by index of the source, -1 for none.
	Sources [core.NumSources]int
	// SharedPool is the budget of all sources without an allocation.
	SharedPool int
}

// budgets returns the budget check of each row, nil for a row without a verdict, and the
// place of each row in the window, 0 if it is not in it.
func (f *fillLog) budgets(rows []core.Item) (met []*explain.BudgetCheck, places []int) {
	met, places = make([]*explain.BudgetCheck, len(rows)), make([]int, len(rows))
	used, place := 0, 0
	totals := f.sourceTotals(rows)
	for i := range f.entries {
		e := &f.entries[i]
		m := &explain.BudgetCheck{Kind: cmp.Or(e.kind(), explain.BudgetWindow), Limit: f.limit(e.kind(), rows[e.row].Source), Available: e.available, Needed: e.tokens}
		switch e.kind() {
		case "":
			place++
			places[e.row] = place
			m.Available = max(0, f.limits.Window-used)
			used = values.Add(used, e.tokens)
		case explain.BudgetWholeSource:
			m.Needed = totals[rows[e.row].Source.Index()]
			m.Lacked = max(1, m.Needed-m.Limit)
		default:
			m.Lacked = max(1, m.Needed-m.Available)
		}
		met[e.row] = m
	}
	f.displace(rows, met)
	return met, places
}

// limit returns the size of the budget of a kind.
func (f *fillLog) limit(kind explain.BudgetKind, source core.Source) int {
	switch kind {
	case explain.BudgetSharedPool:
		return f.limits.SharedPool
	case explain.BudgetSource, explain.BudgetWholeSource:
		return f.limits.Sources[source.Index()]
	}
	return f.limits.Window
}

func (f *fillLog) sourceTotals(rows []core.Item) (totals [core.NumSources]int) {
	for i := range f.entries {
		s := rows[f.entries[i].row].Source.Index()
		totals[s] = values.Add(totals[s], f.entries[i].tokens)
	}
	return totals
}

// displace names the items that used the room of each item that was left out. It goes
// through the items in the order of their priority and keeps a list of the items that used
// the window, and one for each cap.
func (f *fillLog) displace(rows []core.Item, met []*explain.BudgetCheck) {
	entries := make([]*fillEntry, len(rows))
	for i := range f.entries {
		entries[f.entries[i].row] = &f.entries[i]
	}
	order := values.Indices(len(rows))
	core.SortByPriority(rows, order)
	var window []*fillEntry
	var caps [core.NumSources][]*fillEntry
	var early []int32 // left out for items of lower rank
	for _, i := range order {
		e := entries[i]
		if e == nil {
			continue
		}
		pool := f.poolOf(rows[i].Source)
		switch e.kind() {
		case explain.BudgetWholeSource: // its own source is too large: nothing displaced it
		case explain.BudgetSource, explain.BudgetSharedPool:
			displacedBy(met[i], rows, caps[pool])
		default:
			caps[pool] = append(caps[pool], e)
			if e.kind() == "" {
				window = append(window, e)
				continue
			}
			if e.kind() == explain.BudgetMinimums {
				early = append(early, i)
				continue
			}
			if displacedBy(met[i], rows, window); met[i].DisplacedBy == nil {
				early = append(early, i)
			}
		}
	}
	for _, i := range early {
		displacedBy(met[i], rows, window)
	}
}

// poolOf returns the index of the cap of a source: its own, or that of the first source
// without an allocation.
func (f *fillLog) poolOf(source core.Source) int {
	if s := source.Index(); f.limits.Sources[s] >= 0 {
		return s
	}
	return max(0, slices.Index(f.limits.Sources[:], -1))
}

// displacedBy names the last users whose tokens together are as many as the item lacked.
func displacedBy(m *explain.BudgetCheck, rows []core.Item, users []*fillEntry) {
	if m.Needed > m.Limit {
		return
	}
	freed := 0
	for i := len(users) - 1; i >= 0 && freed < m.Lacked && len(m.DisplacedBy) < explain.MaxDisplacers; i-- {
		if users[i].tokens > 0 {
			freed = values.Add(freed, users[i].tokens)
			m.DisplacedBy = append(m.DisplacedBy, rows[users[i].row].ID)
		}
	}
}
