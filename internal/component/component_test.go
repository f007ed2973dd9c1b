package component

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// The tests write components by hand, with the parts that the tools for components write: a shim
// whose table is filled when the memory is there, and globals that say where a module lies.

func vec(items ...[]byte) []byte {
	return append(unsigned(nil, uint32(len(items))), bytes.Join(items, nil)...)
}

func part(id byte, items ...[]byte) []byte { return sized([]byte{id}, vec(items...)) }

func cat(parts ...any) (out []byte) {
	for _, p := range parts {
		switch x := p.(type) {
		case string:
			out = text(out, x)
		case int:
			out = append(out, byte(x))
		case []byte:
			out = append(out, x...)
		}
	}
	return out
}

func coreOf(sections ...[]byte) []byte {
	return append(slices.Clone(coreHeader), bytes.Join(sections, nil)...)
}

func body(code ...byte) []byte { return sized(nil, append(append([]byte{0}, code...), opEnd)) }

var (
	typeCall    = []byte{0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 0}
	typeRealloc = []byte{0x60, 4, 0x7f, 0x7f, 0x7f, 0x7f, 1, 0x7f}
	typeRun     = []byte{0x60, 3, 0x7f, 0x7f, 0x7f, 1, 0x7f}
	typeOne     = []byte{0x60, 1, 0x7f, 0}
	typeVoid    = []byte{0x60, 0, 0}
)

// modules of the component
func places() []byte { // exports 24, as 20 + 4
	return coreOf(part(6, cat(0x7f, 0, 0x41, 20, 0x41, 4, 0x6a, 0x0b)), part(7, cat("base", 3, 0)))
}

func shim() []byte {
	return coreOf(part(1, typeCall), part(3, []byte{0}), part(4, cat(0x70, 0, 1)), part(7, cat("call", 0, 0), cat("t", 1, 0)),
		part(10, body(0x20, 0, 0x20, 1, 0x20, 2, 0x20, 3, 0x41, 0, 0x11, 0, 0)))
}

func fixup() []byte {
	return coreOf(part(1, typeCall), part(2, cat("", "f", 0, 0), cat("", "t", 1, 0x70, 0, 1)), part(9, cat(0, 0x41, 0, 0x0b, 1, 0)))
}

// machine calls the import with what run gets and 16 as the place of the answer, and returns 24,
// where there is a copy of the answer. Its start function sets the byte at 40 to 7.
func machine() []byte {
	return coreOf(part(1, typeCall, typeRealloc, typeRun, typeOne, typeVoid),
		part(2, cat("env", "call", 0, 0), cat("got", "base", 3, 0x7f, 0)),
		part(3, []byte{1}, []byte{2}, []byte{3}, []byte{4}, []byte{4}), part(5, []byte{0, 1}),
		part(6, cat(0x7f, 0, 0x23, 0, 0x0b), cat(0x7f, 1, 0x41, 0xe4, 0, 0x0b)), // base, and the next free place: 100
		part(7, cat("memory", 2, 0), cat("realloc", 0, 1), cat("run", 0, 2), cat("post", 0, 3)),
		[]byte{8, 1, 4},
		part(10,
			body(0x23, 2, 0x23, 2, 0x20, 3, 0x6a, 0x24, 2), // realloc
			body(0x20, 0, 0x20, 1, 0x20, 2, 0x41, 16, 0x10, 0, 0x23, 1, 0x41, 16, 0x28, 2, 0, 0x36, 2, 0, 0x23, 1, 0x41, 20, 0x28, 2, 0, 0x36, 2, 4, 0x23, 1), // run
			body(0x41, 0, 0x20, 0, 0x36, 2, 0),  // post: notes its parameter at 0
			body(0x41, 40, 0x41, 7, 0x3a, 0, 0), // start
			body(0x00)),                         // nobody calls it
		part(11, cat(0, 0x23, 0, 0x0b, "abcdefgh")))
}

