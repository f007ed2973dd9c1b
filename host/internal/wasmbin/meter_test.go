package wasmbin

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestMeterRefusesByName(t *testing.T) {
	many := func(n int, s string) string { return string(appendU32(nil, uint32(n))) + strings.Repeat(s, n) }
	locals := func(n uint32, body string) []byte {
		f := "\x01" + string(appendU32(nil, n)) + "\x7f" + body
		return moduleOf(secType, "\x01\x60\x00\x00", secFunction, "\x01\x00", secCode, "\x01"+string(appendU32(nil, uint32(len(f))))+f)
	}
	for _, c := range []struct {
		name string
		bin  []byte
		o    MeterOptions
		kind error
		want string
	}{
		{"threads", moduleOf(secMemory, "\x01\x03\x01\x02"), MeterOptions{}, ErrUnsupported,
			"unsupported feature: a shared memory (threads) (build without threads)"},
		{"atomics", code("\xfe\x03\x00\x0b"), MeterOptions{}, ErrUnsupported,
			"unsupported feature: code section at offset 23: an atomic instruction (threads) (build without threads)"},
		{"tags", moduleOf(secType, "\x01\x60\x00\x00", secTag, "\x01\x00\x00"), MeterOptions{}, ErrUnsupported,
			"unsupported feature: exception tags (exception handling) (build without exceptions, for C++ with -fno-exceptions)"},
		{"try_table", code("\x1f\x40\x00\x0b\x0b"), MeterOptions{}, ErrUnsupported,
			"unsupported feature: code section at offset 23: an exception instruction (exception handling) (build without exceptions, for C++ with -fno-exceptions)"},
		{"memory", moduleOf(secMemory, "\x01\x00\x80\x20"), MeterOptions{MaxMemoryPages: 1024}, ErrLimit,
			"limit exceeded: memory minimum: 4096 pages (256 MiB), allowed 1024 pages (64 MiB) (grant the plugin more memory, or link it with a smaller initial memory)"},
		{"imported memory", moduleOf(secImport, "\x01\x01a\x01b\x02\x00\x02"), MeterOptions{MaxMemoryPages: 1}, ErrLimit,
			"limit exceeded: memory minimum: 2 pages (0.1 MiB), allowed 1 pages (0.1 MiB) (grant the plugin more memory, or link it with a smaller initial memory)"},
		{"table", moduleOf(secTable, "\x01\x70\x00\x0b"), MeterOptions{MaxTable: 10}, ErrLimit,
			"limit exceeded: table 0 minimum: 11 elements, allowed 10 elements"},
		{"table by default", moduleOf(secTable, "\x01\x70\x00\x81\x80\x40"), MeterOptions{}, ErrLimit,
			"limit exceeded: table 0 minimum: 1048577 elements, allowed 1048576 elements"},
		{"size", code("\x0b"), MeterOptions{Bounds: Bounds{Size: 20}}, ErrLimit,
			"limit exceeded: module size: 24 bytes, allowed 20 bytes (strip debug information, for Go with -ldflags=\"-s -w\")"},
		{"functions", moduleOf(secType, "\x01\x60\x00\x00", secFunction, "\x02\x00\x00", secCode, "\x02\x02\x00\x0b\x02\x00\x0b"),
			MeterOptions{Bounds: Bounds{Functions: 1}}, ErrLimit, "limit exceeded: functions: 2, allowed 1"},
		{"body", code(strings.Repeat("\x01", 9) + "\x0b"), MeterOptions{Bounds: Bounds{BodySize: 10}}, ErrLimit,
			"limit exceeded: body of function 0: 11 bytes, allowed 10 bytes (split the function, or run the plugin with engine: interpreter)"},
		{"locals", locals(50_001, "\x0b"), MeterOptions{}, ErrLimit, "limit exceeded: locals of function 0: 50001, allowed 50000"},
		{"four billion locals", locals(1<<32-1, "\x0b"), MeterOptions{}, ErrLimit, "limit exceeded: locals of function 0: 4294967295, allowed 50000"},
		{"compile bomb", locals(3000, strings.Repeat("\x03\x40\x0b", 3000)+"\x0b"), MeterOptions{}, ErrLimit,
			"limit exceeded: locals × blocks of function 0: 18000000, allowed 2000000 (split the function, or run the plugin with engine: interpreter)"},
		{"nested compile bomb", locals(1000, strings.Repeat("\x03\x40", 200)+strings.Repeat("\x0b", 201)), MeterOptions{}, ErrLimit,
			"limit exceeded: locals × blocks of function 0: 20140000, allowed 2000000 (split the function, or run the plugin with engine: interpreter)"},
		{"depth", code(many(20_001, "\x02\x40")[3:] + strings.Repeat("\x0b", 20_002)), MeterOptions{}, ErrLimit,
			"limit exceeded: nesting of blocks in function 0: 20001, allowed 20000"},
		{"import of tick", moduleOf(secType, "\x01\x60\x00\x00", secImport, "\x01\x0canchor:meter\x04tick\x00\x00"), MeterOptions{}, ErrReserved,
			"reserved name: import of \"tick\" from \"anchor:meter\", which belongs to the host (remove the import)"},
		{"export of fuel", moduleOf(secMemory, "\x01\x00\x01", secExport, "\x01\x0banchor:fuel\x02\x00"), MeterOptions{}, ErrReserved,
			"reserved name: export \"anchor:fuel\", which belongs to the host (rename the export)"},
		{"own names", moduleOf(secMemory, "\x01\x00\x01", secExport, "\x01\x01f\x02\x00"), MeterOptions{FuelExport: "f"}, ErrReserved,
			"reserved name: export \"f\", which belongs to the host (rename the export)"},
		{"else without if", code("\x02\x40\x05\x0b\x0b"), MeterOptions{}, ErrMalformed,
			"malformed module: code section at offset 25: else without if"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := Meter(c.bin, c.o)
			if out != nil || err == nil || err.Error() != c.want || !errors.Is(err, c.kind) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestManySmallBombsAreOneLargeOne(t *testing.T) {
	f := "\x00" + strings.Repeat("\x03\x40\x0b", 1000) + "\x0b"
	f = string(appendU32(nil, uint32(len(f)))) + f
	bin := moduleOf(secType, "\x01\x60\x00\x00", secFunction, "\x28"+strings.Repeat("\x00", 40), secCode, "\x28"+strings.Repeat(f, 40))
	_, err := Meter(bin, MeterOptions{})
	var limit *LimitError
	if !errors.As(err, &limit) || !limit.CompileOnly || limit.What != "locals × blocks of all functions" {
		t.Errorf("got %v", err)
	}
	if _, err := Meter(bin, MeterOptions{Bounds: InterpreterBounds()}); err != nil {
		t.Errorf("for the interpreter: %v", err)
	}
}

// TestGuestsCannotReachTheCounter: Meter refuses an index just beyond the guest's own, which the
// rewrite would make valid.
func TestGuestsCannotReachTheCounter(t *testing.T) {
	guest := func(body string) []byte {
		f := "\x00" + body
		return moduleOf(secType, "\x01\x60\x00\x00", secFunction, "\x01\x00", secGlobal, "\x01\x7e\x01\x42\x00\x0b",
			secCode, "\x01"+string(appendU32(nil, uint32(len(f))))+f)
	}
	for name, body := range map[string]string{
		"counter": "\x42\x00\x24\x01\x0b", "tick": "\x10\x01\x0b", "refill": "\x10\x02\x0b", "type": "\x03\x01\x0b\x0b",
		"reference": "\xd2\x01\x1a\x0b",
	} {
		if _, err := Meter(guest(body), MeterOptions{}); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	own := guest("\x42\x00\x24\x00\x0b")
	info, err := Inspect(mustMeter(t, own, MeterOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	if e, ok := info.Export(FuelExport); !ok || e.Index != 1 || e.Global != (GlobalType{I64, true}) {
		t.Errorf("the counter is %+v", e)
	}
	for _, e := range info.Exports {
		if e.Name != FuelExport {
			t.Errorf("export %q was added", e.Name)
		}
	}
}

// TestIndicesMove calls functions through every place that can contain a function index.
func TestIndicesMove(t *testing.T) {
	bin := fixture(t, "indices")
	if flavours := elementFlavours(t, bin); flavours != 0xff {
		t.Fatalf("the fixture has element segments of kinds %08b", flavours)
	}
	for engine := range engines {
		g := mustStart(t, engine, mustMeter(t, bin, MeterOptions{}), &tank{slice: DefaultSlice})
		for _, c := range []struct {
			name string
			args []uint64
			want uint64
		}{
			{"one", nil, 1}, {"zero", nil, 0}, {"started", nil, 3}, {"direct", nil, 21},
			{"t0", []uint64{0}, 0}, {"t0", []uint64{1}, 1}, {"t0", []uint64{2}, 3},
			{"t1", []uint64{0}, 1}, {"t1", []uint64{1}, 2}, {"t1", []uint64{2}, 3}, {"t1", []uint64{4}, 0},
			{"from_global", nil, 3}, {"from_ref", nil, 2}, {"from_passive", nil, 2}, {"from_exprs", nil, 1},
		} {
			got, err := g.call(c.name, c.args...)
			if err != nil || got[0] != c.want {
				t.Errorf("%s: %s%v: %v, %v; want %d", engine, c.name, c.args, got, err, c.want)
			}
		}
	}
}

// elementFlavours returns the kinds of element segments in a module.
func elementFlavours(t *testing.T, bin []byte) (set int) {
	m, err := parse(bin)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := m.content(secElement)
	for n := r.u32("a count"); n > 0; n-- {
		flags := r.u32("a kind")
		set |= 1 << flags
		m.elementHead(&r, flags, nil)
		if flags&elemExprs != 0 {
			m.elementExprs(&r, nil)
		} else {
			m.elementFuncs(&r, nil)
		}
	}
	return set
}

func TestMeterCapsMemoriesAndTables(t *testing.T) {
	for _, c := range []struct {
		memory, table string
		pages, elems  uint32
		want          string
	}{
		{"\x00\x01", "\x00\x01", 16, 100, "1..16 pages, 1..100 elements"},
		{"\x01\x01\x80\x01", "\x01\x01\x80\x08", 16, 100, "1..16 pages, 1..100 elements"},
		{"\x01\x01\x02", "\x01\x01\x02", 16, 100, "1..2 pages, 1..2 elements"},
		{"\x00\x01", "\x00\x01", 0, 0, "1.. pages, 1..1048576 elements"},
		{"\x01\x01\x80\x01", "\x00\x64", 0, 100, "1..128 pages, 100..100 elements"},
	} {
		bin := moduleOf(secTable, "\x01\x70"+c.table, secMemory, "\x01"+c.memory)
		info, err := Inspect(mustMeter(t, bin, MeterOptions{MaxMemoryPages: c.pages, MaxTable: c.elems}))
		if err != nil {
			t.Fatal(err)
		}
		show := func(l Limits) string {
			if !l.HasMax {
				return fmt.Sprintf("%d..", l.Min)
			}
			return fmt.Sprintf("%d..%d", l.Min, l.Max)
		}
		got := show(info.Memories[0]) + " pages, " + show(info.Tables[0].Limits) + " elements"
		if got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestMeterIsDeterministic(t *testing.T) {
	bin := goGuest(t)
	given := bytes.Clone(bin)
	first := mustMeter(t, bin, MeterOptions{})
	if !bytes.Equal(first, mustMeter(t, bin, MeterOptions{})) {
		t.Error("two runs differ")
	}
	if !bytes.Equal(bin, given) {
		t.Error("the input was changed")
	}
}

// TestEmptyModule: a module without sections fulfils the contract.
func TestEmptyModule(t *testing.T) {
	g := mustStart(t, "compiler", mustMeter(t, []byte(header), MeterOptions{}), &tank{slice: 1})
	if g.fuel == nil || g.fuel.Get() != 0 {
		t.Errorf("counter %v", g.fuel)
	}
}

func TestMeterTreatsCustomSections(t *testing.T) {
	bin := moduleOf(secCustom, "\x05firstA", secType, "\x01\x60\x00\x00", secFunction, "\x01\x00", secCustom, "\x0b.debug_infoX",
		secCode, "\x01\x02\x00\x0b", secCustom, "\x04name\x00\x02\x01m\x01\x04\x01\x00\x01f\x02\x01\x00", secCustom, "\x10sourceMappingURLx",
		secCustom, "\x0fmetadata.code.XY", secCustom, "\x04name\x00\x02\x01n", secCustom, "\x04lastB")
	info, err := Inspect(mustMeter(t, bin, MeterOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range info.Customs {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "name" {
		t.Errorf("sections %q", got)
	}
	want := "\x00\x02\x01m\x01\x9a\x01\x09\x01\x01f\x02\x0danchor.refill\x03\x13anchor.charge_bytes\x04\x16anchor.charge_elements" +
		"\x05\x13anchor.charge_pages\x06\x14anchor.charge_growth\x07\x13anchor.refill_again\x08\x0banchor.fill\x09\x0banchor.copy"
	if name, _ := info.Custom("name"); string(name) != want {
		t.Errorf("names % x\nwant  % x", name, want)
	}
}

// TestBrokenNamesAreDropped: with broken names the engine would refuse the module, or allocate
// memory for a false count.
func TestBrokenNamesAreDropped(t *testing.T) {
	for name, content := range map[string]string{
		"count":      "\x01\x05\xff\xff\xff\xff\x0f",
		"order":      "\x01\x07\x02\x00\x01a\x00\x01b",
		"index":      "\x01\x04\x01\x07\x01a",
		"UTF-8":      "\x01\x04\x01\x00\x01\xff",
		"subsection": "\x01\x09\x01",
		"twice":      "\x00\x02\x01m\x00\x02\x01m",
	} {
		bin := append(code("\x0b"), moduleOf(secCustom, "\x04name"+content)[8:]...)
		info, err := Inspect(mustMeter(t, bin, MeterOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := info.Custom("name"); ok {
			t.Errorf("%s: kept", name)
		}
	}
}

func TestCustomSectionsAreAppended(t *testing.T) {
	bin := fixture(t, "programs")
	out, err := AppendCustom(bin, "anchor.manifest", []byte(`{"abi":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if data, ok, err := Custom(out, "anchor.manifest"); string(data) != `{"abi":1}` || !ok || err != nil {
		t.Errorf("%q, %v, %v", data, ok, err)
	}
	if _, ok, err := Custom(bin, "anchor.manifest"); ok || err != nil {
		t.Errorf("found in the original: %v", err)
	}
	again, err := AppendCustom(out, "anchor.manifest", nil)
	if err != nil {
		t.Fatal(err)
	}
	if data, _, _ := Custom(again, "anchor.manifest"); string(data) != `{"abi":1}` {
		t.Errorf("the first is not kept: %q", data)
	}
	if _, err := AppendCustom([]byte("MZ"), "a", nil); !errors.Is(err, ErrNotWasm) {
		t.Errorf("got %v", err)
	}
	if _, err := AppendCustom(bin, "\xff", nil); err == nil {
		t.Error("a name that is not UTF-8 is accepted")
	}
	if _, _, err := Custom([]byte(header+"\x01\x05"), "a"); !errors.Is(err, ErrTruncated) {
		t.Errorf("got %v", err)
	}
}
