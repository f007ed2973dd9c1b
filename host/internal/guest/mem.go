package guest

import (
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
)

// During calls only this file reads and writes the linear memory of guests, except for
// functions of WASI (package wasi) and the blocks of Extism (package kernel). Addresses and
// lengths from guests are unsigned and checked on every use.

// view returns n bytes of the guest's memory at addr. The view is valid until the guest runs
// again, because its memory may then grow. It must not be kept: the memory of a closed
// instance is unmapped.
func view(mem api.Memory, addr, n uint32) ([]byte, error) {
	b, ok := mem.Read(addr, n)
	if !ok {
		return nil, Faultf(abi.ReasonInvalidOutput, "address %d, length %d is outside the memory of %d bytes",
			addr, n, mem.Size())
	}
	return b, nil
}

// readMailbox reads the mailbox at addr and checks all its fields.
func readMailbox(mem api.Memory, addr uint32) (abi.Mailbox, error) {
	b, ok := mem.Read(addr, abi.MailboxSize)
	if !ok {
		return abi.Mailbox{}, Faultf(abi.ReasonInvalidOutput, "mailbox at %d is outside the memory of %d bytes", addr, mem.Size())
	}
	box, err := abi.DecodeMailbox(b)
	if err == nil {
		err = box.Check(uint64(mem.Size()))
	}
	if err != nil {
		return box, &Fault{Reason: abi.ReasonInvalidOutput, Err: err}
	}
	return box, nil
}

// documentField is a view of the field for the length of a document in the mailbox at addr,
// nil if the mailbox has no such field.
func documentField(mem api.Memory, addr uint32) []byte {
	b, ok := mem.Read(addr, abi.MailboxDocumentSize)
	if !ok || binary.LittleEndian.Uint32(b) < abi.MailboxDocumentSize {
		return nil
	}
	return b[abi.MailboxSize:]
}
