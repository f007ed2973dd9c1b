package wasmbin

// ShellSection is the name of the custom section that tells shells apart.
const ShellSection = "anchor.shell"

// Shell is what [Prepare] returns for a module, without the code: every body is
// one unreachable. Types, imports, tables, memories, globals, exports and names are
// the same, so that machine code made of the whole fits it. That is all an engine
// needs which has the machine code already, and it takes a small part of the time.
//
// f is what is known of the module, which Prepare must have accepted with the same
// options. mark goes into the custom section [ShellSection]: two modules that
// differ in their code alone have shells that differ in nothing else.
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

// stub is a body that fits every type: no locals, unreachable, end.
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
