package wasmbin

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

const header = magic + "\x01\x00\x00\x00"

// module builds a module from sections given as id and content.
func moduleOf(parts ...any) []byte {
	b := []byte(header)
	for i := 0; i < len(parts); i += 2 {
		b = appendSection(b, byte(parts[i].(int)), []byte(parts[i+1].(string)))
	}
	return b
}

// code builds a module with one function () -> () of that body, without locals.
func code(body string) []byte {
	f := "\x00" + body
	return moduleOf(secType, "\x01\x60\x00\x00", secFunction, "\x01\x00", secCode, "\x01"+string(appendU32(nil, uint32(len(f))))+f)
}

func TestInspectSaysWhatAFileIs(t *testing.T) {
	const build = " (build for wasm, for Go with GOOS=wasip1 GOARCH=wasm)"
	for _, c := range []struct {
		name string
		bin  []byte
		kind error
		want string
	}{
		{"empty", nil, ErrNotWasm, "not a WebAssembly module: the file is empty"},
		{"elf", []byte("\x7fELF\x02\x01\x01\x00\x00"), ErrNotWasm, "not a WebAssembly module: an ELF executable or library" + build},
		{"mach-o", []byte("\xcf\xfa\xed\xfe\x00\x00\x00\x00"), ErrNotWasm, "not a WebAssembly module: a Mach-O binary" + build},
		{"pe", []byte("MZ\x90\x00\x03\x00\x00\x00"), ErrNotWasm, "not a WebAssembly module: a Windows executable" + build},
		{"zip", []byte("PK\x03\x04\x14\x00\x00\x00"), ErrNotWasm, "not a WebAssembly module: a zip archive (unpack it and give the .wasm inside)"},
		{"gzip", []byte("\x1f\x8b\x08\x00\x00\x00"), ErrNotWasm, "not a WebAssembly module: gzip-compressed data (decompress it first)"},
		{"wat", []byte("(module (func))"), ErrNotWasm, "not a WebAssembly module: WebAssembly text (WAT) (assemble it first, such as with wat2wasm)"},
		{"wat after comments", []byte(";; a\n(; b ;)\n (module)"), ErrNotWasm, "not a WebAssembly module: WebAssembly text (WAT) (assemble it first, such as with wat2wasm)"},
		{"text", []byte("# a readme\n"), ErrNotWasm, "not a WebAssembly module: text (give the compiled .wasm)"},
		{"random", []byte("\x01\x02\x03\x04\x05"), ErrNotWasm, "not a WebAssembly module: it begins with 01 02 03 04 instead of 00 61 73 6d"},
		{"component", []byte(magic + "\x0d\x00\x01\x00"), ErrComponent, "a WebAssembly component, not a core module (build for wasip1 or " +
			"wasm32-unknown-unknown instead of wasip2, or extract the core module with \"wasm-tools component unbundle\")"},
		{"version", []byte(magic + "\x02\x00\x00\x00"), ErrUnsupported, "unsupported feature at offset 4: binary format version 02 00 00 00 (rebuild it as version 1)"},
		{"half a header", []byte("\x00asm\x01"), ErrTruncated, "truncated module at offset 5: the file ends within the header of 8 bytes"},
		{"half a section", []byte(header + "\x01\x09\x01"), ErrTruncated, "truncated module: type section at offset 11: the file ends within the section"},
		{"no section size", []byte(header + "\x01"), ErrTruncated, "truncated module at offset 9: the file ends within a section's size"},
		{"bad leb", []byte(header + "\x01\xff\xff\xff\xff\xff\x01"), ErrMalformed, "malformed module at offset 9: a section's size is no 32-bit LEB128 number"},
		{"unknown section", []byte(header + "\x0e\x00"), ErrMalformed, "malformed module at offset 8: unknown section id 14"},
		{"order", moduleOf(secFunction, "\x00", secType, "\x00"), ErrMalformed, "malformed module: type section at offset 11: out of order"},
		{"twice", moduleOf(secType, "\x00", secType, "\x00"), ErrMalformed, "malformed module: type section at offset 11: appears twice"},
		{"left over", moduleOf(secType, "\x00\x00"), ErrMalformed, "malformed module: type section at offset 11: 1 bytes left over after the type section's content"},
		{"lying count", moduleOf(secType, "\xff\xff\xff\xff\x0f", secFunction, "\x00"), ErrMalformed,
			"malformed module: type section at offset 10: the types: 4294967295 announced, but only 0 bytes follow"},
		{"lying count at the end", moduleOf(secType, "\xff\xff\xff\xff\x0f"), ErrTruncated,
			"truncated module: type section at offset 15: the file ends within the types: 4294967295 announced"},
		{"lying body size", moduleOf(secType, "\x01\x60\x00\x00", secFunction, "\x01\x00", secCode, "\x01\x7f\x00\x0b", secCustom, "\x01a"), ErrMalformed,
			"malformed module: code section at offset 22: a function body runs past the end of its section or body"},
		{"bodies", moduleOf(secType, "\x01\x60\x00\x00", secFunction, "\x01\x00"), ErrMalformed, "malformed module: code section: 0 function bodies for 1 declared functions"},
		{"data count", moduleOf(secDataCount, "\x02"), ErrMalformed, "malformed module: data count section: 2 data segments announced, 0 found"},
		{"two memories", moduleOf(secMemory, "\x02\x00\x00\x00\x00"), ErrUnsupported, "unsupported feature: memory section: 2 memories (multiple memories)"},
		{"memory64", moduleOf(secMemory, "\x01\x04\x01"), ErrUnsupported, "unsupported feature: memory section at offset 11: a 64-bit memory (memory64)"},
		{"memory too large", moduleOf(secMemory, "\x01\x00\x81\x80\x04"), ErrMalformed, "malformed module: memory section at offset 11: a memory of more than 65536 pages"},
		{"gc type", moduleOf(secType, "\x01\x5f\x00\x00\x00"), ErrUnsupported, "unsupported feature: type section at offset 11: type form 0x5f (garbage collection)"},
		{"typed reference", moduleOf(secType, "\x01\x60\x01\x64\x00\x00"), ErrUnsupported, "unsupported feature: type section at offset 13: parameters: a typed function reference"},
		{"export index", moduleOf(secExport, "\x01\x01a\x00\x00"), ErrMalformed, "malformed module: export section at offset 11: export \"a\" is func 0, which does not exist"},
		{"export twice", moduleOf(secMemory, "\x01\x00\x01", secExport, "\x02\x01a\x02\x00\x01a\x02\x00"), ErrMalformed, "malformed module: export section at offset 20: export \"a\" appears twice"},
		{"name", moduleOf(secCustom, "\x01\xff"), ErrMalformed, "malformed module: custom section at offset 10: a custom section's name is not valid UTF-8"},
		{"start", moduleOf(secStart, "\x00"), ErrMalformed, "malformed module: start section at offset 10: function 0 of 0"},
		{"opcode", code("\xff\x0b"), ErrMalformed, "malformed module: code section at offset 23: unknown opcode 0xff"},
		{"call_ref", code("\x14\x00\x0b"), ErrUnsupported, "unsupported feature: code section at offset 23: opcode 0x14 (typed function references)"},
		{"second memory", code("\x41\x00\x28\x42\x01\x00\x1a\x0b"), ErrUnsupported, "unsupported feature: code section at offset 26: an access to a second memory (multiple memories)"},
		{"relaxed SIMD", code("\xfd\x80\x02\x0b"), ErrUnsupported, "unsupported feature: code section at offset 23: relaxed SIMD"},
		{"overlong vector opcode", code("\xfd\x8c\x00\x0b"), ErrMalformed, "malformed module: code section at offset 23: unknown or overlong vector opcode"},
		{"local", code("\x20\x00\x1a\x0b"), ErrMalformed, "malformed module: code section at offset 23: local 0 of 0"},
		{"global", code("\x23\x00\x1a\x0b"), ErrMalformed, "malformed module: code section at offset 23: global 0 of 0"},
		{"function", code("\x10\x01\x0b"), ErrMalformed, "malformed module: code section at offset 23: function 1 of 1"},
		{"label", code("\x0c\x01\x0b"), ErrMalformed, "malformed module: code section at offset 23: label 1 of 1"},
		{"br_table label", code("\x41\x00\x0e\x01\x00\x01\x0b"), ErrMalformed, "malformed module: code section at offset 25: label 1 of 1"},
		{"block type", code("\x02\x01\x0b\x0b"), ErrMalformed, "malformed module: code section at offset 23: type 1 of 1"},
		{"no end", code("\x01"), ErrTruncated, "truncated module: code section at offset 24: the file ends within an instruction"},
		{"code after the end", code("\x0b\x01"), ErrMalformed, "malformed module: code section at offset 24: 1 bytes left over after the end of a function"},
	} {
		t.Run(c.name, func(t *testing.T) {
			info, err := Inspect(c.bin)
			if info != nil || err == nil || err.Error() != c.want || !errors.Is(err, c.kind) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if out, err := Meter(c.bin, MeterOptions{}); out != nil || !errors.Is(err, c.kind) {
				t.Errorf("Meter: %v", err)
			}
		})
	}
}

