package guest

import (
	"encoding/binary"

	"github.com/anchor-host/anchor-host/abi"
)

// The host and a guest exchange data in the guest's memory: the requests and answers of the
// batch lane, and the JSON documents of guests that take them there. The mailbox says where.

// lend returns room for a request of n bytes in the guest's memory: its address and a view of
// it. It may run the guest.
func (in *Instance) lend(n int) (uint32, []byte, error) {
	if err := in.checkInput(n); err != nil {
		return 0, nil, err
	}
	addr, err := in.reserve(n)
	if err != nil {
		return 0, nil, err
	}
	dst, err := view(in.Guest.mem, addr, uint32(n))
	return addr, dst, err
}

// reserve returns the address of n bytes in the guest's memory. If the guest's buffer is
// smaller, it asks the guest for a larger one.
func (in *Instance) reserve(n int) (uint32, error) {
	box, err := readMailbox(in.Guest.mem, in.Exchange.mailbox)
	if err != nil {
		return 0, err
	}
	if uint64(box.InCap) >= uint64(n) && box.InAddr != 0 {
		return box.InAddr, nil
	}
	if err := in.run(abi.ReserveExport, uint64(uint32(n))); err != nil {
		return 0, err
	}
	if err := in.Extism.guestError(abi.StatusDone); err != nil {
		return 0, err
	}
	if box, err = readMailbox(in.Guest.mem, in.Exchange.mailbox); err != nil {
		return 0, err
	}
	if uint64(box.InCap) < uint64(n) || box.InAddr == 0 {
		return 0, Faultf(abi.ReasonInputTooLarge, "the guest lends room for %d bytes, needed are %d", box.InCap, n)
	}
	return box.InAddr, nil
}

// boxOutput is a view of the output whose place the mailbox states.
func (in *Instance) boxOutput() ([]byte, error) {
	box, err := readMailbox(in.Guest.mem, in.Exchange.mailbox)
	if err != nil {
		return nil, err
	}
	if limit := in.Env.Limits.Output; int64(box.OutLen) > limit {
		return nil, Faultf(abi.ReasonOutputTooLarge, "output of %d bytes, allowed %d", box.OutLen, limit)
	}
	in.Call.Returned = int64(box.OutLen)
	return view(in.Guest.mem, box.OutAddr, box.OutLen)
}

// documentExports are the exports of the JSON lane.
var documentExports = func() map[string]bool {
	names := map[string]bool{}
	for _, info := range abi.Operations {
		names[info.Op.JSONExport()] = true
	}
	return names
}()

// documentField is a view of the mailbox field for the length of a document. It is nil if the
// guest does not take requests to the export in its mailbox.
func (in *Instance) documentField(export string) []byte {
	if !in.Exchange.hasBox || !documentExports[export] || !in.Env.Code.Exports(abi.ReserveExport) {
		return nil
	}
	return documentField(in.Guest.mem, in.Exchange.mailbox)
}

// putDocument writes a non-empty document into the guest's memory and its length into the
// mailbox.
func (in *Instance) putDocument(doc []byte) error {
	_, dst, err := in.lend(len(doc))
	if err != nil {
		return err
	}
	copy(dst, doc)
	field := documentField(in.Guest.mem, in.Exchange.mailbox)
	if field == nil {
		return Faultf(abi.ReasonInvalidOutput, "the mailbox lost its field document when room was reserved")
	}
	binary.LittleEndian.PutUint32(field, uint32(len(doc)))
	in.Call.Received = int64(len(doc))
	return nil
}

// documentOutput is the output of a call with a document. It is in the mailbox if the guest took
// the document from there; otherwise the guest used Extism's functions.
func (in *Instance) documentOutput(boxed bool) ([]byte, error) {
	if boxed {
		if field := documentField(in.Guest.mem, in.Exchange.mailbox); field != nil && binary.LittleEndian.Uint32(field) == 0 {
			return in.boxOutput()
		}
	}
	return in.output()
}
