package wasmbin

import (
	"bytes"
	"testing"
)

// Each offset of a rewritten module leads to the same instructions in the original.
func TestOriginal(t *testing.T) {
	debug := appendSection(nil, secCustom, appendName(nil, ".debug_line"))
	for name, bin := range wholes(t) {
		o := MeterOptions{MaxMemoryPages: 1024, Trace: debug}
		w, err := o.rewriter(bin)
		if err != nil {
			t.Fatal(err)
		}
		w.trace.on = true
		wasm, err := w.rewrite()
		if err != nil {
			t.Fatal(err)
		}
		if prepared, err := Prepare(bin, o); err != nil || !bytes.Equal(prepared.Wasm, wasm) || !bytes.HasSuffix(wasm, debug) {
			t.Errorf("%s: tracing changes the module, or it lacks the debug information (error %v)", name, err)
		}
		original, err := Original(bin, o)
		if err != nil {
			t.Fatal(err)
		}
		rewritten := &module{bin: wasm}
		if err := rewritten.split(); err != nil {
			t.Fatal(err)
		}
		in, _ := w.m.content(secCode)
		out, _ := rewritten.content(secCode)
		code, copied := wasm[out.pos:out.end], 0
		for _, s := range w.trace.spans {
			if !bytes.Equal(code[s.at:s.at+s.n], bin[in.pos+s.from:in.pos+s.from+s.n]) {
				t.Fatalf("%s: other code at %d than at %d of the original", name, s.at, s.from)
			}
			if s.n > 0 && (original(uint32(s.at)) != uint32(s.from) || original(uint32(s.at+s.n-1)) != uint32(s.from+s.n-1)) {
				t.Fatalf("%s: %d leads to %d, want %d", name, s.at, original(uint32(s.at)), s.from)
			}
			copied += s.n
		}
		if size := in.end - in.pos; copied > size || size > 4000 && copied < size*2/3 {
			t.Errorf("%s: %d of %d bytes are known", name, copied, size)
		}
		if original(0) != 0 {
			t.Errorf("%s: the offset 0 leads to %d", name, original(0))
		}
	}
}
