package wasmbin

import "math"

// typeIndex returns the index of an added type in the rewritten module.
func (w *rewriter) typeIndex(added uint32) uint32 { return uint32(len(w.m.types)) + added }

// helperDeclarations returns the encoded type indices of the helpers.
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

// helpers returns the bodies of the functions that metering adds behind the module's own:
//
//	refill  () -> ()         asks the host for slices until the counter is not negative
//	bytes   n -> n           charges for n bytes of memory that are about to be written
//	elems   n -> n           charges for n elements of a table
//	pages   old new -> old   charges for the pages by which the memory has grown
//	slots   old new -> old   charges for the elements by which a table has grown
//	undo    charge -> ()     refills, and gives a charge back
//	fill    to value n -> () charges for n bytes and fills them, piece by piece
//	copy    to from n -> ()  charges for n bytes and copies them, piece by piece
//
// A number that exceeds the largest possible size of the memory or table is not charged:
// the instruction traps without doing the work, and the guest's author should see the
// trap and not an exhausted budget. For the same reason growth is charged after it
// happened, and refused growth (old is -1) is not charged.
//
// Two more helpers follow for each mutable global of type v128, because the host cannot
// read or set such a global directly:
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

// memoryLimit returns the most pages that the memory can have.
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

// tableLimit returns the most elements that a table can have. The owner of an imported
// table decides how large that one is.
func (w *rewriter) tableLimit() uint64 {
	if w.m.imported[KindTable] > 0 {
		return math.MaxUint32
	}
	return uint64(w.o.MaxTable)
}

// refillBody adds slices to the counter. The counter stays negative while the host
// decides. If the host does not return, a later call finds the counter negative at its
// next check and asks again. The code reads the counter after the host returned, so that
// the host may adjust it. It loops because a slice may be smaller than the charge of a
// bulk operation.
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

// undoBody asks for slices while the charge is in place, so that the host sees what the
// guest owes. Then it gives the charge back, because the guest is about to pay it again.
func (w *rewriter) undoBody() []byte {
	b := appendU32(append(w.appendRefill([]byte{0}), opGlobalGet), w.fuel)
	return append(appendU32(append(b, opLocalGet, 0, opI64Add, opGlobalSet), w.fuel), opEnd)
}

// grownBody charges for the second argument minus the first, shifted left by shift. It
// returns the first argument and charges nothing if that is -1, which means that growth
// was refused. With note it then also sets the global DeniedExport.
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

// chargeBody returns its argument, and charges for it unless it is above limit.
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

// sequences makes the five sequences.
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
