package compile

import (
	"debug/dwarf"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/lines"
)

// Readers of debug information find the mark for each offset.
func TestTraceSections(t *testing.T) {
	found := map[string][]byte{}
	for rest := traceSections("the mark"); len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		content := rest[1+n:][:size]
		rest = rest[1+n+int(size):]
		length, n := binary.Uvarint(content)
		found[string(content[n:][:length])] = content[n+int(length):]
	}
	d, err := dwarf.New(found[".debug_abbrev"], nil, nil, found[".debug_info"], found[".debug_line"], nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	unit, err := d.Reader().Next()
	if err != nil {
		t.Fatal(err)
	}
	r, err := d.LineReader(unit)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []uint64{1, 2, 1 << 20, 1 << 30} {
		var e dwarf.LineEntry
		if err := r.SeekPC(at, &e); err != nil || e.File.Name != "the mark" || e.Line != 1 {
			t.Errorf("%d: %+v, error %v", at, e, err)
		}
	}
}

// A stack never has less than the guest's own one, whatever is wrong with the lines of the module.
func TestStacksOfHostileLines(t *testing.T) {
	for section, want := range map[string]string{
		`{"files":["a.c"],"places":[0,7,0],"rows":[0,1]}`:                    "\t.f()\n\t\ta.c:7\n\t.g()",
		"{\"files\":[\"a\\n\\u001b[2J\"],\"places\":[0,7,0],\"rows\":[0,1]}": "\t.f()\n\t\ta; \uFFFD[2J:7\n\t.g()",
		`{}`:           "\t.f()\n\t.g()",
		`{"rows":[1]}`: "\t.f()\n\t.g()\n(no lines of source: lines: 0 numbers of places and 1 of rows (want multiples of 3 and 2))",
	} {
		bin, err := wasmbin.AppendCustom(constant(0), lines.Section, []byte(section))
		if err != nil {
			t.Fatal(err)
		}
		s := source(t, bin)
		o := new(Options)
		if o.meter(s, false, 0).Trace != nil {
			t.Error("traced without being asked")
		}
		o.Lines = true
		traced := o.meter(s, false, 0)
		stack := "\t.f()\n\t\t0x4: " + markOf(s) + ":1\n\t.g()"
		if got := withLines(stack, s, traced); got != want {
			t.Errorf("%s: stack\n%s\nwant\n%s", section, got, want)
		}
		if other := strings.ReplaceAll(stack, markOf(s), "anchor-0"); withLines(other, s, traced) != other {
			t.Error("changes the lines of another module")
		}
		if codeKey(s, traced) == codeKey(s, new(Options).meter(s, false, 0)) {
			t.Error("one key for code with and without lines")
		}
	}
}
