package host

import (
	"maps"
	"time"

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
// their own copies. Memories that map an image are charged only for their private copies of its
// pages if instances are reset, because resets count the copies.
func (in *instance) share(im *image) {
	if im.memory != nil {
		in.lin.Map(im.memory, in.env.resets)
	}
	for i, m := range in.members {
		if memory := im.members[i].memory; memory != nil {
			m.lin.Map(memory, in.env.resets)
		}
	}
}

// newShare makes a memory that starts from an image. A session is never reset, so its memory
// is charged in full. If the plugin has several instances, the memory is charged at once for
// as many private copies as any other memory of the image had. A plugin's only instance is
// charged for what it writes, so that it can be made as long as that fits.
func (in *instance) newShare(of *linear.Image) (m *linear.Memory, filled bool) {
	m, filled = linear.NewFrom(of, uint64(in.env.bounds.memory), in.account, in.env.resets && !in.ofSession)
	if in.env.owner.Several() {
		m.Expect()
	}
	return m, filled
}

// fromImage puts a new instance into the state of the image, without running code of the
// guest.
func (in *instance) fromImage(im *image) error {
	if err := in.grow(&im.partImage); err != nil {
		return err
	}
	if err := in.observe(); err != nil {
		return err
	}
	if err := in.fill(&im.partImage, in.env.code); err != nil {
		return err
	}
	for i, m := range in.members {
		if err := m.fill(im.members[i], in.env.links[i]); err != nil {
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
	im := in.env.image
	if im == nil || !in.env.resets || in.unusable || in.worn() || !in.wasi.Kept() {
		return false
	}
	shrinks := in.env.features.On(wazerox.Shrinking)
	if !in.restore(&im.partImage, shrinks) {
		return false
	}
	for i, m := range in.members {
		if !m.restore(im.members[i], shrinks) {
			return false
		}
	}
	in.become(im)
	took := time.Since(began)
	in.state.tally.resets++
	if took > quickReset {
		in.env.account.Charge(took)
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
	im := in.env.image
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
