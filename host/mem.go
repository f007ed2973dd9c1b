package host

import (
	"encoding/binary"

	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/abi"
)

// This file alone reads and writes the linear memory of guests during a call.
// Addresses and lengths from guests are unsigned and checked on every use.

// view returns n bytes of the guest's memory at addr. It is valid until the
// memory grows, that is until the guest runs again, and must not be kept: memory
// of a closed instance is no longer there.
func view(mem api.Memory, addr, n uint32) ([]byte, error) {
	b, ok := mem.Read(addr, n)
	if !ok {
		return nil, faultf(abi.ReasonInvalidOutput, "address %d, length %d lies outside the memory of %d bytes",
			addr, n, mem.Size())
	}
	return b, nil
}

// readMailbox reads the mailbox at addr anew and checks all its fields.
func readMailbox(mem api.Memory, addr uint32) (abi.Mailbox, error) {
	b, ok := mem.Read(addr, abi.MailboxSize)
	if !ok {
		return abi.Mailbox{}, faultf(abi.ReasonInvalidOutput, "mailbox at %d lies outside the memory of %d bytes", addr, mem.Size())
	}
	box, err := abi.DecodeMailbox(b)
	if err == nil {
		err = box.Check(uint64(mem.Size()))
	}
	if err != nil {
		return box, &fault{code: abi.ReasonInvalidOutput, err: err}
	}
	return box, nil
}

// documentField is the field of the mailbox at addr for the length of a document, as a
// view, nil where the mailbox has none.
func documentField(mem api.Memory, addr uint32) []byte {
	b, ok := mem.Read(addr, abi.MailboxDocumentSize)
	if !ok || binary.LittleEndian.Uint32(b) < abi.MailboxDocumentSize {
		return nil
	}
	return b[abi.MailboxSize:]
}
