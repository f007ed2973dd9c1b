package providers

import (
	"context"
	"slices"
	"sort"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

const (
	// largeShare is the part of the budget above which the results of a call are large: they
	// are cut before any message is left out.
	largeShare = 2
	// growingShare is the part of the budget, in sixteenths, that is left of a list that goes on
	// growing. A larger part leaves less room unused, and ends the cache of a prompt more often.
	growingShare = 9
)

// growing returns the size to which a list that goes on growing is brought.
func (s size) growing() size {
	return size{max(min(1, s.tokens), s.tokens*growingShare/16), max(min(1, s.messages), s.messages*growingShare/16)}
}

// edges finds the oldest unit of a list that stays.
type edges struct {
	v     *view
	order []int  // the units but instructions, oldest first
	sums  []size // of the units before each, and of all
	must  []bool // units that stay wherever the edge is
	asks  []int  // the place of the newest message of the user up to each unit, or -1
	fixed size   // of the instructions
}

// newEdges looks at a view. Units that it keeps already are no part of the list, nor is the unit
// at without, which may be -1.
func newEdges(v *view, must []int, without int) *edges {
	e := &edges{v: v, fixed: v.kept, sums: []size{{}}}
	asked := -1
	for i, unit := range v.units {
		if unit != i || v.keeps[unit] || unit == without {
			continue
		}
		if v.msgs[i].Role == pipeline.RoleUser && len(v.msgs[i].Results()) == 0 {
			asked = len(e.order)
		}
		e.order, e.asks = append(e.order, unit), append(e.asks, asked)
		e.sums = append(e.sums, e.sums[len(e.sums)-1].plus(v.sizes[unit]))
		stays := false
		for _, u := range must {
			stays = stays || u == unit
		}
		e.must = append(e.must, stays)
	}
	return e
}

// asker returns the place of the message of the user that the first unit after an edge belongs
// to, -1 if there is none before the edge.
func (e *edges) asker(edge int) int {
	if edge == len(e.order) || e.asks[edge] == edge {
		return -1
	}
	return e.asks[edge]
}

// kept returns the size of what stays with an edge.
func (e *edges) kept(edge int) size {
	last := len(e.order)
	s := e.fixed.plus(e.sums[last].minus(e.sums[edge]))
	asker := e.asker(edge)
	for k := range edge {
		if e.must[k] || k == asker {
			s = s.plus(e.v.sizes[e.order[k]])
		}
	}
	return s
}

// find returns the first edge with which everything fits into a room.
func (e *edges) find(room size) int {
	all := e.sums[len(e.order)]
	edge := sort.Search(len(e.order), func(k int) bool { return !e.fixed.plus(all.minus(e.sums[k])).exceeds(room) })
	for edge < len(e.order) && e.kept(edge).exceeds(room) { // with the units before it that must stay
		edge++
	}
	return edge
}

// widen moves an edge by one unit if its results, when they are cut, fit into what is left of the room.
func (e *edges) widen(ctx context.Context, cut *cutter, c *agent.Counter, edge int, room size) (int, error) {
	if edge == 0 || room.tokens == 0 || e.must[edge-1] {
		return edge, nil
	}
	unit := e.order[edge-1]
	others := e.kept(edge - 1).minus(e.v.sizes[unit])
	limit := room.tokens - others.tokens
	if limit < widenLeast || (size{messages: others.messages + e.v.sizes[unit].messages}).exceeds(size{messages: room.messages}) || !e.v.holdsResults(unit) {
		return edge, nil
	}
	fits, err := e.v.tryCut(ctx, cut, c, unit, limit)
	if fits {
		edge--
	}
	return edge, err
}

// widenLeast is the room from which a call is worth showing with results that are cut.
const widenLeast = 4 * leastResult

// settle finds the edge that compaction has reached: it goes through the list, and each time
// that what is left exceeds high, moves the edge until it is at most low. So it comes to the same
// edge in each turn until the list has grown from low to high again. summary is the size of the
// summary so far, which does not count in low.
func (e *edges) settle(high, low, summary size) (edge int) {
	for k := range e.order {
		left := e.left(edge, k)
		if !left.plus(summary).exceeds(high) {
			continue
		}
		for ; edge < k && left.exceeds(low); edge++ {
			left = e.left(edge+1, k)
		}
	}
	return edge
}

// left returns the size of what an edge leaves of the list up to the unit k.
func (e *edges) left(edge, k int) size {
	left := e.fixed.plus(e.sums[k+1].minus(e.sums[edge]))
	if asker := e.asker(edge); asker >= 0 {
		left = left.plus(e.v.sizes[e.order[asker]])
	}
	return left
}

// keepFrom keeps the units from an edge on, those that must stay, and the message of the user that
// the first of them belongs to.
func (e *edges) keepFrom(edge int) {
	asker := e.asker(edge)
	for k, unit := range e.order {
		if k >= edge || e.must[k] || k == asker {
			e.v.keep(unit)
		}
	}
}

// truncate keeps what fits into a target. What must stay may take the room.
func (v *view) truncate(ctx context.Context, cut *cutter, c *agent.Counter, target, room size) error {
	v.measure()
	if err := v.cutLarge(ctx, cut, c, target); err != nil {
		return err
	}
	v.pinInstructions()
	must := v.mustStay()
	if err := v.cutToFit(ctx, cut, c, must, room); err != nil {
		return err
	}
	e := newEdges(v, must, -1)
	edge, err := e.widen(ctx, cut, c, e.find(target), target)
	if err != nil {
		return err
	}
	e.keepFrom(edge)
	v.unpinSummary(room)
	if v.kept.messages == 0 {
		v.keep(v.units[len(v.msgs)-1])
	}
	return nil
}

// pinInstructions keeps the instructions, and the items in which an API keeps the history.
func (v *view) pinInstructions() {
	for i := range v.msgs {
		if instructs(&v.msgs[i]) || v.msgs[i].Compacts() {
			v.keep(v.units[i])
		}
	}
}

// mustStay returns the units that stay besides the instructions, whatever their sizes: the
// newest message of the user, and a tool call with its results, or a request with its approval, at
// the end of the list. Otherwise a model would never see the results, and repeat the call for ever.
func (v *view) mustStay() (units []int) {
	last := v.units[len(v.msgs)-1]
	if v.holdsResults(last) || v.msgs[len(v.msgs)-1].Role == pipeline.RoleTool {
		units = append(units, last)
	}
	if user := v.newestUser; user >= 0 && v.units[user] != last {
		units = append(units, v.units[user])
	} else if user >= 0 && len(units) == 0 {
		units = []int{last}
	}
	return v.withAsker(units)
}

// withAsker adds the message of the user that the first of some units belongs to. It is another
// unit where the newest words of the user stand beside results: that unit begins with the call,
// and an API refuses a list that begins with the assistant.
func (v *view) withAsker(units []int) []int {
	if len(units) == 0 || v.msgs[slices.Min(units)].Role != pipeline.RoleAssistant {
		return units
	}
	for i := slices.Min(units) - 1; i >= 0; i-- {
		if m := &v.msgs[i]; m.Role == pipeline.RoleUser && len(m.Results()) == 0 {
			return append(units, v.units[i])
		}
	}
	return units
}

// cutLarge cuts the results in each unit that takes more than its share of the room. If all
// messages then fit, the results get what is left.
func (v *view) cutLarge(ctx context.Context, cut *cutter, c *agent.Counter, room size) error {
	if room.tokens == 0 {
		return nil
	}
	limit := max(1, room.tokens/largeShare)
	var large, sizes []int
	left := room.tokens
	for unit := range v.units {
		n := v.sizes[unit].tokens
		if n > limit && v.holdsResults(unit) {
			large, sizes = append(large, unit), append(sizes, n)
		} else {
			left -= n
		}
	}
	if len(large) == 0 {
		return nil
	}
	limit = max(limit, waterLevel(sizes, left))
	for _, unit := range large {
		if v.sizes[unit].tokens <= limit {
			continue
		}
		if err := v.cutUnit(ctx, cut, c, unit, limit); err != nil {
			return err
		}
	}
	return nil
}

// cutToFit cuts the results in the units that must stay further, if these would not fit. If the
// summary leaves hardly any room for them, it goes first.
func (v *view) cutToFit(ctx context.Context, cut *cutter, c *agent.Counter, must []int, room size) error {
	for _, unit := range must {
		over := func() int {
			kept := v.kept
			for _, u := range must {
				kept = kept.plus(v.sizes[u])
			}
			if !kept.exceeds(size{tokens: room.tokens}) {
				return 0
			}
			return kept.tokens - room.tokens
		}
		if over() == 0 || !v.holdsResults(unit) {
			continue
		}
		if at := findSummary(v.msgs); at >= 0 && v.sizes[unit].tokens-over() < leastResult {
			v.drop(v.units[at])
		}
		if over() == 0 {
			continue
		}
		if err := v.cutUnit(ctx, cut, c, unit, max(0, v.sizes[unit].tokens-over())); err != nil {
			return err
		}
	}
	return nil
}
