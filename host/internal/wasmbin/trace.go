package wasmbin

import "sort"

// span is code that was copied: n bytes at offset at of the output, from offset from of the
// original. What stands between spans was added at the end of the one before.
type span struct{ at, from, n int }

// tracer collects, if on, the spans of a code section, whose offsets count from the section's
// content. begin is where that is in the output.
type tracer struct {
	on    bool
	begin int
	spans []span
}

// function takes over the spans of a body, whose code begins at an offset of the output.
func (t *tracer) function(spans []span, at, original int) {
	for _, s := range spans {
		t.spans = append(t.spans, span{s.at + at, s.from - original, s.n})
	}
}

// original is the offset in the original of what is at an offset of the output, 0 for none.
func (t *tracer) original(offset uint32) uint32 {
	at := int(offset)
	i := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].at > at })
	if i == 0 {
		return 0
	}
	s := t.spans[i-1]
	return uint32(s.from + min(at-s.at, s.n))
}

// Original maps offsets in the content of the code section that [Prepare] wrote for a module to
// those in the module's own. Code that metering added has the offset of what it stands behind.
// o must be the same, and Prepare must have accepted the module. What is before the first function
// has the offset 0.
func Original(bin []byte, o MeterOptions) (func(offset uint32) uint32, error) {
	w, err := o.rewriter(bin)
	if err != nil {
		return nil, err
	}
	w.trace.on = true
	if _, err := w.rewrite(); err != nil {
		return nil, err
	}
	return w.trace.original, nil
}
