package providers

import (
	"context"
	"iter"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// size is a number of messages and their tokens.
type size struct{ tokens, messages int }

func (s size) plus(o size) size { return size{s.tokens + o.tokens, s.messages + o.messages} }

func (s size) minus(o size) size { return size{s.tokens - o.tokens, s.messages - o.messages} }

// exceeds reports whether s is above a bound. 0 in the bound means no bound.
func (s size) exceeds(bound size) bool {
	return bound.tokens > 0 && s.tokens > bound.tokens || bound.messages > 0 && s.messages > bound.messages
}

// view chooses messages of a list.
type view struct {
	msgs       []pipeline.Message
	counts     []int // nil when tokens do not matter
	units      []int // see agent.Units
	sizes      []size
	next       []int // the next message of the same unit, 0 if there is none
	newestUser int   // its index, -1 if there is none
	total      size
	keeps      []bool
	kept       size
	changed    bool // the messages differ from the given ones
	given      []pipeline.Message
}

func newView(ctx context.Context, c *agent.Counter, msgs []pipeline.Message, count bool) (*view, error) {
	v := &view{msgs: msgs, given: msgs, newestUser: -1, total: size{messages: len(msgs)}}
	if !count {
		return v, nil
	}
	var err error
	v.counts, err = c.Count(ctx, msgs)
	for _, n := range v.counts {
		v.total.tokens += n
	}
	return v, err
}

// measure finds the units, and stores the size of each at the index of its first message.
func (v *view) measure() {
	v.units = agent.Units(v.msgs)
	v.sizes = make([]size, len(v.msgs))
	v.keeps = make([]bool, len(v.msgs))
	v.next = make([]int, len(v.msgs))
	last := make([]int, len(v.msgs)) // of each unit
	for i, unit := range v.units {
		v.sizes[unit] = v.sizes[unit].plus(v.sizeOf(i))
		if i != unit {
			v.next[last[unit]] = i
		}
		last[unit] = i
		if v.msgs[i].Role == pipeline.RoleUser && !onlyAnswers(&v.msgs[i]) {
			v.newestUser = i
		}
	}
}

// of returns the indexes of the messages of a unit, in order.
func (v *view) of(unit int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := unit; yield(i) && v.next[i] > 0; {
			i = v.next[i]
		}
	}
}

func (v *view) sizeOf(i int) size {
	if v.counts == nil {
		return size{messages: 1}
	}
	return size{v.counts[i], 1}
}

// instructs reports whether a message holds for the whole list. A message of the system that belongs
// to the message of the user before it does not: both stay or leave together.
func instructs(m *pipeline.Message) bool { return m.Instructs() && !m.Follows() }

// pin keeps the messages that must stay even if there is no room: the system messages and
// the newest user message.
func (v *view) pin() {
	for i := range v.msgs {
		if instructs(&v.msgs[i]) || i == v.newestUser {
			v.keep(v.units[i])
		}
	}
}

// unpinSummary drops the summary of the compaction provider if the pinned messages exceed
// the room only because of it. Every other pinned message matters more.
func (v *view) unpinSummary(room size) {
	if at := findSummary(v.msgs); at >= 0 && v.kept.exceeds(room) {
		unit := v.units[at]
		if without := v.kept.minus(v.sizes[unit]); without.messages > 0 && !without.exceeds(room) {
			v.drop(unit)
		}
	}
}

func (v *view) keep(unit int) {
	if !v.keeps[unit] {
		v.keeps[unit] = true
		v.kept = v.kept.plus(v.sizes[unit])
	}
}

func (v *view) drop(unit int) {
	if v.keeps[unit] {
		v.keeps[unit] = false
		v.kept = v.kept.minus(v.sizes[unit])
	}
}

// fill keeps the newest units for which there is room, without a gap. It stops at the first
// unit that does not fit, and returns it, or -1.
func (v *view) fill(room size) int {
	for i := len(v.msgs) - 1; i >= 0; i-- {
		unit := v.units[i]
		if v.keeps[unit] {
			continue
		}
		if v.kept.plus(v.sizes[unit]).exceeds(room) {
			return unit
		}
		v.keep(unit)
	}
	return -1
}

// beginWithUser drops the messages before the first kept user message, except instructions,
// the last unit of the list, and messages that must stay.
func (v *view) beginWithUser(stays func(i int) bool) {
	begins := func(i int) bool {
		m := &v.msgs[i]
		return v.keeps[v.units[i]] && m.Role == pipeline.RoleUser && len(m.Results()) == 0
	}
	first := 0
	for first < len(v.msgs) && !begins(first) {
		first++
	}
	if first == len(v.msgs) {
		return
	}
	for i, unit := range v.units[:first] {
		if v.keeps[unit] && !instructs(&v.msgs[i]) && unit != v.units[len(v.msgs)-1] && !stays(i) {
			v.drop(unit)
		}
	}
}

// list returns the messages of the kept units, in order, and their pieces. It returns nil if all
// are kept.
func (v *view) list() ([]pipeline.Message, []piece) {
	if v.kept.messages == len(v.msgs) && !v.changed {
		return nil, nil
	}
	pieces := v.pieces("")
	return made(v.given, pieces), pieces
}

// all returns all messages as pieces.
func (v *view) all() []piece {
	for _, unit := range v.units {
		v.keep(unit)
	}
	return v.pieces("")
}

// pieces returns the kept messages as pieces, and the text of a summary, if there is one, at the
// place of the first message that it replaces.
func (v *view) pieces(summary string) []piece {
	out := make([]piece, 0, v.kept.messages+1)
	for i, unit := range v.units {
		switch {
		case v.keeps[unit]:
			out = append(out, pieceOf(i, &v.given[i], &v.msgs[i]))
		case summary != "":
			out, summary = append(out, piece{at: -1, summary: summary}), ""
		}
	}
	return out
}

// onlyAnswers reports whether a message holds results of tools and no text of its sender.
func onlyAnswers(m *pipeline.Message) bool {
	return len(m.Parts) > 0 && !slices.ContainsFunc(m.Parts, func(p message.Part) bool { return p.Kind != message.ToolResult })
}
