package guest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/internal/units"
)

// CallDocument is [Instance.Document] for callers that keep the output instead of decoding it.
func (in *Instance) CallDocument(export string, doc []byte, extism bool) (status abi.Status, out []byte, err error) {
	err = in.Document(export, doc, extism, func(s abi.Status, b []byte) error {
		status, out = s, append([]byte(nil), b...)
		return nil
	})
	return status, out, err
}

// Document calls an export of the JSON lane, or of a foreign module, with a document, and hands
// its answer to read. The document goes through the guest's mailbox if the guest takes it there;
// otherwise, or if the caller wants that, through the Extism functions. A message that the guest
// sets is an error whatever the status. The next call overwrites the output that read gets.
func (in *Instance) Document(export string, doc []byte, extism bool, read func(abi.Status, []byte) error) error {
	boxed := !extism && len(doc) > 0 && in.documentField(export) != nil
	err := in.put(export, doc, boxed)
	if err == nil {
		in.Exchange.args[0] = 0
		err = in.enter(export)
		if err == nil || in.Bare && exitedWell(err) {
			err = in.answered(boxed, read)
		}
	}
	if late := in.lateAfter(err); late != nil {
		return late
	}
	return err
}

// put gives the guest a document.
func (in *Instance) put(export string, doc []byte, boxed bool) error {
	if boxed {
		in.Call.Record.Ask(doc)
		return in.putDocument(doc)
	}
	if err := in.checkInput(len(doc)); err != nil {
		return err
	}
	in.Call.Record.Ask(doc)
	clear(in.documentField(export)) // an earlier call may have left its document there
	if !in.Extism.Kernel.SetInput(doc) {
		return in.Memory.noInput(len(doc))
	}
	in.Call.Received = int64(len(doc))
	return nil
}

// answered hands the answer of an export to read, unless the guest reported an error.
func (in *Instance) answered(boxed bool, read func(abi.Status, []byte) error) error {
	status := in.Exchange.status()
	if err := in.Extism.guestError(status); err != nil {
		return err
	}
	out, err := in.documentOutput(boxed)
	in.Call.Record.Reply(status == abi.StatusNoChange, out)
	if err != nil {
		return err
	}
	if err = read(status, out); err != nil {
		return undecoded(err)
	}
	return nil
}

// status is what the export that was called returned.
func (x *exchange) status() abi.Status { return abi.Status(int32(uint32(x.args[0]))) }

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
func (x *extism) guestError(status abi.Status) error {
	if msg := x.Kernel.Failure(); msg != nil {
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
	off, n, b := in.Extism.Kernel.Output()
	switch {
	case b == nil && off == 0 && in.Extism.Kernel.Refused():
		return nil, Faultf(abi.ReasonMemory, "needs more than %s", units.FormatSize(in.Env.Limits.Memory))
	case b == nil:
		return nil, Faultf(abi.ReasonInvalidOutput, "output at %d, length %d is outside the memory of %d bytes", off, n, in.Extism.Kernel.Size())
	case n > uint64(in.Env.Limits.Output):
		return nil, Faultf(abi.ReasonOutputTooLarge, "output of %d bytes, allowed %d", n, in.Env.Limits.Output)
	}
	in.Call.Returned = int64(n)
	return b, nil
}

// ItemsRequest makes the document of a request about rows. The next request overwrites it.
func (x *exchange) ItemsRequest(rows abi.Rows, reads abi.ColumnSet, env *abi.Envelope) ([]byte, error) {
	doc, err := abi.AppendItemsRequest(x.document[:0], rows, reads, env)
	if err != nil {
		return nil, &Fault{Reason: abi.ReasonInputTooLarge, Err: err}
	}
	x.document = keepSmall(doc)
	return doc, nil
}

// undecoded is the fault of an answer that could not be decoded.
func undecoded(err error) error {
	var f *Fault
	switch {
	case errors.As(err, &f):
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
	if !in.Memory.room.change(n) {
		return Faultf(abi.ReasonMemory, "needs more than %s together with what its answer takes in the host", units.FormatSize(in.Env.Limits.Memory))
	}
	if !in.Memory.account(n) {
		in.Memory.room.change(-n)
		what, remedy := in.Memory.noRoom()
		return &Fault{Reason: abi.ReasonMemory, Remedy: remedy, Err: fmt.Errorf("%s for an answer that takes %s more", what, units.FormatSize(n))}
	}
	in.Exchange.decoded += n
	return nil
}

// NoOutput is the fault of an answer that is empty.
func NoOutput() *Fault {
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

// BatchChanges calls an operation that answers with changes in the batch lane, and decodes the
// changes within bounds. nil means no change.
func (in *Instance) BatchChanges(op abi.Operation, rows abi.Rows, reads abi.ColumnSet, env *abi.Envelope, within abi.Bounds) (*abi.Changes, error) {
	size, err := in.Exchange.batch.Plan(rows, reads, env)
	if err != nil {
		return nil, &Fault{Reason: abi.ReasonInputTooLarge, Err: err}
	}
	addr, dst, err := in.lend(size)
	if err != nil {
		return nil, err
	}
	if err := in.Exchange.batch.Write(dst); err != nil {
		return nil, &Fault{Reason: abi.ReasonInputTooLarge, Err: err}
	}
	in.Call.Received, in.Call.Batch = int64(size), true
	if err := in.enter(op.BatchExport(), uint64(addr), uint64(size)); err != nil {
		return nil, err
	}
	var c *abi.Changes
	status := in.Exchange.status()
	if err = in.Extism.guestError(status); err == nil && status != abi.StatusNoChange {
		c, err = in.readChanges(within)
	}
	if late := in.lateAfter(err); late != nil {
		return nil, late
	}
	return c, err
}

// NoteRequest notes the document of a batch whose call has failed, for those who collect failures.
func (in *Instance) NoteRequest(rows abi.Rows, reads abi.ColumnSet, env *abi.Envelope) {
	if r := in.Call.Record; r.Wants(in.Call.Received) {
		if doc, err := in.Exchange.ItemsRequest(rows, reads, env); err == nil {
			r.Ask(doc)
		}
	}
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
	status := in.Exchange.status()
	if err := in.Extism.guestError(status); err != nil || status == abi.StatusNoChange {
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
		return nil, NoOutput()
	}
	c := changeSets.Get().(*abi.Changes)
	if err := c.DecodeWithin(b, within); err != nil {
		return nil, undecoded(err)
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
