package wasmbin

// ShellSection is the name of the custom section that distinguishes shells.
const ShellSection = "anchor.shell"

// Shell returns what [Prepare] returns for a module, but without the code: every body is
// one unreachable. Types, imports, tables, memories, globals, exports and names are the
// same, so that machine code compiled from the prepared module fits the shell. An engine
// that has the machine code needs no more than the shell, and loads it in a small part of
// the time.
//
// Prepare must have accepted the module with the same options, and f must be the facts of
// the module. mark goes into the custom section [ShellSection], because two modules that
// differ only in their code have shells that do not differ otherwise.
func Shell(bin []byte, f Facts, o MeterOptions, mark string) (*Prepared, error) {
	o = o.withDefaults()
	m, err := parseKnown(bin, f)
	if err != nil {
		return nil, err
	}
	m.findLight(&o)
	if err := m.admit(&o); err != nil {
		return nil, err
	}
	w, err := m.opened(o)
	if err != nil {
		return nil, err
	}
	w.shell = true
	w.out.buf = make([]byte, 0, len(bin)-m.info.CodeSize-m.info.DataBytes+4*m.info.Functions+512)
	if w.open.Wasm, err = w.rewrite(); err != nil {
		return nil, err
	}
	w.open.Wasm = appendSection(w.open.Wasm, secCustom, append(appendName(nil, ShellSection), mark...))
	return w.open, nil
}

// stub is a body that is valid for every type: no locals, unreachable, end.
var stub = []byte{0, 0, opEnd}

// stubs writes a body for every function and helper.
func (w *rewriter) stubs() {
	n := w.m.info.Functions + len(w.helpers())
	w.out.u32(uint32(n))
	for range n {
		w.out.u32(uint32(len(stub)))
		w.out.bytes(stub)
	}
}
