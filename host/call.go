package host

import (
	"errors"
	"fmt"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
)

// callDocument is enterDocument with an output that is a copy, for callers that do not
// decode it.
func (in *instance) callDocument(export string, input []byte) (abi.Status, []byte, error) {
	status, out, err := in.enterDocument(export, input)
	if err == nil {
		out = append([]byte(nil), out...)
	}
	if late := in.late(); late != nil {
		return 0, nil, late
	}
	return status, out, err
}

// enterDocument calls an export by the Extism convention: the input document is
// read through the Extism functions, the output set through them. A message of
// the guest is an error whatever the status. The output lies in memory that the next
// call uses again. The caller asks whether the call is late when it has read it.
func (in *instance) enterDocument(export string, input []byte) (abi.Status, []byte, error) {
	if limit := in.plugin.limits.Input; int64(len(input)) > limit {
		return 0, nil, faultf(abi.ReasonInputTooLarge, "input of %d bytes, allowed %d", len(input), limit)
	}
	if !in.kernel.SetInput(input) {
		return 0, nil, in.noInput(len(input))
	}
	in.state.received = int64(len(input))
	in.stack[0] = 0
	if err := in.enter(export); err != nil && (!in.bare || !exitedWell(err)) {
		return 0, nil, err
	}
	status := abi.Status(int32(uint32(in.stack[0])))
	out, err := in.answer(status)
	return status, out, err
}

// answer is what the guest left: its output, or its error.
func (in *instance) answer(status abi.Status) ([]byte, error) {
	if err := in.guestError(status); err != nil {
		return nil, err
	}
	return in.output()
}

// guestError is the error a guest reported: a message it set, or a status that
// is none of the two good ones.
func (in *instance) guestError(status abi.Status) error {
	if msg := in.kernel.Failure(); msg != nil {
		return faultf(abi.ReasonGuestError, "%s", clipBytes(msg, maxErrorText))
	}
	if status != abi.StatusDone && status != abi.StatusNoChange {
		return faultf(abi.ReasonGuestError, "status %d without a message", status)
	}
	return nil
}

// output is what the guest set as output, where it lies. Few guests look whether they
// were given a block before they name it.
func (in *instance) output() ([]byte, error) {
	off, n, b := in.kernel.Output()
	switch {
	case b == nil && off == 0 && in.kernel.Refused():
		return nil, faultf(abi.ReasonMemory, "needs more than %s", abi.FormatSize(in.plugin.limits.Memory))
	case b == nil:
		return nil, faultf(abi.ReasonInvalidOutput, "output at %d, length %d lies outside the memory of %d bytes", off, n, in.kernel.Size())
	case n > uint64(in.plugin.limits.Output):
		return nil, faultf(abi.ReasonOutputTooLarge, "output of %d bytes, allowed %d", n, in.plugin.limits.Output)
	}
	in.state.returned = int64(n)
	return b, nil
}

