package guest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/internal/units"
)

// CallDocument is EnterDocument for callers that keep the output instead of decoding it:
// the output is a copy.
func (in *Instance) CallDocument(export string, input []byte) (abi.Status, []byte, error) {
	return in.Copied(in.EnterDocument(export, input))
}

// Copied copies the output of a call out of memory that the next call uses again, and fails
// if the call is late.
func (in *Instance) Copied(status abi.Status, out []byte, err error) (abi.Status, []byte, error) {
	if err == nil {
		out = append([]byte(nil), out...)
	}
	if late := in.lateAfter(err); late != nil {
		return 0, nil, late
	}
	return status, out, err
}

// EnterDocument calls an export of the JSON lane, or of a foreign module, with a document.
// It goes through the guest's mailbox if the guest takes documents there, otherwise through
// the Extism functions. A message that the guest sets is an error whatever the status. The
// output lies in memory that the next call uses again. The caller checks whether the call
// is late after reading it.
func (in *Instance) EnterDocument(export string, input []byte) (abi.Status, []byte, error) {
	if len(input) == 0 || in.documentField(export) == nil {
		return in.EnterExtism(export, input)
	}
	in.Call.Record.Ask(input)
	if err := in.putDocument(input); err != nil {
		return 0, nil, err
	}
	status, err := in.enterExport(export)
	if err != nil {
		return 0, nil, err
	}
	out, err := in.documentOutput()
	in.Call.Record.Reply(status == abi.StatusNoChange, out)
	return status, out, err
}

// EnterExtism is EnterDocument by the Extism convention: the guest reads the document and
// sets its output through the Extism functions.
func (in *Instance) EnterExtism(export string, input []byte) (abi.Status, []byte, error) {
	if err := in.checkInput(len(input)); err != nil {
		return 0, nil, err
	}
	in.Call.Record.Ask(input)
	clear(in.documentField(export)) // an earlier call may have left its document there
	if !in.Kernel.SetInput(input) {
		return 0, nil, in.noInput(len(input))
	}
	in.Call.Received = int64(len(input))
	status, err := in.enterExport(export)
	if err != nil {
		return 0, nil, err
	}
	out, err := in.output()
	in.Call.Record.Reply(status == abi.StatusNoChange, out)
	return status, out, err
}

// enterExport calls an export without parameters, and returns its status or the error
// that the guest reported.
func (in *Instance) enterExport(export string) (abi.Status, error) {
	in.stack[0] = 0
	if err := in.enter(export); err != nil && (!in.Bare || !exitedWell(err)) {
		return 0, err
	}
	status := abi.Status(int32(uint32(in.stack[0])))
	return status, in.guestError(status)
}

// checkInput checks the size of a request against limits.input.
func (in *Instance) checkInput(n int) error {
	if limit := in.Env.Limits.Input; int64(n) > limit {
		return Faultf(abi.ReasonInputTooLarge, "input of %d bytes, allowed %d", n, limit)
	}
	return nil
}

// maxErrorText bounds the message that a guest sets with error_set, in bytes.
const maxErrorText = 4 << 10

// guestError is the error that a guest reported: a message, or a status other than done and
// no change.
func (in *Instance) guestError(status abi.Status) error {
	if msg := in.Kernel.Failure(); msg != nil {
		return Faultf(abi.ReasonGuestError, "%s", clipBytes(msg, maxErrorText))
	}
	if status != abi.StatusDone && status != abi.StatusNoChange {
		return Faultf(abi.ReasonGuestError, "status %d without a message", status)
	}
	return nil
}

// output returns a view of what the guest set as output. Few guests check whether they got
// a block before they name it as output, so a refused block is reported as lack of memory.
func (in *Instance) output() ([]byte, error) {
	off, n, b := in.Kernel.Output()
	switch {
	case b == nil && off == 0 && in.Kernel.Refused():
		return nil, Faultf(abi.ReasonMemory, "needs more than %s", units.FormatSize(in.Env.Limits.Memory))
	case b == nil:
		return nil, Faultf(abi.ReasonInvalidOutput, "output at %d, length %d is outside the memory of %d bytes", off, n, in.Kernel.Size())
	case n > uint64(in.Env.Limits.Output):
		return nil, Faultf(abi.ReasonOutputTooLarge, "output of %d bytes, allowed %d", n, in.Env.Limits.Output)
	}
	in.Call.Returned = int64(n)
	return b, nil
}

