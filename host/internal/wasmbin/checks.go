package wasmbin

// A check calls the host from outside of the code that it interrupts: a call inside a
// loop, even if it is hardly ever made, makes the compiler keep the values of the loop in
// memory. So three blocks surround a loop with a check, and a function's body with one:
//
//	block $done             loop $again
//	  loop $again             block $ask
//	    block $ask              charge, br_if $ask when negative
//	      loop                  block
//	        charge,               body
//	        br_if $ask          end
//	          when negative     return
//	        body              end
//	      end                 take the charge back, ask the host
//	      br $done            br $again
//	    end                 end
//	    take the charge
//	      back, ask the host
//	    br $again
//	  end
//	end
//
// When control leaves for $ask, nothing of the body has run. So the body can begin again,
// and the charge is made again.

// loopBlocks is the number of blocks that are put around a loop. Blocks around a body do
// not move labels: the label of the body becomes the label of the innermost block.
const loopBlocks = 3

// opening looks ahead into the body, up to the first instruction from which control can
// branch, or through all of a short body.
func (m *module) opening(b *body) opening {
	r := b.r
	straight, calls := true, 0
	var in instr
	for !r.done() {
		if r.next(&in, nil); r.err != nil {
			break // the rewrite of the body reports the error
		}
		switch in.op {
		case opLoop:
			if straight {
				return opensWithLoop
			}
		case opCall:
			if calls++; calls > leafCalls || !m.inertAt(in.x) {
				return opensChecked
			}
		case opCallIndirect, opReturnCall, opReturnCallIn:
			return opensChecked
		case opIf, opBr, opBrIf, opBrTable, opReturn, 0x00:
			straight = false
		}
		if !straight && b.size > leafSize {
			return opensChecked
		}
	}
	if b.size > leafSize || b.locals > freeLocals {
		return opensChecked
	}
	return opensLeaf
}

// openLoop writes the beginning of a loop and reports whether it calls the host from
// outside of itself. A loop with parameters does not, because it would need them again.
func (w *rewriter) openLoop(b *body, in *instr) bool {
	c := &w.code
	outside := (!in.typed || len(w.m.types[in.x].Params) == 0) &&
		c.added < outsideDepth*loopBlocks && c.shape.cost(b.locals) <= outsideCost
	s := &w.check
	if outside {
		blockType := b.r.buf[in.imm:b.r.pos]
		c.flush(b, in.at)
		c.code = append(append(c.code, opBlock), blockType...)
		c.code = append(c.code, opLoop, blockVoid, opBlock, blockVoid)
		c.added += loopBlocks
		s = &w.leave
	}
	c.flush(b, b.r.pos)
	at := c.append(s)
	if c.opening == opensWithLoop && c.first.head < 0 {
		c.first.head = at
	}
	g := newRegion(at)
	params, _ := w.m.blockType(in)
	g.weight = params / valuesPerWeight // each iteration gets them
	c.regions = append(c.regions, g)
	return outside
}

// closeLoop fills in the charge of a loop and writes the code behind its end.
func (w *rewriter) closeLoop(b *body, f *frame, g *region) {
	c := &w.code
	s := site{g.at, -1}
	if f.outside {
		c.flush(b, b.r.pos)
		c.code = append(c.code, opBr, 2, opEnd)
		s.back = w.appendAgain()
		c.code = append(c.code, opUnreachable, opEnd)
		c.added -= loopBlocks
	}
	s.set(c.code, g.charge())
	if g.at == c.first.head {
		c.first, c.firstCharge = s, g.charge()
	}
}

// appendAgain writes the code from $ask to the end of $again, and returns the offset of the
// charge.
func (w *rewriter) appendAgain() int {
	c := &w.code
	at := c.append(&w.again)
	c.code = append(c.code, opBr, 0, opEnd)
	return at
}

// relabel writes a branch whose label has moved.
func (c *codeWriter) relabel(b *body, in *instr) {
	if l := c.moved(in.x); l != in.x {
		c.flush(b, in.at)
		c.code = appendU32(append(c.code, in.op), l)
		c.copied = b.r.pos
	}
}

// relabelTable writes a br_table whose labels have moved.
func (c *codeWriter) relabelTable(b *body, in *instr) {
	if c.added == 0 {
		return
	}
	c.flush(b, in.at)
	c.code = appendU32(append(c.code, in.op), uint32(len(c.labels)-1))
	for _, l := range c.labels {
		c.code = appendU32(c.code, c.moved(l))
	}
	c.copied = b.r.pos
}

// moved returns a label after the rewrite.
func (c *codeWriter) moved(l uint32) uint32 {
	return l + uint32(c.added-c.frames[len(c.frames)-1-int(l)].added)
}

// finishFunction writes a body to the output: its size, its local declarations, the charge
// at its entry and its code.
func (w *rewriter) finishFunction(b *body, first int) {
	c := &w.code
	c.closeWindow(&c.regions[0])
	own := b.r.from(b.start)
	own.end = first
	w.locals = c.declare(w.locals[:0], own)
	entry := w.entry(b, c.regions[0].charge())
	w.out.u32(uint32(len(w.locals) + len(entry) + len(c.code)))
	w.out.bytes(w.locals)
	w.out.bytes(entry)
	if w.trace.on {
		original, _ := w.m.content(secCode)
		w.trace.function(c.spans, len(w.out.buf)-w.trace.begin, original.pos)
	}
	w.out.bytes(c.code)
}

// entry returns the code in front of a body that pays for its region. It may instead add
// the charge to that of the loop with which the body begins. It appends to the body the
// code that a check needs behind it.
func (w *rewriter) entry(b *body, charge int) []byte {
	c := &w.code
	results := w.m.types[w.m.funcs[b.index]].Results
	s := &w.spend
	switch {
	case c.opening == opensChecked && len(results) > 1: // would need a type of its own
		s = &w.check
	case c.opening == opensChecked:
		s = &w.enter
		c.code = append(c.code, opReturn, opEnd)
		setCharge(c.code, w.appendAgain(), charge)
		c.code = append(c.code, opUnreachable, opEnd)
	case c.first.head >= 0 && charge <= mergeWeight:
		c.first.set(c.code, c.firstCharge+charge)
		return nil
	case charge == 0:
		return nil
	}
	w.front = append(w.front[:0], s.code...)
	setCharge(w.front, s.charge, charge)
	switch {
	case s != &w.enter:
	case len(results) == 1:
		w.front = append(w.front, byte(results[0]))
	default:
		w.front = append(w.front, blockVoid)
	}
	return w.front
}
