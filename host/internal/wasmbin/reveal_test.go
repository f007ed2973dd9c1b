package wasmbin

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// revealed is a module that exports all its mutable globals.
type revealed struct {
	bin []byte
	// globals are the names of exported globals. vectors are the names of functions that
	// return a global of type v128, of which the engine shows an embedder only one half.
	globals []shownGlobal
	vectors []string
}

type shownGlobal struct {
	name string
	typ  ValueType
}

// reveal exports every mutable global of a module, including imported ones. It adds everything
// behind the module's own declarations, so that no index moves. It runs before the module is
// metered, so that both forms have the same exports.
func reveal(tb testing.TB, bin []byte) *revealed {
	tb.Helper()
	m, err := parse(bin)
	if err != nil {
		tb.Fatal(err)
	}
	r := &revealed{}
	more := map[byte][][]byte{}
	for i, g := range m.globals {
		name, kind, index := "revealed:"+strconv.Itoa(i), KindGlobal, uint32(i)
		switch {
		case !g.Mutable:
			continue
		case g.Type == V128:
			kind, index = KindFunc, uint32(len(m.funcs)+len(r.vectors))
			more[secType] = [][]byte{[]byte("\x60\x00\x02\x7e\x7e")}
			more[secFunction] = append(more[secFunction], appendU32(nil, uint32(len(m.types))))
			more[secCode] = append(more[secCode], halves(uint32(i)))
			r.vectors = append(r.vectors, name)
		default:
			r.globals = append(r.globals, shownGlobal{name, g.Type})
		}
		more[secExport] = append(more[secExport], appendU32(append(appendName(nil, name), byte(kind)), index))
	}
	r.bin = withMore(m, more)
	return r
}

// halves returns the body of a function that returns both halves of a global.
func halves(global uint32) []byte {
	b := []byte{0}
	for lane := range byte(2) {
		b = append(appendU32(append(b, opGlobalGet), global), opVector, vecI64Extract, lane)
	}
	b = append(b, opEnd)
	return append(appendU32(nil, uint32(len(b))), b...)
}

// withMore returns a module with further elements in some of its sections, and with its custom
// sections behind the others.
func withMore(m *module, more map[byte][][]byte) []byte {
	if len(more) == 0 {
		return m.bin
	}
	out := slices.Clone(m.bin[:8])
	order := make([]byte, len(sectionOrder))
	for id, place := range sectionOrder {
		order[place] = byte(id)
	}
	for _, id := range order[1:] {
		r, ok := m.content(id)
		if !ok && more[id] == nil {
			continue
		}
		content := r.buf[r.pos:r.end]
		if added := more[id]; added != nil {
			n := uint32(0)
			if ok {
				n = r.u32("a count")
			}
			content = slices.Concat(appendU32(nil, n+uint32(len(added))), r.buf[r.pos:r.end], bytes.Join(added, nil))
		}
		out = appendSection(out, id, content)
	}
	for _, c := range m.info.Customs {
		out = appendSection(out, secCustom, append(appendName(nil, c.Name), c.Data...))
	}
	return out
}

// values returns the values of the mutable globals. Of references, which are addresses, it
// returns only whether they are null.
func (r *revealed) values(tb testing.TB, mod api.Module) []uint64 {
	tb.Helper()
	var out []uint64
	for _, g := range r.globals {
		v := mod.ExportedGlobal(g.name).Get()
		if v != 0 && !g.typ.number() {
			v = 1
		}
		out = append(out, v)
	}
	for _, name := range r.vectors {
		v, err := mod.ExportedFunction(name).Call(context.Background())
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, v...)
	}
	return out
}

// differs describes how the memory and the mutable globals of two instances differ. It returns
// "" if they are the same.
func (r *revealed) differs(tb testing.TB, info *Info, plain, metered api.Module) string {
	tb.Helper()
	if len(info.Memories) > 0 && !bytes.Equal(allOf(plain.Memory()), allOf(metered.Memory())) {
		return "memories differ"
	}
	if p, m := r.values(tb, plain), r.values(tb, metered); !slices.Equal(p, m) {
		return fmt.Sprintf("globals: plain %x, metered %x", p, m)
	}
	return ""
}

func allOf(m api.Memory) []byte {
	b, _ := m.Read(0, m.Size())
	return b
}

// reveal exports every mutable global, whatever its type, and both halves of a vector.
func TestRevealShowsMutableGlobals(t *testing.T) {
	env := moduleOf(secGlobal, "\x01\x7f\x01\x41\x07\x0b", secExport, "\x01\x01g\x03\x00")
	shown := reveal(t, moduleOf(secImport, "\x01\x03env\x01g\x03\x7f\x01", secGlobal, "\x06"+
		"\x7f\x00\x41\x08\x0b"+ // i32, not mutable
		"\x7e\x01\x42\x09\x0b"+ // i64
		"\x7b\x01\xfd\x0c\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x0b"+ // v128
		"\x7d\x01\x43\x00\x00\x80\x3f\x0b"+ // f32
		"\x70\x01\xd0\x70\x0b"+ // funcref
		"\x6f\x01\xd0\x6f\x0b")) // externref
	want := []uint64{7, 9, 0x3f800000, 0, 0, 1, 2}
	for engine := range engines {
		for _, bin := range [][]byte{shown.bin, mustMeter(t, shown.bin, MeterOptions{})} {
			rt := wazero.NewRuntimeWithConfig(t.Context(), engines[engine]().WithCoreFeatures(features))
			if _, err := rt.InstantiateWithConfig(t.Context(), env, wazero.NewModuleConfig().WithName("env")); err != nil {
				t.Fatal(err)
			}
			k := &tank{slice: DefaultSlice}
			g := open(t, rt, bin, k, meterOf(rt, k))
			if got := shown.values(t, g.mod); !slices.Equal(got, want) {
				t.Errorf("%s: %x, want %x", engine, got, want)
			}
			rt.Close(t.Context())
		}
	}
}
