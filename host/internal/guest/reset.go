package guest

import (
	"time"

	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// Capture captures the instance. memory captures one linear memory.
func (in *Instance) Capture(memory func([]byte) *linear.Image) (*Image, error) {
	im := &Image{mailbox: in.Exchange.mailbox, hasBox: in.Exchange.hasBox, vars: in.Extism.vars.clone(), sources: in.WASI.Sources()}
	own, err := in.Guest.capture(memory)
	if err != nil {
		return nil, err
	}
	im.partImage = *own
	for _, m := range in.members {
		other, err := m.capture(memory)
		if err != nil {
			im.Free()
			return nil, err
		}
		im.members = append(im.members, other)
	}
	return im, nil
}

// MapImage makes the memories of the instance map the image that was taken of them, which frees
// their own copies. Memories that map an image are charged only for their private copies of its
// pages if instances are reset, because resets count the copies.
func (in *Instance) MapImage(im *Image) {
	if im.memory != nil {
		in.Guest.lin.Map(im.memory, in.Env.Resets)
	}
	for i, m := range in.members {
		if memory := im.members[i].memory; memory != nil {
			m.lin.Map(memory, in.Env.Resets)
		}
	}
}

// newShare makes a memory that starts from an image. A session is never reset, so its memory
// is charged in full. If the plugin has several instances, the memory is charged at once for
// as many private copies as any other memory of the image had. A plugin's only instance is
// charged for what it writes, so that it can be made as long as that fits.
func (in *Instance) newShare(of *linear.Image) (m *linear.Memory, filled bool) {
	m, filled = linear.NewFrom(of, uint64(in.Env.Limits.Memory), in.Memory.account, in.Env.Resets && !in.ofSession)
	if in.Env.Owner.Several() {
		m.Expect()
	}
	return m, filled
}

// fromImage puts a new instance into the state of the image, without running code of the
// guest.
func (in *Instance) fromImage(im *Image) error {
	if err := in.Guest.grow(&im.partImage); err != nil {
		return err
	}
	if err := in.observe(); err != nil {
		return err
	}
	if err := in.Guest.fill(&im.partImage, in.Env.Code); err != nil {
		return err
	}
	for i, m := range in.members {
		if err := m.fill(im.members[i], in.Env.Links[i]); err != nil {
			return err
		}
	}
	in.become(im)
	return nil
}

// Reset returns the instance to the image and reports whether it could. If not, the instance
// must be closed.
func (in *Instance) Reset() bool {
	if in.putBack() {
		return true
	}
	in.CountLost()
	return false
}

// putBack is reset without counting a failure.
func (in *Instance) putBack() bool {
	began := time.Now()
	im := in.Env.Image
	if im == nil || !in.Env.Resets || in.Life.Unusable || in.Worn() || !in.WASI.Kept() {
		return false
	}
	shrinks := in.Env.Features.On(wazerox.Shrinking)
	if !in.Guest.restore(&im.partImage, shrinks) {
		return false
	}
	for i, m := range in.members {
		if !m.restore(im.members[i], shrinks) {
			return false
		}
	}
	in.become(im)
	took := time.Since(began)
	in.Call.tally.Resets++
	if took > QuickReset {
		in.Env.Account.Charge(took)
		in.HandIn()
	}
	in.Life.ResetTook = expect(in.Life.ResetTook, took)
	return true
}

// QuickReset is the longest reset that the borrower does itself. For such a reset it would
// cost more to wake the cleaner and to load the memory into the cache of another processor.
const QuickReset = 25 * time.Microsecond

// expect estimates the next reset from the estimate before and the time of the last one. A
// single slow reset, such as one whose thread was interrupted, changes the estimate little.
func expect(before, took time.Duration) time.Duration {
	if before == 0 || took <= before {
		return took
	}
	return before + (took-before)/16
}

// QuickToReset reports whether a reset will probably take no longer than QuickReset.
func (in *Instance) QuickToReset() bool {
	im := in.Env.Image
	return im != nil && in.Life.ResetTook > 0 && in.Life.ResetTook <= QuickReset && (im.memory == nil || in.Guest.mem.Size() == uint32(im.memory.Size()))
}

// become takes everything except memories and globals from the image.
func (in *Instance) become(im *Image) {
	in.Exchange.mailbox, in.Exchange.hasBox = im.mailbox, im.hasBox
	in.Extism.vars, in.Extism.HTTP = im.vars.clone(), Response{}
	in.Extism.Kernel.Reset() // now, so that this takes no time at the start of the next call
	in.WASI.SetSources(im.sources)
}
