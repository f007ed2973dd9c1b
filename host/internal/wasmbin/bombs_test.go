package wasmbin

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
)

// texts joins pieces of a module: strings, and numbers, which it encodes.
func texts(parts ...any) string {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b.Write(appendU32(nil, uint32(p)))
		case string:
			b.WriteString(p)
		}
	}
	return b.String()
}

// sized returns the size of a text, followed by the text.
func sized(s string) string { return texts(len(s), s) }

// typed returns a function type whose parameters and results are all i64.
func typed(params, results int) string {
	return texts("\x60", params, strings.Repeat("\x7e", params), results, strings.Repeat("\x7e", results))
}

// bombs are small modules for which the compiler needed ten seconds to minutes, and mostly
// gigabytes. Function 0 is the expensive one.
func bombs() map[string][]byte {
	one := func(types, body string) []byte {
		return moduleOf(secType, types, secFunction, "\x01\x00", secMemory, "\x01\x00\x01", secCode, "\x01"+sized(body))
	}
	loaded, summed := func(n int) string { // n locals, all of them set
		s := texts("\x01", n, "\x7e")
		for i := range n {
			s += texts("\x41\x00\x29\x00\x00\x21", i+1)
		}
		return s
	}, func(n int) string {
		s := "\x42\x00"
		for i := range n {
			s += texts("\x20", i+1, "\x7c")
		}
		return s
	}
	value := "\x01\x60\x01\x7f\x01\x7e"
	const branch = "\x20\x00\x0d\x00" // if the parameter is not 0
	return map[string][]byte{
		"branches past locals": one(value, loaded(2000)+"\x02\x40"+strings.Repeat(branch, 4000)+"\x0b"+summed(2000)+"\x0b"),
		"labels past locals":   one(value, loaded(1000)+texts("\x02\x40\x20\x00\x0e", 20_000)+strings.Repeat("\x00", 20_001)+"\x0b"+summed(1000)+"\x0b"),
		"blocks on a high stack": one(value, "\x00"+strings.Repeat("\x41\x00\x29\x00\x00", 10_000)+
			strings.Repeat("\x02\x40"+branch+"\x0b", 10_000)+strings.Repeat("\x7c", 9_999)+"\x0b"),
		"branches on a high stack": one(value, "\x00"+strings.Repeat("\x41\x00\x29\x00\x00", 10_000)+
			"\x02\x40"+strings.Repeat(branch, 10_000)+"\x0b"+strings.Repeat("\x7c", 9_999)+"\x0b"),
		"blocks with values": one("\x02\x60\x01\x7f\x00"+typed(1000, 1000), "\x00"+strings.Repeat("\x42\x01", 1000)+
			strings.Repeat("\x02\x01"+branch, 2000)+strings.Repeat("\x0b", 2000)+strings.Repeat("\x1a", 1000)+"\x0b"),
		"calls with values": moduleOf(secType, "\x03\x60\x00\x00"+typed(0, 1000)+typed(1000, 0), secFunction, "\x03\x00\x01\x02",
			secCode, "\x03"+sized("\x00"+strings.Repeat("\x10\x01\x10\x02", 4000)+"\x0b")+
				sized("\x00"+strings.Repeat("\x42\x01", 1000)+"\x0b")+sized("\x00\x0b")),
	}
}

func TestBombsAreRefused(t *testing.T) {
	for name, bin := range bombs() {
		_, err := Meter(bin, MeterOptions{})
		var limit *LimitError
		if !errors.As(err, &limit) || !limit.CompileOnly {
			t.Errorf("%s, %d bytes: error %v", name, len(bin), err)
		}
	}
}

// The height of the operand stack is tracked correctly: every function of a valid module ends
// with its results on it.
func TestHeights(t *testing.T) {
	modules := specModules(t)
	modules["go_guest"] = goGuest(t)
	functions := 0
	for name, bin := range modules {
		m, err := parse(bin)
		if err != nil {
			continue
		}
		var labels []uint32
		wrong := false
		err = m.bodies(func(b *body) error {
			var s shape
			err := m.inspectBody(b, &s, &labels)
			if err == nil && !s.dead && s.height != len(m.funcType(b.index).Results) {
				wrong = true
			}
			functions++
			return err
		})
		if err != nil || !wrong || m.info.Uses.Exceptions {
			continue
		}
		ctx := context.Background()
		rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
		if _, err := rt.CompileModule(ctx, bin); err == nil {
			t.Errorf("%s: a function ends at another height than that of its results", name)
		}
		rt.Close(ctx)
	}
	if functions < partOf(10_000) {
		t.Errorf("%d functions measured, expected more", functions)
	}
}

