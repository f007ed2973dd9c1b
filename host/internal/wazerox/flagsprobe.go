package wazerox

// compiles compiles a module and closes it.
func (l *lab) compiles(wasm string) error {
	compiled, err := l.rt.CompileModule(l.ctx, []byte(wasm))
	if err != nil {
		return err
	}
	return compiled.Close(l.ctx)
}

// probeTailCalls compiles a function that ends with a tail call.
func probeTailCalls(l *lab) error {
	return l.compiles("\x00asm\x01\x00\x00\x00" +
		"\x01\x05\x01\x60\x00\x01\x7f" +
		"\x03\x03\x02\x00\x00" +
		"\x0a\x0b\x02\x04\x00\x12\x01\x0b\x04\x00\x41\x01\x0b")
}

// noExtendedConst says why there are no extended constant expressions.
func noExtendedConst(bool) string {
	if extendedConst == 0 {
		return "this wazero has no flag for them"
	}
	return ""
}

// probeExtendedConst compiles a global that is the sum of two constants.
func probeExtendedConst(l *lab) error {
	return l.compiles("\x00asm\x01\x00\x00\x00" +
		"\x06\x09\x01\x7f\x00\x41\x01\x41\x02\x6a\x0b")
}
