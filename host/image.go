package host

import (
	"fmt"
	"maps"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/linear"
)

// image is the state of a plugin after its init: all that an instance is beside
// its code. Instances start from it without running init again, and are put back
// to it after their calls. It does not change.
type image struct {
	partImage
	// members are the images of the links.
	members []*partImage
	mailbox uint32
	hasBox  bool
	vars    vars
	fixed   fixedSources
}

// held is what the image itself takes, in bytes.
func (im *image) held() int64 {
	n := im.partImage.held()
	for _, m := range im.members {
		n += m.held()
	}
	return n
}

// free gives up what the image holds.
func (im *image) free() {
	im.partImage.free()
	for _, m := range im.members {
		m.free()
	}
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
	memory := linear.Capture
	if p.engine.portable {
		memory = linear.Copy
	}
	im, err := in.image(memory)
	if err != nil {
		return &initError{err}
	}
	if !p.host.takeMemory(im.held()) {
		defer im.free()
		return &initError{&fault{abi.ReasonMemory, as(errNoRoom, fmt.Errorf("the host has no room for the state after init, %s", abi.FormatSize(im.held()))), moreMemory}}
	}
	in.share(im)
	p.image, p.outside = im, in.outside
	p.imageHeld.Store(im.held())
	return nil
}

// image takes the image of the instance.
func (in *instance) image(memory func([]byte) *linear.Image) (*image, error) {
	im := &image{mailbox: in.mailbox, hasBox: in.hasBox, vars: in.vars.clone()}
	if in.fixed != nil {
		im.fixed = *in.fixed
	}
	own, err := in.capture(memory)
	if err != nil {
		return nil, err
	}
	im.partImage = *own
	for _, m := range in.members {
		other, err := m.capture(memory)
		if err != nil {
			im.free()
			return nil, err
		}
		im.members = append(im.members, other)
	}
	return im, nil
}

// share has the memories map the image they were taken for, which gives back what
// the instance holds of it.
func (in *instance) share(im *image) {
	if im.memory != nil {
		in.lin.Map(im.memory, in.plugin.sharesImage())
	}
	for i, m := range in.members {
		if memory := im.members[i].memory; memory != nil {
			m.lin.Map(memory, in.plugin.sharesImage())
		}
	}
}

// sharesImage reports whether what instances share of an image is not accounted for:
// where they are reset, what they have of their own is found in time.
func (p *Plugin) sharesImage() bool { return p.state == StateReset }

// newShare makes a memory for an instance that starts from an image. One of a session is
// never reset, and counts in full. All instances but the only one are expected to write
// as much as any did: that one can be had as long as there is room for what it does write.
func (in *instance) newShare(of *linear.Image) (m *linear.Memory, filled bool) {
	p := in.plugin
	m, filled = linear.NewFrom(of, uint64(p.limits.Memory), in.account, p.sharesImage() && !in.ofSession)
	if n, _ := p.pool.counts(); n > 1 {
		m.Expect()
	}
	return m, filled
}

// uncaptured says why the state of the first instance cannot be captured.
func (p *Plugin) uncaptured(in *instance) string {
	for _, l := range p.links {
		switch {
		case l.Spec.Uncaptured != "":
			return fmt.Sprintf("link %q: %s", l.Name, l.Spec.Uncaptured)
		case l.Spec.descriptors:
			return fmt.Sprintf("link %q can open files", l.Name)
		}
	}
	switch {
	case p.spec.Uncaptured != "":
		return p.spec.Uncaptured
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
	if err := in.grow(&im.partImage); err != nil {
		return err
	}
	if err := in.observe(); err != nil {
		return err
	}
	if err := in.fill(&im.partImage, p.module); err != nil {
		return err
	}
	for i, m := range in.members {
		if err := m.fill(im.members[i], p.links[i].module); err != nil {
			return err
		}
	}
	in.become(im)
	return nil
}

// reset puts the instance back to the image and reports whether it could. If
// not, the instance must be closed.
func (in *instance) reset() bool {
	if in.putBack() {
		return true
	}
	in.countLost()
	return false
}

// putBack is reset, without counting what could not be put back.
func (in *instance) putBack() bool {
	began := time.Now()
	p := in.plugin
	im := p.image
	quiet := in.quiet
	in.quiet = false
	if im == nil || p.state != StateReset || in.spoiled || in.worn() || !in.files.kept() {
		return false
	}
	if !in.restore(&im.partImage, p.engine.shrinks, quiet) {
		return false
	}
	for i, m := range in.members {
		if !m.restore(im.members[i], p.engine.shrinks, quiet) {
			return false
		}
	}
	in.become(im)
	took := time.Since(began)
	in.state.tally.resets++
	if took > quickReset {
		p.account.Charge(took)
		in.handIn()
	}
	in.resetTook = expect(in.resetTook, took)
	return true
}

// quickReset is how long a reset may take to be done by the caller: waking the
// cleaner and finding the memory in another processor's cache cost more.
const quickReset = 25 * time.Microsecond

// expect is what the next reset will probably take, after one that took so long and
// what had been expected of it. A single slow one, as when the thread was interrupted,
// says little.
func expect(before, took time.Duration) time.Duration {
	if before == 0 || took <= before {
		return took
	}
	return before + (took-before)/16
}

// quickToReset reports whether a reset will probably be quick, as the last ones
// were.
func (in *instance) quickToReset() bool {
	im := in.plugin.image
	return im != nil && in.resetTook > 0 && in.resetTook <= quickReset && (im.memory == nil || in.mem.Size() == uint32(im.memory.Size()))
}

// become takes everything but memories and globals from the image.
func (in *instance) become(im *image) {
	in.mailbox, in.hasBox = im.mailbox, im.hasBox
	in.vars, in.http = im.vars.clone(), lastHTTP{}
	in.kernel.Reset() // ahead of the next call, which then finds it empty
	if in.fixed != nil {
		*in.fixed = im.fixed
	}
}

// clone copies variables; their values are never changed in place.
func (v vars) clone() vars { return vars{maps.Clone(v.values), v.bytes} }
