package kernel

import "context"

// Kernel is one implementation, as the host uses it between and during calls. Only one
// goroutine may use it at a time.
type Kernel interface {
	// Reset prepares the kernel for the next call. All blocks are gone.
	Reset()
	// SetInput makes b the input of the call and reports whether it fits.
	SetInput(b []byte) bool
	// Alloc returns the handle of a new zeroed block of n bytes, or 0 if n is 0 or the
	// block does not fit. It returns an error if the debt could not be settled.
	Alloc(ctx context.Context, n uint64) (uint64, error)
	// Length returns the size of a live block in bytes, and 0 for any other handle.
	Length(off uint64) uint64
	// Bytes returns the content of a live block, as a view that is valid until
	// the next block is made.
	Bytes(off uint64) ([]byte, bool)
	// Output returns the offset and length that the guest stated for its output, and a
	// view of it. The view is nil if it lies outside of the memory.
	Output() (off, n uint64, view []byte)
	// Failure returns the message that the guest set as its error, nil if it set none.
	Failure() []byte
	// Refused reports whether a block did not fit since the last Reset.
	Refused() bool
	// Debt returns the number of bytes zeroed for the guest since the last Settle.
	Debt() int64
	// Settle sets the debt to 0.
	Settle()
	// Size returns the size of the memory in bytes.
	Size() int64
	// Close frees the memory.
	Close()
}

const (
	// PageSize is the unit in which the memory grows, in bytes.
	PageSize = 64 << 10
	// Quarantine is how many blocks of the same size class must be freed after a block
	// before its memory is used again.
	Quarantine = 16
	// Slice is the debt, in bytes, at which the module calls the host to settle it.
	Slice = 1 << 16
	// Keep is the largest size, in bytes, that the memory keeps from call to call.
	Keep = 4 << 20

	// MaxPages is the size of the largest memory: one page less than 32 bits address.
	MaxPages = 1<<16 - 1

	minClass, maxClass = 4, 32 // 16 bytes to 4 GiB
	// queue is the size of the queue of one class.
	queue = 16
	// blocks is the offset behind the queues. first is the offset of the first header: 16
	// zero bytes between them prevent that the bounds of loads wrap around.
	blocks = (maxClass + 1) * queue
	first  = blocks + 16
	header = 16
	// zeroPiece is how many bytes are zeroed at a time.
	zeroPiece = 1 << 20
	// maxBlock is more than fits. Larger sizes are refused at once.
	maxBlock = 0xffff0000
	cookie   = 0x5ca1ab1e_0ddba11d
)

// pagesFor returns the number of pages for n bytes.
func pagesFor(n uint64) uint64 { return (n + PageSize - 1) / PageSize }
