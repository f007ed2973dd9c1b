package wasmbin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// opened instantiates a prepared module as a host does: memory first, then the
// start function.
func (d *differential) opened(p *Prepared) (api.Module, error) {
	ctx := context.Background()
	c := d.compile(p.Wasm)
	if c == nil {
		return nil, errors.New("the engine refuses the prepared module")
	}
	mod, err := d.rt.InstantiateModule(ctx, c, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		return nil, err
	}
	for at, b := range p.Data.Segments() {
		if mod.ExportedMemory("memory") == nil && mod.Memory() == nil || !mod.Memory().Write(at, b) {
			return mod, errors.New("a segment lies outside the memory")
		}
	}
	if p.Start {
		_, err = mod.ExportedFunction(StartExport).Call(ctx)
	}
	return mod, err
}

// TestPreparedModulesStartAlike runs spec modules without imports up to and
// including its start function, metered and prepared, and compares memory,
// mutable globals and errors.
func TestPreparedModulesStartAlike(t *testing.T) {
	modules := specModules(t)
	ctx := context.Background()
	ran, lifted, started := 0, 0, 0
	for engine := range engines {
		d := newDifferential(t, engine)
		for _, name := range slices.Sorted(maps.Keys(modules)) {
			bin := modules[name]
			metered, err := Meter(bin, MeterOptions{})
			_, prepareErr := Prepare(bin, MeterOptions{})
			if (err == nil) != (prepareErr == nil) {
				t.Fatalf("%s: metered %v, prepared %v", name, err, prepareErr)
			}
			if err != nil {
				continue
			}
			info, err := Inspect(bin)
			if err != nil || len(info.Imports) > 0 || d.compile(metered) == nil {
				continue
			}
			shown := reveal(t, bin)
			p, err := Prepare(shown.bin, MeterOptions{})
			if err != nil {
				t.Fatal(err)
			}
			c := d.compile(mustMeter(t, shown.bin, MeterOptions{}))
			d.tank = &tank{slice: DefaultSlice, limit: 1 << 22}
			plain, errPlain := d.rt.InstantiateModule(ctx, c, wazero.NewModuleConfig().WithName("").WithStartFunctions())
			d.tank = &tank{slice: DefaultSlice, limit: 1 << 22}
			open, errOpen := d.opened(p)
			// The engine names the start function in the first line.
			if (errPlain == nil) != (errOpen == nil) {
				t.Errorf("%s: metered %v, prepared %v", name, errPlain, errOpen)
				continue
			}
			if errPlain != nil {
				continue
			}
			ran++
			if p.Lifted {
				lifted++
			}
			if p.Start {
				started++
			}
			if diff := shown.differs(t, info, plain, open); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			plain.Close(ctx)
			open.Close(ctx)
		}
	}
	t.Logf("%d ran, %d without data segments, %d with a start function", ran, lifted, started)
	if ran < partOf(1000) || lifted < partOf(50) || started < partOf(5) {
		t.Error("too little was compared")
	}
}

// Prepare exports every mutable number, and no other global.
func TestPrepareOpensGlobals(t *testing.T) {
	bin := moduleOf(secGlobal, "\x06"+
		"\x7f\x01\x41\x07\x0b"+ // i32, mutable, 7
		"\x7f\x00\x41\x08\x0b"+ // i32
		"\x7e\x01\x42\x09\x0b"+ // i64, mutable, 9
		"\x7d\x01\x43\x00\x00\x80\x3f\x0b"+ // f32, mutable, 1
		"\x7c\x01\x44\x00\x00\x00\x00\x00\x00\xf0\x3f\x0b"+ // f64, mutable, 1
		"\x70\x01\xd0\x70\x0b") // funcref, mutable
	p, err := Prepare(bin, MeterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"anchor:global:0", "anchor:global:2", "anchor:global:3", "anchor:global:4"}
	if !slices.Equal(p.Globals, want) || p.Start || p.Lifted {
		t.Fatalf("%+v (want globals %v)", p, want)
	}
	for engine := range engines {
		d := newDifferential(t, engine)
		mod, err := d.opened(p)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range []uint64{7, 9, 0x3f800000, 0x3ff0000000000000} {
			g, ok := mod.ExportedGlobal(want[i]).(api.MutableGlobal)
			if !ok || g.Get() != v {
				t.Fatalf("%s: global %s is %v (want %#x)", engine, want[i], g, v)
			}
			if g.Set(v + 1); g.Get() != v+1 {
				t.Errorf("%s: global %s cannot be set", engine, want[i])
			}
		}
	}
}

func TestPrepareRefusesNamesOfTheHost(t *testing.T) {
	for _, name := range []string{FuelExport, StartExport, GlobalPrefix + "0", "anchor:"} {
		bin := moduleOf(secMemory, "\x01\x00\x01", secExport, "\x01"+string(appendName(nil, name))+"\x02\x00")
		if _, err := Prepare(bin, MeterOptions{}); !errors.Is(err, ErrReserved) || !strings.Contains(err.Error(), name) {
			t.Errorf("export %q: error %v", name, err)
		}
	}
}

