package wasmbin

import "unicode/utf8"

// Subsections of the name section.
const (
	nameModule   = 0
	nameFunction = 1
)

// helperNames are the names of the helpers in stack traces, in the order of the helpers.
var helperNames = [...]string{"anchor.refill", "anchor.charge_bytes", "anchor.charge_elements",
	"anchor.charge_pages", "anchor.charge_growth", "anchor.refill_again", "anchor.fill", "anchor.copy"}

// names rewrites the name section: the name of the module, and the names of functions under
// their new indices. It returns nil if the section is malformed or is not the first one,
// because names never make a module invalid.
func (w *rewriter) names(s section) []byte {
	if w.named {
		return nil
	}
	r := reader{buf: w.m.bin, pos: s.pos, end: s.end}
	var out []byte
	last := -1
	for !r.done() && r.err == nil {
		id := r.byte("a subsection")
		sub := r.sub(r.u32("a subsection's size"), "a subsection")
		if int(id) <= last || sub.err != nil {
			return nil
		}
		last = int(id)
		switch id {
		case nameModule:
			at := sub.pos
			sub.name("the module's name")
			if sub.finish("the module's name") != nil {
				return nil
			}
			out = appendSection(out, id, w.m.bin[at:sub.end])
		case nameFunction:
			content := w.functionNames(&sub)
			if content == nil {
				return nil
			}
			out = appendSection(out, id, content)
		}
	}
	if r.err != nil {
		return nil
	}
	w.named = true
	return out
}

// functionNames rewrites the names of functions and adds those of the helpers. It returns
// nil if the subsection is malformed.
func (w *rewriter) functionNames(r *reader) []byte {
	n := r.count(2, "the function names")
	out := output{host: w.out.host, buf: make([]byte, 0, r.end-r.pos+128)}
	out.u32(uint32(n + len(helperNames)))
	last := int64(-1)
	for ; n > 0; n-- {
		i := r.index(len(w.m.funcs), "function")
		at := r.pos
		name := r.take(r.u32("a function's name"), "a function's name")
		if r.err != nil || int64(i) <= last || !utf8.Valid(name) {
			return nil
		}
		last = int64(i)
		out.function(i)
		out.bytes(r.buf[at:r.pos])
	}
	if r.finish("the function names") != nil {
		return nil
	}
	for i, name := range helperNames {
		out.u32(w.refill + uint32(i))
		out.name(name)
	}
	return out.buf
}
