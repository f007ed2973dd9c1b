package pipeline

import (
	"slices"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// fillLog is how the window was filled.
type fillLog struct {
	entries   []fillEntry // first what the budget kept out, then the window, then the rest
	budget    *Budget
	maxTokens int
}

// fillEntry is the verdict on one item.
type fillEntry struct {
	available int // tokens, when it was tried in vain
	tokens    int
	bytes     int // of the text that is in the window
	row       int32
	code      uint8 // of the reason
}

// reasons are what may be the reason of an entry, empty for an item of the window. A
// number in the place of a text spares the garbage collector the entries.
var reasons = [...]OverflowReason{"", OverflowWindow, OverflowSourceCap, OverflowSourceDropped, OverflowSharedPool}

func (e *fillEntry) reason() OverflowReason { return reasons[e.code] }

// decided notes the verdict on row i. An empty reason is a place in the window.
func (b *build) decided(i int32, reason OverflowReason, available int) {
	if b.story == nil {
		return
	}
	f := &b.story.fill
	if f.entries == nil {
		f.entries = make([]fillEntry, 0, len(b.items))
		f.budget, f.maxTokens = b.p.budget, b.p.maxTokens
	}
	e := fillEntry{available: available, tokens: b.counts[i], bytes: len(b.items[i].Content), row: i}
	if reason != "" {
		e.code = uint8(slices.Index(reasons[:], reason))
	}
	f.entries = append(f.entries, e)
}

// verdicts returns how many there are.
func (b *build) verdicts() int {
	if b.story == nil {
		return 0
	}
	return len(b.story.fill.entries)
}

// forget drops the verdicts behind the first n.
func (b *build) forget(n int) {
	if b.story != nil {
		b.story.fill.entries = b.story.fill.entries[:n]
	}
}

// budgets returns the budget that each row met, nil for a row without a verdict, and
// the place in the window of each row, 0 for one that is not in it.
func (f *fillLog) budgets(rows []Item) (met []*BudgetMet, places []int) {
	met, places = make([]*BudgetMet, len(rows)), make([]int, len(rows))
	used, place := 0, 0
	totals := f.sourceTotals(rows)
	for i := range f.entries {
		e := &f.entries[i]
		m := &BudgetMet{Kind: kindOf(e.reason()), Limit: f.limit(e.reason(), rows[e.row].Source), Available: e.available, Needed: e.tokens}
		switch e.reason() {
		case "":
			place++
			places[e.row] = place
			m.Available = max(0, f.maxTokens-used)
			used = values.Add(used, e.tokens)
		case OverflowSourceDropped:
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

func kindOf(reason OverflowReason) BudgetKind {
	switch reason {
	case OverflowSourceCap:
		return BudgetSource
	case OverflowSourceDropped:
		return BudgetWholeSource
	case OverflowSharedPool:
		return BudgetSharedPool
	}
	return BudgetWindow
}

// limit returns the size of the budget that gave a reason.
func (f *fillLog) limit(reason OverflowReason, source Source) int {
	switch kindOf(reason) {
	case BudgetSharedPool:
		return f.budget.SharedPool()
	case BudgetSource, BudgetWholeSource:
		for _, a := range f.budget.Allocations {
			if a.Source == source {
				return a.MaxTokens
			}
		}
	}
	return f.maxTokens
}

func (f *fillLog) sourceTotals(rows []Item) (totals [core.NumSources]int) {
	for i := range f.entries {
		s := rows[f.entries[i].row].Source.Index()
		totals[s] = values.Add(totals[s], f.entries[i].tokens)
	}
	return totals
}

// displace names what used the room of each item that was left out. It goes through
// the items in the order of their priority and keeps, for the window and for each cap,
// the list of those that used it so far.
func (f *fillLog) displace(rows []Item, met []*BudgetMet) {
	entries := make([]*fillEntry, len(rows))
	for i := range f.entries {
		entries[f.entries[i].row] = &f.entries[i]
	}
	order := values.Indices(len(rows))
	core.SortByPriority(rows, order)
	var window []*fillEntry
	var caps [core.NumSources][]*fillEntry
	var early []int32 // left out before anything of lower rank got in
	for _, i := range order {
		e := entries[i]
		if e == nil {
			continue
		}
		pool := f.poolOf(rows[i].Source)
		switch kindOf(e.reason()) {
		case BudgetWholeSource: // its own source is too large: nothing displaced it
		case BudgetSource, BudgetSharedPool:
			met[i].displacedBy(rows, caps[pool])
		default:
			caps[pool] = append(caps[pool], e)
			if e.reason() == "" {
				window = append(window, e)
				continue
			}
			if met[i].displacedBy(rows, window); met[i].DisplacedBy == nil {
				early = append(early, i)
			}
		}
	}
	for _, i := range early {
		met[i].displacedBy(rows, window)
	}
}

// poolOf returns the place of the cap of a source: its own, or that of the first
// source without an allocation.
func (f *fillLog) poolOf(source Source) int {
	if f.budget == nil {
		return 0
	}
	shared := -1
	for s, candidate := range Sources {
		own := false
		for _, a := range f.budget.Allocations {
			own = own || a.Source == candidate
		}
		switch {
		case own && candidate == source:
			return s
		case !own && shared < 0:
			shared = s
		}
	}
	return max(shared, 0)
}

// displacedBy names the last of the users that are together as large as what lacked.
func (m *BudgetMet) displacedBy(rows []Item, users []*fillEntry) {
	if m.Needed > m.Limit {
		return
	}
	freed := 0
	for i := len(users) - 1; i >= 0 && freed < m.Lacked && len(m.DisplacedBy) < MaxDisplacers; i-- {
		if users[i].tokens > 0 {
			freed = values.Add(freed, users[i].tokens)
			m.DisplacedBy = append(m.DisplacedBy, rows[users[i].row].ID)
		}
	}
}