func TestInspectReadsAModule(t *testing.T) {
	info, err := Inspect(fixture(t, "indices"))
	if err != nil {
		t.Fatal(err)
	}
	signature := FuncType{Results: []ValueType{I32}}
	want := []Import{{Module: "env", Name: "zero", Extern: Extern{Kind: KindFunc, Func: signature}}}
	if !reflect.DeepEqual(info.Imports, want) {
		t.Errorf("imports %+v", info.Imports)
	}
	if e, ok := info.Export("one"); !ok || e.Index != 1 || e.Func.String() != "() -> (i32)" {
		t.Errorf("export one: %+v", e)
	}
	if e, ok := info.Export("t1"); !ok || e.Func.String() != "(i32) -> (i32)" {
		t.Errorf("export t1: %+v", e)
	}
	if _, ok := info.Export("none"); ok {
		t.Error("an export that is not there")
	}
	if len(info.Tables) != 2 || info.Tables[0].Limits.Min != 8 || info.Tables[0].Elem != FuncRef || info.ElemSegments != 8 {
		t.Errorf("tables %+v, %d segments", info.Tables, info.ElemSegments)
	}
	if len(info.Globals) != 2 || !info.Globals[1].Mutable || !info.HasStart || info.Functions != 12 {
		t.Errorf("%+v", info)
	}
	if u := info.Uses; u != (Uses{TableWrites: true}) {
		t.Errorf("uses %+v", u)
	}
}

