package wasmbin

// Transfer says how an imported function moves bytes between a guest's values and a
// memory of the host's. A loop of such calls moves them between the guest's memory
// and that one, at the function's width per iteration, and can be done at once by a
// call of the function [MoveName].
type Transfer uint8

// The ways of moving. All but those of the input begin at an offset of the memory, by
// the first parameter; those of the input begin at an offset of the input.
const (
	// NoTransfer moves nothing.
	NoTransfer Transfer = iota
	// LoadU8 and LoadU64 read the memory.
	LoadU8
	LoadU64
	// InputLoadU8 and InputLoadU64 read the input.
	InputLoadU8
	InputLoadU64
	// StoreU8 and StoreU64 write their second parameter to the memory.
	StoreU8
	StoreU64
)

// Width is how many bytes one call moves: 8 or 1, for NoTransfer 0.
func (t Transfer) Width() uint64 {
	switch t {
	case LoadU8, InputLoadU8, StoreU8:
		return 1
	case LoadU64, InputLoadU64, StoreU64:
		return 8
	}
	return 0
}

// Input reports whether what is moved is the input.
func (t Transfer) Input() bool { return t == InputLoadU8 || t == InputLoadU64 }

// Store reports whether bytes are moved to the host's memory, not from there.
func (t Transfer) Store() bool { return t == StoreU8 || t == StoreU64 }
