package host

import (
	"fmt"

	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// The calls of a guest have a stack that lies outside of its memory. Where it can be
// done, an instance has one of a fixed size for all its calls, which come one after the
// other. Elsewhere each handle of an export has a stack of its own, which grows; see
// grownstacks.go. What memory a stack has taken is kept for the next call, on the account
// of the host's memory.

// openStack makes the stack of the instance. Without one, stacks are wazero's.
func (in *instance) openStack() {
	in.stackLeast = in.plugin.interpretedStack()
	if !in.plugin.engine.features.On(wazerox.Stacks) {
		return
	}
	if s, err := wazerox.NewStack(); err == nil {
		in.callStack = s
	}
}

// handle makes a handle of an export, nil if there is none.
func (in *instance) handle(mod api.Module, name string) api.Function {
	fn := mod.ExportedFunction(name)
	if fn != nil && in.callStack != nil {
		in.callStack.Lend(fn)
	}
	return fn
}

// closeStack gives the stack back, and the handles that know of it.
func (in *instance) closeStack() {
	in.funcs, in.stackLeast = nil, 0
	in.holdStack(0)
	if in.callStack != nil {
		in.callStack.Free()
	}
}

// shedStacks accounts for what calls took, and gives back what the host has no room for.
func (in *instance) shedStacks() {
	switch {
	case in.callStack == nil:
		in.shedGrown()
	case !in.holdStack(int64(in.callStack.Held())):
		in.callStack.Shed()
	}
}

// takeStack accounts for the least of the stack of a new instance, for which idle ones
// make room.
func (in *instance) takeStack() error {
	n := in.stackLeast
	if !in.account(n) {
		what, remedy := in.noRoom()
		return &fault{abi.ReasonMemory, as(errNoRoom, fmt.Errorf("%s for the stack of the interpreter, %s", what, sizeText(n))), remedy}
	}
	in.stackHeld = n
	return nil
}

// holdStack accounts for a stack of n bytes in place of the one before, and reports
// whether there was room; if not, no more than the least is held.
func (in *instance) holdStack(n int64) bool {
	n = max(n, in.stackLeast)
	if n == in.stackHeld { // as almost always
		return true
	}
	if in.charge(n - in.stackHeld) {
		in.stackHeld = n
		return true
	}
	if in.stackHeld >= in.stackLeast {
		in.charge(in.stackLeast - in.stackHeld)
		in.stackHeld = in.stackLeast
	}
	return false
}

// interpretedStack is what the calls of an instance take at most where they are
// interpreted: those of the plugin and its links have one stack. Compiled, it is 0.
func (p *Plugin) interpretedStack() (n int64) {
	if p.engine.kind != EngineInterpreter {
		return 0
	}
	n = p.spec.interpretedStack()
	for _, l := range p.links {
		n = max(n, l.Spec.interpretedStack())
	}
	return n
}
