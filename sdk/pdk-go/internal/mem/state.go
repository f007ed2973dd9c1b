package mem

import "github.com/anchor-host/anchor-host/abi"

// state keeps the buffers reachable. in is a slice of words, because words are 8-aligned in
// every runtime and bytes are not.
var state = struct {
	box abi.Mailbox
	in  []uint64
	out []byte
}{box: abi.Mailbox{Size: abi.MailboxDocumentSize}}

// WarmRows is the number of rows for which the warm-up allocates memory.
const WarmRows = 1024