func TestPrepareTakesDataOut(t *testing.T) {
	const one, body = "\x01\x60\x00\x00", "\x01"
	fn := func(code string) string {
		return body + string(appendU32(nil, uint32(len(code)+2))) + "\x00" + code + "\x0b"
	}
	active := "\x00\x41\x03\x0b\x02hi"
	for _, c := range []struct {
		name string
		bin  []byte
		want []piece // nil: the module keeps them
	}{
		{"active", moduleOf(secMemory, "\x01\x00\x01", secData, "\x01"+active), []piece{{3, []byte("hi")}}},
		{"overlapping", moduleOf(secMemory, "\x01\x00\x01", secData, "\x02"+active+"\x02\x00\x41\x04\x0b\x01o"), []piece{{3, []byte("hi")}, {4, []byte("o")}}},
		{"passive, not used", moduleOf(secMemory, "\x01\x00\x01", secData, "\x02\x01\x01x"+active), []piece{{3, []byte("hi")}}},
		{"at the end", moduleOf(secMemory, "\x01\x00\x01", secData, "\x01\x00\x41\xfe\xff\x03\x0b\x02hi"), []piece{{65534, []byte("hi")}}},
		{"beyond the end", moduleOf(secMemory, "\x01\x00\x01", secData, "\x01\x00\x41\xff\xff\x03\x0b\x02hi"), nil},
		{"negative", moduleOf(secMemory, "\x01\x00\x01", secData, "\x01\x00\x41\x7f\x0b\x01h"), nil},
		{"at a global", moduleOf(secMemory, "\x01\x00\x01", secGlobal, "\x01\x7f\x00\x41\x03\x0b", secData, "\x01\x00\x23\x00\x0b\x02hi"), nil},
		{"counted, not used", moduleOf(secType, one, secFunction, "\x01\x00", secMemory, "\x01\x00\x01", secDataCount, "\x01",
			secCode, fn(""), secData, "\x01"+active), []piece{{3, []byte("hi")}}},
		{"dropped", moduleOf(secType, one, secFunction, "\x01\x00", secMemory, "\x01\x00\x01", secDataCount, "\x01",
			secCode, fn("\xfc\x09\x00"), secData, "\x01"+active), nil},
		{"copied", moduleOf(secType, one, secFunction, "\x01\x00", secMemory, "\x01\x00\x01", secDataCount, "\x01",
			secCode, fn("\x41\x00\x41\x00\x41\x00\xfc\x08\x00\x00"), secData, "\x01"+active), nil},
	} {
		p, err := Prepare(c.bin, MeterOptions{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if fmt.Sprint(pieces(p.Data)) != fmt.Sprint(c.want) || p.Lifted != (c.want != nil) {
			t.Errorf("%s: data %v (want %v)", c.name, pieces(p.Data), c.want)
		}
		info, err := Inspect(p.Wasm)
		if err != nil || (info.DataSegments == 0) != (c.want != nil) {
			t.Errorf("%s: error %v, %d segments left", c.name, err, info.DataSegments)
		}
	}
}

// vectors returns a module with n mutable globals of type v128.
func vectors(n int) []byte {
	return moduleOf(secGlobal, texts(n, strings.Repeat("\x7b\x01\xfd\x0c"+strings.Repeat("\x00", 16)+"\x0b", n)))
}

// The two functions that read and set a vector take more memory than thousands of vectors.
func TestPrepareOpensFewVectors(t *testing.T) {
	for n, want := range map[int]int{MaxVectors: MaxVectors, MaxVectors + 1: 0} {
		p, err := Prepare(vectors(n), MeterOptions{})
		if err != nil || len(p.Vectors) != want {
			t.Errorf("%d globals: %d opened (want %d), error %v", n, len(p.Vectors), want, err)
		}
	}
}

func TestUncaptured(t *testing.T) {
	for _, c := range []struct {
		name string
		bin  []byte
		want string
	}{
		{"nothing", []byte(header), ""},
		{"programs", fixture(t, "programs"), ""},
		{"numbers", moduleOf(secGlobal, "\x01\x7f\x01\x41\x07\x0b"), ""},
		{"v128", moduleOf(secGlobal, "\x01\x7b\x01\xfd\x0c"+strings.Repeat("\x00", 16)+"\x0b"), ""},
		{"many v128", vectors(MaxVectors), ""},
		{"too many v128", vectors(MaxVectors + 1), "it has 65 mutable globals of type v128, captured are at most 64"},
		{"funcref", moduleOf(secGlobal, "\x01\x70\x01\xd0\x70\x0b"), "it has a mutable global of type funcref"},
		{"constant funcref", moduleOf(secGlobal, "\x01\x70\x00\xd0\x70\x0b"), ""},
		{"table.set", moduleOf(secType, "\x01\x60\x00\x00", secFunction, "\x01\x00", secTable, "\x01\x70\x00\x01",
			secCode, "\x01\x08\x00\x41\x00\xd0\x70\x26\x00\x0b"), "its code writes to tables"},
		{"elem.drop", moduleOf(secType, "\x01\x60\x00\x00", secFunction, "\x01\x00", secElement, "\x01\x01\x00\x00",
			secCode, "\x01\x05\x00\xfc\x0d\x00\x0b"), "its code drops segments"},
		{"imported memory", moduleOf(secImport, "\x01\x01a\x01b\x02\x00\x02"), ""},
	} {
		info, err := Inspect(c.bin)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := info.Uncaptured(); got != c.want {
			t.Errorf("%s: %q (want %q)", c.name, got, c.want)
		}
	}
}

func TestPrepareIsDeterministic(t *testing.T) {
	bin := goGuest(t)
	a, errA := Prepare(bin, MeterOptions{})
	b, errB := Prepare(bin, MeterOptions{})
	if errA != nil || errB != nil || !bytes.Equal(a.Wasm, b.Wasm) {
		t.Fatal("two results differ", errA, errB)
	}
	if a.Data.Len() == 0 || len(a.Globals) == 0 {
		t.Errorf("stock Go guest: %d segments, %d globals", a.Data.Len(), len(a.Globals))
	}
}
