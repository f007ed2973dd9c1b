package wasmbin

import "math"

const (
	// windowWeight is the weight after which a region with branches is cut: a charge
	// covers about this many instructions ahead of it. Larger windows cost less time, but
	// charge more for instructions that a branch skips.
	windowWeight = 96
	// landingWeight is the weight behind a landing after which a region is cut: the
	// head pays for the longest landing, though most landings of a Go function are short.
	landingWeight = 40
	// straightWeight is the weight after which code without branches is cut, and
	// after which code without loops is checked.
	straightWeight = 1024
)

// region is the code that runs at most once per charge of its head: a function body
// without its loops, or a loop's body without the loops inside it. Within it control only
// moves forward.
//
// A region is cut into windows, in the order of the code. The head pays for window 0; each
// later window pays at its own beginning, without a check. A branch can skip such a payment
// and land in the middle of a window, so a new window begins at the label of such a branch.
// The exception is a branch from window 0 (the dispatch of a switch, or of a Go function to
// its resume point): it is taken at most once per head, so the head pays for the longest
// such landing. So every executed instruction is paid for. The charge is exact in a region
// of one window without branches.
type region struct {
	at      int  // where the charge of the head stands in the output, -1 for a function
	patch   int  // where the charge of the current window stands, -1 when the head pays
	window  int  // number of the current window
	weight  int  // of the current window so far
	head    int  // weight of window 0, once it is closed
	landing int  // weight of the current window at its first landing, -1 without
	longest int  // longest landing so far
	due     bool // a new window begins at the next instruction that weighs something
	// left is set when control may leave the current window before its end. Only then
	// does cutting the window make the charge smaller.
	left bool
	// unchecked is the weight of the windows since the last check.
	unchecked int
}

func newRegion(at int) region { return region{at: at, patch: -1, landing: -1} }

// close ends the current window.
func (g *region) close() {
	if g.window == 0 {
		g.head = g.weight
	}
	if g.landing >= 0 {
		g.longest = max(g.longest, g.weight-g.landing)
	}
	g.unchecked += g.weight
}

// open begins a new window whose charge is at offset patch.
func (g *region) open(patch int) {
	*g = region{at: g.at, patch: patch, window: g.window + 1, head: g.head, landing: -1, longest: g.longest,
		unchecked: g.unchecked}
}

// charge returns the charge of the head. The last window must be closed.
func (g *region) charge() int { return g.head + g.longest }

// dispatched is called behind a br_table. In window 0, control reaches the code that
// follows only by landings, so a new window can begin without a charge.
func (g *region) dispatched() {
	if g.window == 0 {
		g.close()
		g.open(-1)
	}
}

// arrive is called where control arrives by branches. lowest is the lowest window, except
// window 0, from which one comes. zero reports whether one comes from window 0.
func (g *region) arrive(lowest int, zero bool) {
	switch {
	case lowest < g.window:
		g.due = true
	case zero && g.window > 0 && !g.due && g.landing < 0:
		g.landing = g.weight
	}
}

// frame is an open block.
type frame struct {
	op     byte // block, loop, if, else; 0 for the function
	region int  // index of the region of the code in it
	site   int  // for an if, the window in which it is
	// lowest is the lowest window, except window 0, from which a branch leads to the end.
	// zero reports whether one leads there from window 0.
	lowest int
	zero   bool
	// added is the number of added blocks outside of the label.
	added int
	// outside reports that a loop calls the host from outside of itself.
	outside bool
}

const noWindow = math.MaxInt

// from notes a branch from a window to the end of the frame.
func (f *frame) from(window int) {
	if window == 0 {
		f.zero = true
	} else {
		f.lowest = min(f.lowest, window)
	}
}

// otherwise is called at the else of an if. The first arm ends with a branch to the end of
// the frame, and control arrives at the second arm from the if.
func (f *frame) otherwise(g *region) {
	f.from(g.window)
	if f.site == 0 {
		g.arrive(noWindow, true)
	} else {
		g.arrive(f.site, false)
	}
	f.op = opElse
}