func TestInspectCountsMemoryAndData(t *testing.T) {
	info, err := Inspect(fixture(t, "bulk"))
	if err != nil {
		t.Fatal(err)
	}
	if info.DataSegments != 1 || info.DataBytes != 16 || len(info.Memories) != 1 || info.Memories[0].Min != 2 || info.Memories[0].HasMax {
		t.Errorf("%+v", info)
	}
	want := Uses{TableWrites: true, TableGrow: true, MemoryInit: true, MemoryGrow: true, BulkMemory: true}
	if info.Uses != want {
		t.Errorf("uses %+v", info.Uses)
	}
	if name, ok := info.Custom("name"); !ok || len(name) == 0 {
		t.Error("no name section")
	}
}

func TestInspectFindsFeatures(t *testing.T) {
	tag := moduleOf(secType, "\x01\x60\x00\x00", secTag, "\x01\x00\x00")
	shared := moduleOf(secMemory, "\x01\x03\x01\x02")
	for _, c := range []struct {
		name string
		bin  []byte
		want Uses
	}{
		{"simd", code("\xfd\x0c" + strings.Repeat("\x00", 16) + "\x1a\x0b"), Uses{SIMD: true}},
		{"tail call", code("\x12\x00\x0b"), Uses{TailCalls: true}},
		{"exceptions", tag, Uses{Exceptions: true}},
		{"try_table", code("\x1f\x40\x01\x02\x00\x0b\x0b"), Uses{Exceptions: true}},
		{"threads", shared, Uses{Threads: true}},
		{"fence", code("\xfe\x03\x00\x0b"), Uses{Threads: true}},
	} {
		info, err := Inspect(c.bin)
		if err != nil || info.Uses != c.want {
			t.Errorf("%s: %+v, %v", c.name, info, err)
		}
	}
}

func TestCost(t *testing.T) {
	// three blocks, one of them a loop; no locals; one br_table of two labels
	m, err := parse(code("\x02\x40\x03\x40\x02\x40\x41\x00\x0e\x01\x00\x00\x0b\x0b\x0b\x0b"))
	if err != nil {
		t.Fatal(err)
	}
	var s shape
	var labels []uint32
	err = m.bodies(func(b *body) error { return m.inspectBody(b, &s, &labels) })
	if got, want := s.cost(0), 1*3+4*2; err != nil || got != want {
		t.Errorf("cost %d, want %d, error %v", got, want, err)
	}
}

// TestInspectMemoryIsBounded: a false count in the file allocates nothing.
func TestInspectMemoryIsBounded(t *testing.T) {
	huge := "\xff\xff\xff\xff\x0f"
	for id := secType; id <= secTag; id++ {
		bin := moduleOf(id, huge+strings.Repeat("\x00", 100))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 10 {
			Inspect(bin)
			Meter(bin, MeterOptions{})
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 1<<20 {
			t.Errorf("section %d: %d bytes allocated for a file of %d", id, grown/20, len(bin))
		}
	}
}
