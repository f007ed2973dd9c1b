package wasmbin

import "math"

// The types metering adds behind the module's own.
const (
	typeTick      = iota // () -> i64
	typeRefill           // () -> ()
	typeCharge           // i32 -> i32
	typeGrown            // i32 i32 -> i32
	typeUndo             // i64 -> ()
	typeBulk             // i32 i32 i32 -> ()
	typeGetVector        // () -> i64 i64
	typeSetVector        // i64 i64 -> ()
)

var helperTypes = [][]byte{
	{0x60, 0, 1, byte(I64)},
	{0x60, 0, 0},
	{0x60, 1, byte(I32), 1, byte(I32)},
	{0x60, 2, byte(I32), byte(I32), 1, byte(I32)},
	{0x60, 1, byte(I64), 0},
	{0x60, 3, byte(I32), byte(I32), byte(I32), 0},
	{0x60, 0, 2, byte(I64), byte(I64)},
	{0x60, 2, byte(I64), byte(I64), 0},
}

// typeIndex is the index of an added type.
func (w *rewriter) typeIndex(added uint32) uint32 { return uint32(len(w.m.types)) + added }

// helperDeclarations are the type indices of the helpers, encoded.
func (w *rewriter) helperDeclarations() [][]byte {
	var out [][]byte
	for _, t := range [...]uint32{typeRefill, typeCharge, typeCharge, typeGrown, typeGrown, typeUndo, typeBulk, typeBulk} {
		out = append(out, appendU32(nil, w.typeIndex(t)))
	}
	for range w.vectors {
		out = append(out, appendU32(nil, w.typeIndex(typeGetVector)), appendU32(nil, w.typeIndex(typeSetVector)))
	}
	return out
}

// helpers are the bodies of the functions metering adds behind the module's own:
//
//	refill  () -> ()         asks the host for slices until the counter is not negative
//	bytes   n -> n           charges for n bytes of memory about to be written
//	elems   n -> n           charges for n elements of a table
//	pages   old new -> old   charges for the pages by which the memory has grown
//	slots   old new -> old   charges for the elements by which a table has grown
//	undo    charge -> ()     refills, and takes a charge back
//	fill    to value n -> () charges for n bytes and fills them, piece by piece
//	copy    to from n -> ()  charges for n bytes and copies them, piece by piece
//
// A number beyond what the memory or table can ever hold is not charged: the
// instruction traps without doing the work, and the guest's author should see
// that and not an exhausted budget. For the same reason growth is charged when it
// has happened, and a refused one (old is -1) is not.
//
// Behind them are two for each mutable global of type v128, which has no other way
// to the host:
//
//	get  () -> low high
//	set  low high -> ()
func (w *rewriter) helpers() [][]byte {
	out := [][]byte{
		w.refillBody(),
		w.chargeBody(min(uint64(w.memoryLimit())*PageSize, math.MaxUint32)),
		w.chargeBody(w.tableLimit()),
		w.grownBody(16, w.open != nil),
		w.grownBody(0, false),
		w.undoBody(),
		w.fillBody(),
		w.copyBody(),
	}
	for _, g := range w.vectors {
		out = append(out, getVectorBody(g), setVectorBody(g))
	}
	return out
}

func getVectorBody(g uint32) []byte {
	b := appendU32([]byte{0, opGlobalGet}, g)
	b = appendU32(append(b, opVector, vecI64Extract, 0, opGlobalGet), g)
	return append(b, opVector, vecI64Extract, 1, opEnd)
}

func setVectorBody(g uint32) []byte {
	b := []byte{0, opLocalGet, 0, opVector, vecI64Splat, opLocalGet, 1, opVector, vecI64Replace, 1, opGlobalSet}
	return append(appendU32(b, g), opEnd)
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
	return append(w.appendRefill([]byte{0}), opEnd)
}

func (w *rewriter) appendRefill(b []byte) []byte {
	b = appendU32(append(b, opLoop, blockVoid, opCall), w.tick)
	b = appendU32(append(b, opGlobalGet), w.fuel)
	b = appendU32(append(b, opI64Add, opGlobalSet), w.fuel)
	b = appendU32(append(b, opGlobalGet), w.fuel)
	return append(b, opI64Const, 0, opI64LtS, opBrIf, 0, opEnd)
}

// undoBody asks for slices with the charge in place, so that the host sees what
// the guest owes, and then takes it back: it is about to be made again.
func (w *rewriter) undoBody() []byte {
	b := appendU32(append(w.appendRefill([]byte{0}), opGlobalGet), w.fuel)
	return append(appendU32(append(b, opLocalGet, 0, opI64Add, opGlobalSet), w.fuel), opEnd)
}

// grownBody charges for the difference of its arguments, shifted left by shift,
// unless the first is -1, which it returns. With note it remembers that.
func (w *rewriter) grownBody(shift byte, note bool) []byte {
	b := []byte{0}
	if note {
		b = append(b, opLocalGet, 0, opI32Const, 0x7f, opI32Eq, opIf, blockVoid, opI32Const, 1, opGlobalSet)
		b = append(appendU32(b, w.denied), opEnd)
	}
	b = appendU32(append(b, opGlobalGet), w.fuel)
	b = append(b, opLocalGet, 1, opLocalGet, 0, opI32Sub, opI64ExtendU, opI64Const, shift, opI64Shl)
	b = append(b, opI64Const, 0, opLocalGet, 0, opI32Const, 0x7f, opI32Ne, opSelect)
	b = appendU32(append(b, opI64Sub, opGlobalSet), w.fuel)
	b = w.appendRefillIfNegative(b)
	return append(b, opLocalGet, 0, opEnd)
}

// chargeBody charges for its argument, unless that is above limit, and returns
// it.
func (w *rewriter) chargeBody(limit uint64) []byte {
	b := appendU32([]byte{0, opGlobalGet}, w.fuel)
	b = append(b, opLocalGet, 0, opI64ExtendU)
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

// sequences makes the code that charges, and what follows it.
func (w *rewriter) sequences() {
	b := appendU32([]byte{opGlobalGet}, w.fuel)
	b = append(b, opI64Const, 0x80, 0)
	at := len(b) - 2
	b = appendU32(append(b, opI64Sub, opGlobalSet), w.fuel)
	w.spend = sequence{code: b[:len(b):len(b)], charge: at}
	w.check = sequence{code: w.appendRefillIfNegative(w.spend.code), charge: at}
	b = appendU32(append(b, opGlobalGet), w.fuel)
	b = append(b, opI64Const, 0, opI64LtS, opBrIf)
	w.leave = sequence{code: append(b[:len(b):len(b)], 1), charge: at}
	blocks := []byte{opLoop, blockVoid, opBlock, blockVoid}
	w.enter = sequence{code: append(append(blocks, b...), 0, opBlock), charge: at + len(blocks)}
	w.again = sequence{code: appendU32([]byte{opI64Const, 0x80, 0, opCall}, w.undo), charge: 1}
}

// setCharge fills in a charge as a signed LEB128 number of two bytes.
func setCharge(code []byte, at, charge int) {
	code[at] = byte(charge)&0x7f | 0x80
	code[at+1] = byte(charge >> 7)
}
