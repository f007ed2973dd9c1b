package host

import (
	"fmt"
	"maps"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/linear"
)

// image is the state of a plugin after its init: all that an instance is beside
// its code. Instances start from it without running init again, and are put back
// to it after their calls. It does not change.
type image struct {
	memory  *linear.Image
	globals []uint64
	mailbox uint32
	hasBox  bool
	vars    vars
	fixed   fixedSources
}

// capture makes the image of the plugin from its first instance. Where the state
// cannot be captured it says so in the notes, and instances are made afresh.
func (p *Plugin) capture(in *instance) error {
	if p.state == StateFresh || p.spec.Foreign && p.state == StateKeep {
		return nil
	}
	if why := p.uncaptured(in); why != "" {
		if p.state == StateReset {
			p.state = StateFresh
			p.noteFresh(why)
		}
		return nil
	}
	im := &image{mailbox: in.mailbox, hasBox: in.hasBox, vars: in.vars.clone()}
	if p.engine.portable {
		im.memory = linear.Copy(in.wholeMemory())
	} else {
		im.memory = linear.Capture(in.wholeMemory())
	}
	if !p.host.memory.take(im.memory.Held()) {
		defer im.memory.Free()
		return &initError{faultf(abi.ReasonMemory, "no room for the state after init, %s", abi.FormatSize(im.memory.Held()))}
	}
	for _, g := range in.globals {
		im.globals = append(im.globals, g.Get())
	}
	if in.fixed != nil {
		im.fixed = *in.fixed
	}
	in.lin.Map(im.memory) // which gives back what this instance holds of it
	p.image, p.outside = im, in.outside
	return nil
}

// uncaptured says why the state of the first instance cannot be captured.
func (p *Plugin) uncaptured(in *instance) string {
	switch {
	case p.spec.Uncaptured != "":
		return p.spec.Uncaptured
	case len(in.members) > 0:
		return "it is linked to other modules"
	case in.blind != nil:
		return in.blind.Error()
	case !in.files.same():
		return "its init leaves files open"
	}
	return ""
}

// noteFresh tells the operator that instances cannot be reset.
func (p *Plugin) noteFresh(why string) {
	p.notes = append(p.notes, fmt.Sprintf("cannot be reset, each call gets a new instance: %s (state: keep does without)", why))
	p.log.Info("each call gets a new instance", "cannot_be_reset", why)
}

// fromImage makes a new instance one in the state of the image. No code of the
// guest runs.
func (p *Plugin) fromImage(in *instance) error {
	im := p.image
	size := uint32(im.memory.Size())
	if more := size - in.mem.Size(); more > 0 {
		if _, ok := in.mem.Grow(more / wasmPage); !ok {
			return faultf(abi.ReasonMemory, "no room for the state after init, %s", abi.FormatSize(int64(size)))
		}
		if err := in.observe(); err != nil {
			return err
		}
	}
	switch {
	case p.module.open.Data == nil: // the engine has written data over the image
		im.memory.Restore(in.wholeMemory())
	case !in.filled:
		im.memory.Fill(in.wholeMemory())
	}
	in.become(im)
	return nil
}

// reset puts the instance back to the image and reports whether it could. If
// not, the instance must be closed.
func (in *instance) reset() bool {
	began := time.Now()
	p := in.plugin
	im := p.image
	if im == nil || p.state != StateReset || in.spoiled || in.worn() || !in.files.same() {
		return false
	}
	size := uint32(im.memory.Size())
	if in.mem.Size() != size && !p.engine.shrinks {
		return false
	}
	in.lin.Restore(im.memory, in.wholeMemory())
	if !linear.Shrink(in.mem, size) && in.mem.Size() != size {
		return false
	}
	in.become(im)
	in.resetTook = time.Since(began)
	return true
}

// quickReset is how long a reset may take to be done by the caller: waking the
// cleaner and finding the memory in another processor's cache cost more.
const quickReset = 25 * time.Microsecond

// quickToReset reports whether a reset will probably be quick, as the last one
// was.
func (in *instance) quickToReset() bool {
	im := in.plugin.image
	return im != nil && in.resetTook > 0 && in.resetTook <= quickReset && in.mem.Size() == uint32(im.memory.Size())
}

// become takes everything but the memory from the image.
func (in *instance) become(im *image) {
	for i, g := range in.globals {
		g.Set(im.globals[i])
	}
	in.mailbox, in.hasBox = im.mailbox, im.hasBox
	in.vars, in.http = im.vars.clone(), lastHTTP{}
	in.kernel.Reset() // ahead of the next call, which then finds it empty
	if in.fixed != nil {
		*in.fixed = im.fixed
	}
}

// wholeMemory is a view of the whole linear memory.
func (in *instance) wholeMemory() []byte {
	b, _ := in.mem.Read(0, in.mem.Size())
	return b
}

// clone copies variables; their values are never changed in place.
func (v vars) clone() vars { return vars{maps.Clone(v.values), v.bytes} }

// openGlobals finds the mutable globals of the instance.
func (in *instance) openGlobals() error {
	for _, name := range in.plugin.module.open.Globals {
		g, ok := in.mod.ExportedGlobal(name).(api.MutableGlobal)
		if !ok {
			return fmt.Errorf("the module lost its global %q", name)
		}
		in.globals = append(in.globals, g)
	}
	return nil
}