func component(modules ...[]byte) []byte {
	out := slices.Clone(header)
	for _, m := range modules {
		out = sized(append(out, 1), m)
	}
	for _, s := range [][]byte{
		part(7, []byte{0x40, 0, 0, 0x40}),
		part(10, cat(0, "call", 1, 0)),
		part(2, cat(0, 0, 0), cat(0, 1, 0), cat(0, 2, 2, "env", 0x12, 1, "got", 0x12, 0)),
		part(6, cat(0, 2, 1, 2, "memory"), cat(0, 0, 1, 2, "realloc"), cat(0, 1, 1, 1, "t"), cat(0, 0, 1, 2, "run"), cat(0, 0, 1, 2, "post")),
		part(8, cat(1, 0, 0, 2, 3, 0, 4, 0)),
		part(2, cat(1, 2, "f", 0, 3, "t", 1, 0), cat(0, 3, 1, "", 0x12, 3)),
		part(8, cat(0, 0, 1, 3, 3, 0, 4, 0, 5, 2, 0)),
		part(11, cat(0, "run", 1, 1, 0)),
	} {
		out = append(out, s...)
	}
	return out
}

func sound() []byte { return component(places(), shim(), machine(), fixup()) }

// around is a shell that answers the import by a function of the host, and whose function go calls
// run with 1, 2 and 3, then post with the result, which it returns.
func around() []byte {
	typeGo := []byte{0x60, 0, 1, 0x7f}
	return coreOf(part(1, typeCall, typeRun, typeOne, typeGo),
		part(2, cat("component.run", "call", 0, 1), cat("component.run", "post", 0, 2), cat("env", "host", 0, 0), cat("component.run", "memory", 2, 0, 1)),
		part(3, []byte{0}, []byte{3}),
		part(7, cat("$root#call", 0, 3), cat("go", 0, 4), cat("memory", 2, 0)),
		part(10, body(0x20, 0, 0x20, 1, 0x20, 2, 0x20, 3, 0x10, 2), sized(nil, cat(1, 1, 0x7f, 0x41, 1, 0x41, 2, 0x41, 3, 0x10, 0, 0x22, 0, 0x10, 1, 0x20, 0, 0x0b))))
}

// A component and a shell become one module that does what they do together.
func TestLink(t *testing.T) {
	c, err := Read(sound())
	if err != nil {
		t.Fatal(err)
	}
	imports, memory, err := c.Imports()
	if err != nil || memory != 65536 || len(imports) != 1 || imports[0] != (Import{"$root", "call", string(typeCall)}) {
		t.Fatalf("imports %+v, memory %d, %v", imports, memory, err)
	}
	wasm, err := c.Link(around(), 2)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer rt.Close(ctx)
	var asked []uint32
	if _, err := rt.NewHostModuleBuilder("env").NewFunctionBuilder().WithFunc(func(_ context.Context, m api.Module, a, b, c, ret uint32) {
		asked = append(asked, a, b, c, ret)
		m.Memory().WriteUint32Le(ret, 55)
		m.Memory().WriteUint32Le(ret+4, 66)
	}).Export("host").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	m, err := rt.Instantiate(ctx, wasm)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.ExportedFunction("go").Call(ctx)
	if err != nil || got[0] != 24 || !slices.Equal(asked, []uint32{1, 2, 3, 16}) {
		t.Fatalf("go returns %v, %v; the host was asked %v", got, err, asked)
	}
	data, _ := m.Memory().Read(0, 41)
	if data[0] != 24 || data[24] != 55 || data[28] != 66 || data[40] != 7 || m.Memory().Size() != 3*65536 {
		t.Errorf("memory %v of %d bytes", data, m.Memory().Size())
	}
	if n := len(m.ExportedFunctionDefinitions()); n != 1 {
		t.Errorf("%d functions are exported", n)
	}
	if body := []byte{0, 0, opEnd}; bytes.Contains(wasm, append([]byte{3}, body...)) {
		t.Error("the module has a function that nobody calls")
	}
}

