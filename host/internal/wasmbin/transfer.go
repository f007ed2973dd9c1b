package wasmbin

import "slices"

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
	// Reach moves nothing. No import is that: it asks how many of the bytes could be
	// stored.
	Reach
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

// findTransfers notes which imported functions move bytes, if any does and has the
// type for it.
func (m *module) findTransfers(o *MeterOptions) {
	if o.Transfers == nil {
		return
	}
	var all []Transfer
	for _, im := range m.info.Imports {
		if im.Kind != KindFunc {
			continue
		}
		t := o.Transfers(im.Module, im.Name)
		if !t.fits(m.funcType(uint32(len(all)))) {
			t = NoTransfer
		}
		all = append(all, t)
	}
	if slices.ContainsFunc(all, func(t Transfer) bool { return t != NoTransfer }) {
		m.transfers = all
	}
}

// fits tells whether a function has the type of a transfer: (offset i64) -> value or
// (offset i64, value) -> (), where a byte is an i32.
func (t Transfer) fits(f FuncType) bool {
	v := I64
	if t.Width() == 1 {
		v = I32
	}
	if t.Store() {
		return slices.Equal(f.Params, []ValueType{I64, v}) && len(f.Results) == 0
	}
	return slices.Equal(f.Params, []ValueType{I64}) && slices.Equal(f.Results, []ValueType{v})
}

// transferOf is how an imported function moves bytes.
func (m *module) transferOf(f uint32) Transfer {
	if int(f) >= len(m.transfers) {
		return NoTransfer
	}
	return m.transfers[f]
}