// Declarations of a module take more memory in the host than in the file.
func TestDeclarationsAreBounded(t *testing.T) {
	many := func(n int, s string) string { return texts(n, strings.Repeat(s, n)) }
	const n = MaxDeclared + 1
	fn := []any{secType, "\x01\x60\x00\x00", secFunction, "\x01\x00", secTable, "\x01\x70\x00\x00"}
	with := func(parts ...any) []byte { return moduleOf(append(fn[:len(fn):len(fn)], parts...)...) }
	body := "\x01\x02\x00\x0b"
	for want, bin := range map[string][]byte{
		"types: 100001, allowed 100000":                            moduleOf(secType, many(n, "\x60\x00\x00")),
		"imports: 100001, allowed 100000":                          moduleOf(secType, "\x01\x60\x00\x00", secImport, many(n, "\x00\x00\x00\x00")),
		"tables: 100001, allowed 100000":                           moduleOf(secTable, many(n, "\x70\x00\x00")),
		"globals: 100001, allowed 100000":                          moduleOf(secGlobal, many(n, "\x7f\x00\x41\x00\x0b")),
		"exports: 100001, allowed 100000":                          moduleOf(secExport, many(n, "\x00\x00\x00")),
		"data segments: 100001, allowed 100000":                    moduleOf(secMemory, "\x01\x00\x01", secData, many(n, "\x01\x00")),
		"element segments: 100001, allowed 100000":                 with(secElement, many(n, "\x01\x00\x00"), secCode, body),
		"custom sections: 1001, allowed 1000":                      []byte(header + strings.Repeat("\x00\x01\x00", MaxCustoms+1)),
		"name of a custom section: 1001 bytes, allowed 1000 bytes": moduleOf(secCustom, sized(strings.Repeat("a", MaxCustomName+1))),
		"elements of all segments: 1048577, allowed 1048576": with(secElement, "\x02\x01\x00"+many(MaxTable, "\x00")+"\x01\x00\x01\x00",
			secCode, body),
		"parameters: 1001, allowed 1000": moduleOf(secType, "\x01"+typed(1001, 0)),
		"results: 1001, allowed 1000":    moduleOf(secType, "\x01"+typed(0, 1001)),
	} {
		_, err := Inspect(bin)
		if !errors.Is(err, ErrLimit) || err.Error() != "limit exceeded: "+want {
			t.Errorf("error %v (want %s)", err, want)
		}
	}
}

// The elements of all tables together are capped, however many tables there are.
func TestTablesAreCappedTogether(t *testing.T) {
	tables := func(n int, limits string) []byte {
		return moduleOf(secTable, texts(n, strings.Repeat("\x70"+limits, n)))
	}
	total := func(bin []byte) (least, most uint64) {
		info, err := Inspect(mustMeter(t, bin, MeterOptions{MaxTable: 1000}))
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range info.Tables {
			if !table.Limits.HasMax {
				t.Error("a table without a maximum")
			}
			least, most = least+table.Limits.Min, most+table.Limits.Max
		}
		return least, most
	}
	for _, c := range []struct {
		n           int
		limits      string
		least, most uint64
	}{
		{1, "\x00\x00", 0, 1000}, {3, "\x00\x64", 300, 999}, {10, "\x00\x64", 1000, 1000}, {4, "\x01\x01\x02", 4, 8}, {2000, "\x00\x00", 0, 0},
	} {
		if least, most := total(tables(c.n, c.limits)); least != c.least || most != c.most {
			t.Errorf("%d tables of %x: %d to %d elements (want %d to %d)", c.n, c.limits, least, most, c.least, c.most)
		}
	}
	_, err := Meter(tables(11, "\x00\x64"), MeterOptions{MaxTable: 1000})
	if want := "limit exceeded: minimum of all tables: 1100 elements, allowed 1000 elements"; err == nil || err.Error() != want {
		t.Errorf("error %v (want %s)", err, want)
	}
}