// changesOf calls an operation that answers with changes, in the lane that
// serves, and decodes them within bounds. nil changes mean no change.
func (in *instance) changesOf(o OperationSpec, lane string, rows abi.Rows, reads abi.ColumnSet, env *abi.Envelope, within abi.Bounds) (*abi.Changes, error) {
	if lane == LaneBatch {
		return in.batchChanges(o.Operation, rows, reads, env, within)
	}
	doc, err := abi.AppendItemsRequest(in.document[:0], rows, reads, env)
	if err != nil {
		return nil, &fault{code: abi.ReasonInputTooLarge, err: err}
	}
	in.document = keepSmall(doc)
	var c *abi.Changes
	_, err = in.answered(o.Operation.JSONExport(), doc, func(out []byte) error {
		c = new(abi.Changes)
		return c.DecodeJSONWithin(out, within)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// answered calls an export with a document and has its output read by decode, if there
// is one. It reports whether the guest had an answer.
func (in *instance) answered(export string, doc []byte, decode func(out []byte) error) (bool, error) {
	status, out, err := in.enterDocument(export, doc)
	switch {
	case err != nil || status == abi.StatusNoChange || decode == nil:
	case len(out) == 0:
		err = errNoOutput()
	default:
		err = undecoded(decode(out))
	}
	if late := in.late(); late != nil {
		return false, late
	}
	return err == nil && status != abi.StatusNoChange && decode != nil, err
}

// undecoded is the fault of an answer that could not be decoded.
func undecoded(err error) error {
	var f *fault
	switch {
	case err == nil, errors.As(err, &f):
		return err
	case errors.Is(err, abi.ErrNotGranted):
		return &fault{code: abi.ReasonDenied, err: err}
	case errors.Is(err, abi.ErrTooLarge):
		return &fault{code: abi.ReasonOutputTooLarge, err: err}
	}
	return &fault{code: abi.ReasonInvalidOutput, err: err}
}

// costDecoded is the least that a part of an answer costs, in fuel: the decoder asks for
// each 64 KiB that it makes and for each 16,384 elements that it reads.
const costDecoded = 16 << 10

// Take implements abi.Meter: what is decoded of an answer is memory of the plugin and of
// the host, and takes the call's time and its fuel. Between two parts others may have the
// processor.
func (in *instance) Take(n int64) error {
	in.state.hosted += max(n, costDecoded)
	if late := in.late(); late != nil {
		return late
	}
	if late := in.state.yield(); late != nil {
		return late
	}
	if n == 0 {
		return nil
	}
	if !in.room.change(n) {
		return faultf(abi.ReasonMemory, "needs more than %s together with what its answer takes in the host", abi.FormatSize(in.plugin.limits.Memory))
	}
	if !in.account(n) {
		in.room.change(-n)
		what, remedy := in.noRoom()
		return &fault{code: abi.ReasonMemory, remedy: remedy, err: fmt.Errorf("%s for an answer that takes %s more", what, abi.FormatSize(n))}
	}
	in.decoded += n
	return nil
}

func errNoOutput() *fault {
	return faultf(abi.ReasonInvalidOutput, "status 0 without an output (set an output, or return status 1 for no change)")
}

// keepSmall keeps a buffer for the next call unless it has grown out of
// proportion.
func keepSmall(b []byte) []byte {
	const most = 4 << 20
	if cap(b) > most {
		return nil
	}
	return b[:0]
}

// batchChanges calls an operation in the batch lane.
func (in *instance) batchChanges(op abi.Operation, rows abi.Rows, reads abi.ColumnSet, env *abi.Envelope, within abi.Bounds) (*abi.Changes, error) {
	size, err := in.batch.Plan(rows, reads, env)
	if err != nil {
		return nil, &fault{code: abi.ReasonInputTooLarge, err: err}
	}
	if limit := in.plugin.limits.Input; int64(size) > limit {
		return nil, faultf(abi.ReasonInputTooLarge, "input of %d bytes, allowed %d", size, limit)
	}
	addr, err := in.reserve(size)
	if err != nil {
		return nil, err
	}
	dst, err := view(in.mem, addr, uint32(size))
	if err != nil {
		return nil, err
	}
	if err := in.batch.Write(dst); err != nil {
		return nil, &fault{code: abi.ReasonInputTooLarge, err: err}
	}
	in.state.received, in.state.batch = int64(size), true
	if err := in.enter(op.BatchExport(), uint64(addr), uint64(size)); err != nil {
		return nil, err
	}
	var c *abi.Changes
	status := abi.Status(int32(uint32(in.stack[0])))
	if err = in.guestError(status); err == nil && status != abi.StatusNoChange {
		c, err = in.readChanges(within)
	}
	if late := in.late(); late != nil {
		return nil, late
	}
	return c, err
}

// reserve returns the address of room for n bytes in the guest's memory, asking
// the guest for more when it lends less.
func (in *instance) reserve(n int) (uint32, error) {
	box, err := readMailbox(in.mem, in.mailbox)
	if err != nil {
		return 0, err
	}
	if uint64(box.InCap) >= uint64(n) && box.InAddr != 0 {
		return box.InAddr, nil
	}
	if err := in.run(abi.ReserveExport, uint64(uint32(n))); err != nil {
		return 0, err
	}
	if err := in.guestError(abi.StatusDone); err != nil {
		return 0, err
	}
	if box, err = readMailbox(in.mem, in.mailbox); err != nil {
		return 0, err
	}
	if uint64(box.InCap) < uint64(n) || box.InAddr == 0 {
		return 0, faultf(abi.ReasonInputTooLarge, "the guest lends room for %d bytes, needed are %d", box.InCap, n)
	}
	return box.InAddr, nil
}

// readChanges decodes the change set the mailbox points to.
func (in *instance) readChanges(within abi.Bounds) (*abi.Changes, error) {
	box, err := readMailbox(in.mem, in.mailbox)
	if err != nil {
		return nil, err
	}
	if int64(box.OutLen) > in.plugin.limits.Output {
		return nil, faultf(abi.ReasonOutputTooLarge, "output of %d bytes, allowed %d", box.OutLen, in.plugin.limits.Output)
	}
	if box.OutLen == 0 {
		return nil, errNoOutput()
	}
	b, err := view(in.mem, box.OutAddr, box.OutLen)
	if err != nil {
		return nil, err
	}
	in.state.returned = int64(len(b))
	c := changeSets.Get().(*abi.Changes)
	if err := c.DecodeWithin(b, within); err != nil {
		return nil, undecoded(err)
	}
	return c, nil
}

// changeSets are change sets whose lists of rows may be used again.
var changeSets = sync.Pool{New: func() any { return new(abi.Changes) }}

// recycle lets the lists of c be used again. Nothing may refer to them, nor to c.
func recycle(c *abi.Changes) {
	const most = 1 << 16
	if c == nil || cap(c.Keep) > most || cap(c.Order) > most {
		return
	}
	*c = abi.Changes{Keep: c.Keep[:0], Order: c.Order[:0]}
	changeSets.Put(c)
}
