package wasmbin

// The bodies of the helpers that fill and copy memory. Filling 64 MiB for the first time
// takes 20 ms, during which nothing can stop the guest and Go's garbage collector waits
// for it. So more than bulkPiece bytes are written in pieces, and each piece is charged
// before it is written.

// bulkPiece is the number of bytes in a piece. Writing it takes about 0.1 ms.
const bulkPiece = 1 << 18

// The parameters of both helpers. The second is the value to fill with, or the address to
// copy from.
const (
	bulkTo   = 0
	bulkFrom = 1
	bulkSize = 2
)

// fillBody is
//
//	if size > piece and to + size lies within the memory
//	  do fill(to, value, piece), to += piece, size -= piece while size > piece
//	fill(to, value, size)
//
// A range that does not lie within the memory is left to the last line, which traps
// before it writes anything, as the original instruction does.
func (w *rewriter) fillBody() []byte {
	if len(w.m.memories) == 0 {
		return stub // there is no memory to fill, and nothing calls the helper
	}
	b := w.appendPieces([]byte{0}, []byte{opLocalGet, bulkTo})
	b = append(b, opLoop, blockVoid, opLocalGet, bulkTo, opLocalGet, bulkFrom)
	b = w.appendFill(appendPiece(b))
	b = appendMoved(b, bulkTo, opI32Add)
	b = appendAgain(appendMoved(b, bulkSize, opI32Sub))
	b = append(b, opEnd, opLocalGet, bulkTo, opLocalGet, bulkFrom, opLocalGet, bulkSize)
	return append(w.appendFill(b), opEnd)
}

// copyBody does the same for copying. Source and destination may overlap, so it copies
// from the end if the destination lies behind the source.
func (w *rewriter) copyBody() []byte {
	if len(w.m.memories) == 0 {
		return stub
	}
	behind := []byte{opLocalGet, bulkTo, opLocalGet, bulkFrom, opI32GtU}
	b := w.appendPieces([]byte{0}, append([]byte{opLocalGet, bulkTo, opLocalGet, bulkFrom}, append(behind, opSelect)...))
	b = append(append(b, behind...), opIf, blockVoid)

	b = appendMoved(append(b, opLoop, blockVoid), bulkSize, opI32Sub)
	for _, from := range [...]byte{bulkTo, bulkFrom} {
		b = append(b, opLocalGet, from, opLocalGet, bulkSize, opI32Add)
	}
	b = appendAgain(w.appendCopy(appendPiece(b)))

	b = append(b, opElse, opLoop, blockVoid, opLocalGet, bulkTo, opLocalGet, bulkFrom)
	b = w.appendCopy(appendPiece(b))
	b = appendMoved(appendMoved(b, bulkTo, opI32Add), bulkFrom, opI32Add)
	b = appendAgain(appendMoved(b, bulkSize, opI32Sub))

	b = append(b, opEnd, opEnd, opLocalGet, bulkTo, opLocalGet, bulkFrom, opLocalGet, bulkSize)
	return append(w.appendCopy(b), opEnd)
}

// appendPieces opens a block that runs if the range is longer than a piece and lies within
// the memory. at is code that leaves the higher of the addresses at which ranges begin.
func (w *rewriter) appendPieces(b, at []byte) []byte {
	b = append(appendPiece(append(b, opLocalGet, bulkSize)), opI32GtU, opIf, byte(I32))
	b = append(append(b, at...), opI64ExtendU, opLocalGet, bulkSize, opI64ExtendU, opI64Add)
	b = append(b, opMemorySize, 0, opI64ExtendU, opI64Const, 16, opI64Shl, opI64LeU)
	return append(b, opElse, opI32Const, 0, opEnd, opIf, blockVoid)
}

// appendPiece appends code that leaves the size of a piece.
func appendPiece(b []byte) []byte { return appendS32(append(b, opI32Const), bulkPiece) }

// appendMoved appends code that adds or subtracts the size of a piece to a local.
func appendMoved(b []byte, local, op byte) []byte {
	return append(appendPiece(append(b, opLocalGet, local)), op, opLocalSet, local)
}

// appendAgain ends a loop that repeats while more than a piece is left.
func appendAgain(b []byte) []byte {
	return append(appendPiece(append(b, opLocalGet, bulkSize)), opI32GtU, opBrIf, 0, opEnd)
}

// appendFill and appendCopy append a charge and the instruction.
func (w *rewriter) appendFill(b []byte) []byte {
	return append(appendU32(append(b, opCall), w.bytes), opMisc, miscMemoryFill, 0)
}

func (w *rewriter) appendCopy(b []byte) []byte {
	return append(appendU32(append(b, opCall), w.bytes), opMisc, miscMemoryCopy, 0, 0)
}
