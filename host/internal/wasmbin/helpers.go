package wasmbin

import "math"

// The types metering adds behind the module's own.
const (
	typeTick   = iota // () -> i64
	typeRefill        // () -> ()
	typeCharge        // i32 -> i32
)

var helperTypes = [][]byte{
	{0x60, 0, 1, byte(I64)},
	{0x60, 0, 0},
	{0x60, 1, byte(I32), 1, byte(I32)},
}

// typeIndex is the index of an added type.
func (w *rewriter) typeIndex(added uint32) uint32 { return uint32(len(w.m.types)) + added }

// helperDeclarations are the type indices of the helpers, encoded.
func (w *rewriter) helperDeclarations() [][]byte {
	refill, charge := appendU32(nil, w.typeIndex(typeRefill)), appendU32(nil, w.typeIndex(typeCharge))
	return [][]byte{refill, charge, charge, charge}
}

// helpers are the bodies of the functions metering adds behind the module's own:
//
//	refill  () -> ()    asks the host for slices until the counter is not negative
//	bytes   n -> n      charges for n bytes of memory about to be filled or copied
//	pages   n -> n      charges for n pages about to be added to the memory
//	elems   n -> n      charges for n elements of a table
//
// A number beyond what the memory or table can ever hold is not charged: the
// instruction traps or answers -1 without doing the work, and the guest's author
// should see that and not an exhausted budget.
func (w *rewriter) helpers() [][]byte {
	pages := w.memoryLimit()
	return [][]byte{
		w.refillBody(),
		w.chargeBody(min(uint64(pages)*PageSize, math.MaxUint32), 0),
		w.chargeBody(uint64(pages), 16),
		w.chargeBody(w.tableLimit(), 0),
	}
}

// memoryLimit is the number of pages beyond which the memory cannot grow.
func (w *rewriter) memoryLimit() uint32 {
	limit := uint64(MaxPages)
	if own := w.m.info.Memories; len(own) == 1 {
		if own[0].HasMax {
			limit = own[0].Max
		}
		if w.o.MaxMemoryPages != 0 {
			limit = min(limit, uint64(w.o.MaxMemoryPages))
		}
	}
	return uint32(limit)
}

// tableLimit is the number of elements no table can exceed. An imported table
// is as large as its owner wants.
func (w *rewriter) tableLimit() uint64 {
	if w.m.imported[KindTable] > 0 {
		return math.MaxUint32
	}
	return uint64(w.o.MaxTable)
}

// refillBody adds slices to the counter. The counter stays negative while the
// host decides, and the host may not return: a call after that meets the next
// check with a negative counter and asks again. The counter is read after the
// host returns, so that the host may adjust it. A slice may be smaller than the
// debt of a bulk operation, therefore the loop.
func (w *rewriter) refillBody() []byte {
	b := []byte{0, opLoop, blockVoid, opCall}
	b = appendU32(b, w.tick)
	b = appendU32(append(b, opGlobalGet), w.fuel)
	b = appendU32(append(b, opI64Add, opGlobalSet), w.fuel)
	b = appendU32(append(b, opGlobalGet), w.fuel)
	return append(b, opI64Const, 0, opI64LtS, opBrIf, 0, opEnd, opEnd)
}

// chargeBody charges for its argument, shifted left by shift, unless that is
// above limit, and returns it.
func (w *rewriter) chargeBody(limit uint64, shift byte) []byte {
	b := appendU32([]byte{0, opGlobalGet}, w.fuel)
	b = append(b, opLocalGet, 0, opI64ExtendU)
	if shift != 0 {
		b = append(b, opI64Const, shift, opI64Shl)
	}
	if limit < math.MaxUint32 {
		b = append(b, opI64Const, 0, opLocalGet, 0, opI32Const)
		b = appendS32(b, int32(uint32(limit)))
		b = append(b, opI32LeU, opSelect)
	}
	b = appendU32(append(b, opI64Sub, opGlobalSet), w.fuel)
	b = w.appendRefillIfNegative(b)
	return append(b, opLocalGet, 0, opEnd)
}

func (w *rewriter) appendRefillIfNegative(b []byte) []byte {
	b = appendU32(append(b, opGlobalGet), w.fuel)
	b = append(b, opI64Const, 0, opI64LtS, opIf, blockVoid, opCall)
	return append(appendU32(b, w.refill), opEnd)
}

// sequence is code that takes a charge from the counter. The charge stands at
// offset charge in two bytes, to be filled in when it is known.
type sequence struct {
	code   []byte
	charge int
}

// maxCharge is the largest charge a sequence can hold.
const maxCharge = 1<<13 - 1

// sequences returns the code that spends and then checks, and that which only spends.
func (w *rewriter) sequences() (check, spend sequence) {
	b := appendU32([]byte{opGlobalGet}, w.fuel)
	b = append(b, opI64Const, 0x80, 0)
	at := len(b) - 2
	b = appendU32(append(b, opI64Sub, opGlobalSet), w.fuel)
	spend = sequence{code: b[:len(b):len(b)], charge: at}
	check = sequence{code: w.appendRefillIfNegative(spend.code), charge: at}
	return check, spend
}

// setCharge fills in a charge as a signed LEB128 number of two bytes.
func setCharge(code []byte, at, charge int) {
	code[at] = byte(charge)&0x7f | 0x80
	code[at+1] = byte(charge >> 7)
}
