package kernel

import "context"

// Kernel is one embodiment, as the host sees it between and during calls. It
// belongs to one goroutine at a time.
type Kernel interface {
	// Reset forgets everything of the last call.
	Reset()
	// SetInput makes b the input of the call and reports whether it fits.
	SetInput(b []byte) bool
	// Alloc returns a new zeroed block of n bytes, or 0 when n is 0 or the block
	// does not fit. The error is that of a debt that could not be settled.
	Alloc(ctx context.Context, n uint64) (uint64, error)
	// Length returns the size of a live block, else 0.
	Length(off uint64) uint64
	// Bytes returns the content of a live block, as a view that is valid until
	// the next block is made.
	Bytes(off uint64) ([]byte, bool)
	// Output returns where the guest says its output is, and a view of it; nil
	// if it lies outside of the memory.
	Output() (off, n uint64, view []byte)
	// Failure returns the message that the guest set as its error, nil if none.
	Failure() []byte
	// Refused reports whether a block did not fit since the last Reset.
	Refused() bool
	// Debt is the number of bytes zeroed for the guest since the last Settle.
	Debt() int64
	// Settle clears the debt.
	Settle()
	// Size is the size of the memory in bytes.
	Size() int64
	// Close gives up what the kernel holds.
	Close()
}

const (
	// PageSize is the unit in which the memory grows, in bytes.
	PageSize = 64 << 10
	// Quarantine is how many younger freed blocks of its size protect a freed
	// one.
	Quarantine = 16
	// Slice is the debt that is settled at once.
	Slice = 1 << 16
	// Keep is the size up to which the memory is kept from call to call.
	Keep = 4 << 20

	// MaxPages is the largest memory: one page less than addresses reach.
	MaxPages = 1<<16 - 1

	minClass, maxClass = 4, 32 // 16 bytes to 4 GiB
	// queue is the size of the queue of one class.
	queue = 16
	// blocks is where the blocks begin, first the offset of the first header
	// that may be written: 16 zero bytes between them keep the bounds of loads
	// from wrapping around.
	blocks = (maxClass + 1) * queue
	first  = blocks + 16
	header = 16
	// zeroPiece is how many bytes are zeroed at a time.
	zeroPiece = 1 << 20
	// maxBlock is more than fits; larger sizes are refused unseen.
	maxBlock = 0xffff0000
	cookie   = 0x5ca1ab1e_0ddba11d
)

// pagesFor is how many pages hold n bytes.
func pagesFor(n uint64) uint64 { return (n + PageSize - 1) / PageSize }
