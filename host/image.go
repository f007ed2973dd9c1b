package host

import (
	"fmt"
	"maps"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wasi"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// image is the state of a plugin after its init: everything of an instance except its code.
// Instances start from it without running init, and are reset to it after their calls. It does
// not change.
type image struct {
	partImage
	// members are the images of the links.
	members []*partImage
	mailbox uint32
	hasBox  bool
	vars    vars
	sources *wasi.Sources
}

// held is how much memory the image takes, in bytes.
func (im *image) held() int64 {
	n := im.partImage.held()
	for _, m := range im.members {
		n += m.held()
	}
	return n
}

// free gives up the memory of the image.
func (im *image) free() {
	im.partImage.free()
	for _, m := range im.members {
		m.free()
	}
}

// capture makes the image of the plugin from its first instance. Where the state cannot be
// captured, StateReset becomes StateFresh and a note says why.
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
	if !p.engine.Features.On(wazerox.Memories) {
		memory = linear.Copy
	}
	im, err := in.image(memory)
	if err != nil {
		return &initError{err}
	}
	if !p.host.room.Take(im.held()) {
		defer im.free()
		return &initError{&fault{abi.ReasonMemory, as(errNoRoom, fmt.Errorf("the host has no room for the state after init, %s", abi.FormatSize(im.held()))), moreMemory}}
	}
	in.share(im)
	p.image, p.outside = im, in.outside || in.wasi.ReadClock()
	p.imageHeld.Store(im.held())
	return nil
}

// image captures the instance. memory captures one linear memory.
func (in *instance) image(memory func([]byte) *linear.Image) (*image, error) {
	im := &image{mailbox: in.mailbox, hasBox: in.hasBox, vars: in.vars.clone(), sources: in.wasi.Sources()}
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

// share makes the memories of the instance map the image that was taken of them, which frees
// their own copies.
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

// sharesImage reports whether memories that map an image are charged only for their private
// copies of its pages. That needs StateReset, because resets count the copies.
func (p *Plugin) sharesImage() bool { return p.state == StateReset }

// newShare makes a memory that starts from an image. A session is never reset, so its memory
// is charged in full. If the plugin has several instances, the memory is charged at once for
// as many private copies as any other memory of the image had. A plugin's only instance is
// charged for what it writes, so that it can be made as long as that fits.
func (in *instance) newShare(of *linear.Image) (m *linear.Memory, filled bool) {
	p := in.plugin
	m, filled = linear.NewFrom(of, uint64(p.limits.Memory), in.account, p.sharesImage() && !in.ofSession)
	if n, _ := p.pool.Counts(); n > 1 {
		m.Expect()
	}
	return m, filled
}

// uncaptured says why the state of the first instance cannot be captured, "" if it can.
func (p *Plugin) uncaptured(in *instance) string {
	for _, l := range p.links {
		switch {
		case l.Spec.Uncaptured != "":
			return fmt.Sprintf("link %q: %s", l.Name, l.Spec.Uncaptured)
		case opensFiles(l.Spec):
			return fmt.Sprintf("link %q can open files", l.Name)
		}
	}
	if p.spec.Uncaptured != "" {
		return p.spec.Uncaptured
	}
	return in.wasi.Uncaptured()
}

// noteFresh notes for the operator that instances cannot be reset.
func (p *Plugin) noteFresh(why string) {
	p.notes = append(p.notes, fmt.Sprintf("cannot be reset, each call gets a new instance: %s (state: keep does without)", why))
	p.log.Info("each call gets a new instance", "cannot_be_reset", why)
}

// fromImage puts a new instance into the state of the image, without running code of the
// guest.
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

// reset returns the instance to the image and reports whether it could. If not, the instance
// must be closed.
func (in *instance) reset() bool {
	if in.putBack() {
		return true
	}
	in.countLost()
	return false
}

// putBack is reset without counting a failure.
func (in *instance) putBack() bool {
	began := time.Now()
	p := in.plugin
	im := p.image
	if im == nil || p.state != StateReset || in.spoiled || in.worn() || !in.wasi.Kept() {
		return false
	}
	if !in.restore(&im.partImage, p.engine.Features.On(wazerox.Shrinking)) {
		return false
	}
	for i, m := range in.members {
		if !m.restore(im.members[i], p.engine.Features.On(wazerox.Shrinking)) {
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

// quickReset is the longest reset that the borrower does itself. For such a reset it would
// cost more to wake the cleaner and to load the memory into the cache of another processor.
const quickReset = 25 * time.Microsecond

// expect estimates the next reset from the estimate before and the time of the last one. A
// single slow reset, such as one whose thread was interrupted, changes the estimate little.
func expect(before, took time.Duration) time.Duration {
	if before == 0 || took <= before {
		return took
	}
	return before + (took-before)/16
}

// quickToReset reports whether a reset will probably take no longer than quickReset.
func (in *instance) quickToReset() bool {
	im := in.plugin.image
	return im != nil && in.resetTook > 0 && in.resetTook <= quickReset && (im.memory == nil || in.mem.Size() == uint32(im.memory.Size()))
}

// become takes everything except memories and globals from the image.
func (in *instance) become(im *image) {
	in.mailbox, in.hasBox = im.mailbox, im.hasBox
	in.vars, in.http = im.vars.clone(), lastHTTP{}
	in.kernel.Reset() // now, so that this takes no time at the start of the next call
	in.wasi.SetSources(im.sources)
}

// clone copies the map of variables. The values are shared, because they are never changed in
// place.
func (v vars) clone() vars { return vars{maps.Clone(v.values), v.bytes} }