// A memory that cannot grow has room for the pages of the shell.
func TestBoundedMemory(t *testing.T) {
	bounded := bytes.Replace(machine(), []byte{5, 3, 1, 0, 1}, []byte{5, 4, 1, 1, 1, 1}, 1)
	c, err := Read(component(places(), shim(), bounded, fixup()))
	if err != nil {
		t.Fatal(err)
	}
	wasm, err := c.Link(around(), 2)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer rt.Close(ctx)
	if _, err := rt.CompileModule(ctx, wasm); err != nil {
		t.Error(err)
	}
}

// What is no component of the world is refused with a reason.
func TestRefused(t *testing.T) {
	twice := component(places(), shim(), machine(), coreOf(part(5, []byte{0, 1})))
	threads := bytes.Replace(machine(), []byte{5, 3, 1, 0, 1}, []byte{5, 4, 1, 3, 1, 1}, 1)
	for name, c := range map[string]struct {
		bin  []byte
		kind error
		want string
	}{
		"nothing":          {nil, ErrMalformed, "header"},
		"a core module":    {machine(), ErrMalformed, "header"},
		"cut":              {sound()[:300], ErrMalformed, "announced"},
		"two memories":     {twice, ErrUnsupported, "several memories"},
		"a shared memory":  {component(places(), shim(), threads, fixup()), ErrUnsupported, "shared memories"},
		"a start function": {append(sound(), part(9)...), ErrUnsupported, "start function"},
		"no such instance": {append(sound(), part(2, cat(0, 0, 1, "x", 0x12, 9))...), ErrMalformed, "index 9 of a core instance"},
		"many elements":    {append(sound(), sized([]byte{2}, unsigned(nil, 1<<31))...), ErrMalformed, "announced"},
	} {
		read, err := Read(c.bin)
		if err == nil {
			_, err = read.Link(around(), 0)
		}
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

// A small file cannot ask for much work: neither by many instances of a module nor by one long
// expression.
func TestWorkIsThatOfTheFile(t *testing.T) {
	module := coreOf(part(1, typeVoid), part(3, slices.Repeat([][]byte{{0}}, 1000)...), part(10, slices.Repeat([][]byte{{2, 0, opEnd}}, 1000)...))
	copies := append(sized(append(slices.Clone(header), 1), module), part(2, slices.Repeat([][]byte{{0, 0, 0}}, 900)...)...)
	long := coreOf(part(6, cat(0x7f, 0, bytes.Repeat([]byte{opI32Const, 0}, 100_000), opEnd)))
	one := append(sized(append(slices.Clone(header), 1), long), part(2, []byte{0, 0, 0})...)
	for name, bin := range map[string][]byte{"2 times": copies, "100 values": one} {
		c, err := Read(bin)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := c.Imports(); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A shell must answer what the component imports, with functions of the same type.
func TestShellMustFit(t *testing.T) {
	c, err := Read(sound())
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{{"$root#call", "$root#cull"}, {"component.run", "component.ran"}, {"\x04post", "\x04pest"}} {
		shell := bytes.ReplaceAll(around(), []byte(change[0]), []byte(change[1]))
		if _, err := c.Link(shell, 0); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%s: error %v", change[1], err)
		}
	}
}

// Whatever the bytes are, there is a result or an error.
func FuzzLink(f *testing.F) {
	f.Add(sound())
	f.Add(component(places(), machine(), shim(), fixup()))
	f.Add(component(machine(), machine()))
	f.Fuzz(func(t *testing.T, bin []byte) {
		c, err := Read(bin)
		if err != nil {
			return
		}
		if _, _, err := c.Imports(); err != nil {
			return
		}
		wasm, err := c.Link(around(), 1)
		if err == nil && !bytes.HasPrefix(wasm, coreHeader) {
			t.Errorf("%d bytes are no module", len(wasm))
		}
	})
}