// DocumentChanges calls an operation that answers with changes in the JSON lane, and decodes
// the changes within bounds. nil means no change.
func (in *Instance) DocumentChanges(op abi.Operation, rows abi.Rows, reads abi.ColumnSet, env *abi.Envelope, within abi.Bounds) (*abi.Changes, error) {
	doc, err := abi.AppendItemsRequest(in.document[:0], rows, reads, env)
	if err != nil {
		return nil, &Fault{Reason: abi.ReasonInputTooLarge, Err: err}
	}
	in.document = keepSmall(doc)
	var c *abi.Changes
	_, err = in.Answered(op.JSONExport(), doc, func(out []byte) error {
		c = new(abi.Changes)
		return c.DecodeJSONWithin(out, within)
	})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Answered calls an export with a document and passes the output to decode, if decode is
// not nil. It reports whether the guest gave an answer that was decoded.
func (in *Instance) Answered(export string, doc []byte, decode func(out []byte) error) (bool, error) {
	status, out, err := in.EnterDocument(export, doc)
	switch {
	case err != nil || status == abi.StatusNoChange || decode == nil:
	case len(out) == 0:
		err = errNoOutput()
	default:
		err = Undecoded(decode(out))
	}
	if late := in.lateAfter(err); late != nil {
		return false, late
	}
	return err == nil && status != abi.StatusNoChange && decode != nil, err
}

// Undecoded is the fault of an answer that could not be decoded.
func Undecoded(err error) error {
	var f *Fault
	switch {
	case err == nil, errors.As(err, &f):
		return err
	case errors.Is(err, abi.ErrNotGranted):
		return &Fault{Reason: abi.ReasonDenied, Err: err}
	case errors.Is(err, abi.ErrTooLarge):
		return &Fault{Reason: abi.ReasonOutputTooLarge, Err: err}
	}
	return &Fault{Reason: abi.ReasonInvalidOutput, Err: err}
}

// costDecoded is the least fuel that each step of decoding costs. The decoder calls Take
// for each 64 KiB that it allocates and for each 16,384 elements that it reads.
const costDecoded = 16 << 10

// Take implements abi.Meter. What is decoded of an answer counts as memory of the plugin
// and of the host, and decoding takes the call's time and fuel. Between two steps other
// calls may take the processor.
func (in *Instance) Take(n int64) error {
	in.Call.hosted += max(n, costDecoded)
	if late := in.Late(); late != nil {
		return late
	}
	if late := in.Call.yield(); late != nil {
		return late
	}
	if n == 0 {
		return nil
	}
	if !in.room.change(n) {
		return Faultf(abi.ReasonMemory, "needs more than %s together with what its answer takes in the host", units.FormatSize(in.Env.Limits.Memory))
	}
	if !in.account(n) {
		in.room.change(-n)
		what, remedy := in.noRoom()
		return &Fault{Reason: abi.ReasonMemory, Remedy: remedy, Err: fmt.Errorf("%s for an answer that takes %s more", what, units.FormatSize(n))}
	}
	in.decoded += n
	return nil
}

func errNoOutput() *Fault {
	return Faultf(abi.ReasonInvalidOutput, "status 0 without an output (set an output, or return status 1 for no change)")
}

// keepSmall returns a buffer to be used by the next call, nil if it has grown too large to
// be kept.
func keepSmall(b []byte) []byte {
	const most = 4 << 20
	if cap(b) > most {
		return nil
	}
	return b[:0]
}

// BatchChanges is DocumentChanges in the batch lane.
func (in *Instance) BatchChanges(op abi.Operation, rows abi.Rows, reads abi.ColumnSet, env *abi.Envelope, within abi.Bounds) (*abi.Changes, error) {
	size, err := in.batch.Plan(rows, reads, env)
	if err != nil {
		return nil, &Fault{Reason: abi.ReasonInputTooLarge, Err: err}
	}
	addr, dst, err := in.lend(size)
	if err != nil {
		return nil, err
	}
	if err := in.batch.Write(dst); err != nil {
		return nil, &Fault{Reason: abi.ReasonInputTooLarge, Err: err}
	}
	in.Call.Received, in.Call.Batch = int64(size), true
	if err := in.enter(op.BatchExport(), uint64(addr), uint64(size)); err != nil {
		return nil, err
	}
	var c *abi.Changes
	status := abi.Status(int32(uint32(in.stack[0])))
	if err = in.guestError(status); err == nil && status != abi.StatusNoChange {
		c, err = in.readChanges(within)
	}
	if late := in.lateAfter(err); late != nil {
		return nil, late
	}
	return c, err
}

// ExchangeBatch is BatchChanges for a batch that is already encoded. It does not decode the
// answer.
func (in *Instance) ExchangeBatch(op abi.Operation, batch []byte) (abi.Status, []byte, error) {
	addr, dst, err := in.lend(len(batch))
	if err != nil {
		return 0, nil, err
	}
	copy(dst, batch)
	in.Call.Received, in.Call.Batch = int64(len(batch)), true
	if err := in.run(op.BatchExport(), uint64(addr), uint64(len(batch))); err != nil {
		return 0, nil, err
	}
	status := abi.Status(int32(uint32(in.stack[0])))
	if err := in.guestError(status); err != nil || status == abi.StatusNoChange {
		return status, nil, err
	}
	b, err := in.boxOutput()
	return status, append([]byte(nil), b...), err
}

// readChanges decodes the change set that the mailbox points to.
func (in *Instance) readChanges(within abi.Bounds) (*abi.Changes, error) {
	b, err := in.boxOutput()
	if err != nil {
		return nil, err
	}
	if len(b) == 0 {
		return nil, errNoOutput()
	}
	c := changeSets.Get().(*abi.Changes)
	if err := c.DecodeWithin(b, within); err != nil {
		return nil, Undecoded(err)
	}
	return c, nil
}

// changeSets are change sets whose lists of rows can be used again.
var changeSets = sync.Pool{New: func() any { return new(abi.Changes) }}

// Recycle makes the lists of c available to later calls. Nothing may refer to them, or to
// c.
func Recycle(c *abi.Changes) {
	const most = 1 << 16
	if c == nil || cap(c.Keep) > most || cap(c.Order) > most {
		return
	}
	*c = abi.Changes{Keep: c.Keep[:0], Order: c.Order[:0]}
	changeSets.Put(c)
}
