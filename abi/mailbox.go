package abi

import (
	"encoding/binary"
	"errors"
	"strconv"

	"github.com/anchor-host/anchor-host/abi/internal/layout"
)

// The lengths of a mailbox in bytes: without and with the field Document, which makes it also
// accept documents of the JSON lane.
const (
	MailboxSize         = 24
	MailboxDocumentSize = 28
)

// ErrMailbox is wrapped by every error about a mailbox.
var ErrMailbox = errors.New("mailbox is malformed")

// Mailbox is the struct of little-endian u32 at the address that the export [MailboxExport]
// returns. The guest writes it. The host reads it, checks it on each use, and writes only the
// field Document. Addresses are unsigned and relative to the guest's memory.
type Mailbox struct {
	// Size is the length of the struct in bytes, at least MailboxSize. If it is at least
	// MailboxDocumentSize, the guest accepts documents.
	Size uint32
	// InAddr and InCap are the address, 8-aligned, and the length of the input buffer. Both are 0
	// if there is none.
	InAddr, InCap uint32
	// OutAddr and OutLen are the address and the length of the output of the last call.
	OutAddr, OutLen uint32
	// Reserved is 0.
	Reserved uint32
	// Document is the length of the document that the host wrote to InAddr. It is 0 if there is
	// none or the guest has taken it. A mailbox smaller than MailboxDocumentSize does not have
	// this field.
	Document uint32
}

// DecodeMailbox reads a mailbox from the first bytes of b and checks what can
// be checked without knowing the memory: its size and the alignment of InAddr.
func DecodeMailbox(b []byte) (Mailbox, error) {
	if len(b) < MailboxSize {
		return Mailbox{}, mailboxError("has " + strconv.Itoa(len(b)) + " bytes (want " + strconv.Itoa(MailboxSize) + ")")
	}
	le := binary.LittleEndian
	m := Mailbox{
		Size: le.Uint32(b), InAddr: le.Uint32(b[4:]), InCap: le.Uint32(b[8:]),
		OutAddr: le.Uint32(b[12:]), OutLen: le.Uint32(b[16:]), Reserved: le.Uint32(b[20:]),
	}
	if m.Size < MailboxSize {
		return Mailbox{}, mailboxError("states size " + strconv.FormatUint(uint64(m.Size), 10) + " (want " + strconv.Itoa(MailboxSize) + " or more)")
	}
	if m.Size >= MailboxDocumentSize && len(b) >= MailboxDocumentSize {
		m.Document = le.Uint32(b[MailboxSize:])
	}
	if m.InAddr%8 != 0 {
		return Mailbox{}, mailboxError("states an input buffer at " + strconv.FormatUint(uint64(m.InAddr), 10) + ", which is not 8-aligned")
	}
	return m, nil
}

// AppendMailbox appends m to dst: 24 bytes, followed by Document if Size includes it.
func AppendMailbox(dst []byte, m Mailbox) []byte {
	le := binary.LittleEndian
	for _, v := range [...]uint32{m.Size, m.InAddr, m.InCap, m.OutAddr, m.OutLen, m.Reserved} {
		dst = le.AppendUint32(dst, v)
	}
	if m.Size >= MailboxDocumentSize {
		dst = le.AppendUint32(dst, m.Document)
	}
	return dst
}

// Check checks that the input buffer and the output lie within a memory of the given length in
// bytes.
func (m Mailbox) Check(memory uint64) error {
	if uint64(m.InAddr)+uint64(m.InCap) > memory {
		return mailboxError("states an input buffer " + layout.Span(m.InAddr, m.InCap) + " beyond the memory of " + strconv.FormatUint(memory, 10) + " bytes")
	}
	if uint64(m.OutAddr)+uint64(m.OutLen) > memory {
		return mailboxError("states output " + layout.Span(m.OutAddr, m.OutLen) + " beyond the memory of " + strconv.FormatUint(memory, 10) + " bytes")
	}
	return nil
}

type mailboxError string

func (e mailboxError) Error() string { return "mailbox " + string(e) }
func (e mailboxError) Unwrap() error { return ErrMailbox }
