package wasmbin

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// specCommand is one command of a script of the specification. It has no expected results,
// because the plain modules give them.
type specCommand struct {
	Type, Name, Filename, As string
	Line                     int
	Action                   struct {
		Type, Module, Field string
		Args                []specValue
	}
}

type specValue struct {
	Type  string
	Lanes string `json:"lane_type"`
	Value any
}

// cells returns a value as the engine takes it.
func (v specValue) cells(t *testing.T) []uint64 {
	t.Helper()
	lanes, vector := v.Value.([]any)
	if !vector {
		if v.Value == "null" {
			return []uint64{0}
		}
		n := decimal(t, v.Value)
		if v.Type == "externref" {
			n++ // the engine takes 0 for null
		}
		if v.Type == "i32" || v.Type == "f32" {
			n = uint64(uint32(n))
		}
		return []uint64{n}
	}
	cells, bits := make([]uint64, 2), 128/len(lanes)
	for i, lane := range lanes {
		n := decimal(t, lane) & (1<<bits - 1)
		cells[i*bits/64] |= n << (i * bits % 64)
	}
	return cells
}

// decimal reads a decimal number of up to 64 bits, with a sign or without.
func decimal(t *testing.T, v any) uint64 {
	t.Helper()
	text, _ := v.(string)
	if n, err := strconv.ParseUint(text, 10, 64); err == nil {
		return n
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return uint64(n)
}

// twins are an instance of a module and an instance of its metered form.
type twins struct {
	plain, metered api.Module
	shown          *revealed
	info           *Info
}

// stage runs one script. Its plain instances are linked to each other, and so are the
// metered ones.
type stage struct {
	*differential
	what              string
	named, registered map[string]*twins
	last              *twins
	all               []*twins
	linked            int // instances with imports
}

// tableMaximum is the engine's error for a table without a matching maximum. Metered tables all
// have a maximum.
var tableMaximum = regexp.MustCompile(`(maximum size mismatch: \d+).*`)

// instantiate makes twins of a file. It returns nil if the engine refuses one of them; its errors
// must be the same.
func (s *stage) instantiate(path string) *twins {
	s.t.Helper()
	bin, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.compile(bin) == nil {
		return nil
	}
	info, err := Inspect(bin)
	if err != nil {
		return nil // TestSpecModulesKeepTheirMeaning counts these
	}
	w := &twins{shown: reveal(s.t, bin), info: info}
	instance := func(bin []byte, of func(*twins) api.Module) (api.Module, string) {
		ctx := experimental.WithImportResolver(context.Background(), func(name string) api.Module {
			if r := s.registered[name]; r != nil {
				return of(r)
			}
			return nil
		})
		mod, err := s.rt.InstantiateModule(ctx, s.compile(bin), wazero.NewModuleConfig().WithName("").WithStartFunctions())
		return mod, tableMaximum.ReplaceAllString(startFunction.ReplaceAllString(firstLine(err), ""), "$1")
	}
	var perr, merr string
	w.plain, perr = instance(w.shown.bin, func(r *twins) api.Module { return r.plain })
	w.metered, merr = instance(mustMeter(s.t, w.shown.bin, MeterOptions{}), func(r *twins) api.Module { return r.metered })
	if perr != merr {
		s.t.Errorf("%s: instantiate: plain %q, metered %q", s.what, perr, merr)
	}
	if w.plain == nil || w.metered == nil {
		return nil
	}
	s.ran++
	if len(info.Imports) > 0 {
		s.linked++
	}
	s.all = append(s.all, w)
	return w
}

// run carries out one command.
func (s *stage) run(dir string, c *specCommand) {
	s.t.Helper()
	switch c.Type {
	case "module":
		s.last = s.instantiate(filepath.Join(dir, c.Filename))
		if c.Name != "" {
			s.named[c.Name] = s.last
		}
	case "register":
		s.registered[c.As] = s.of(c.Name)
	case "assert_unlinkable", "assert_uninstantiable":
		s.instantiate(filepath.Join(dir, c.Filename))
	case "action", "assert_return", "assert_trap", "assert_exhaustion":
		if c.Filename != "" {
			s.instantiate(filepath.Join(dir, c.Filename))
		} else if w := s.of(c.Action.Module); w != nil {
			s.act(w, c)
		}
	}
}

func (s *stage) of(name string) *twins {
	if name == "" {
		return s.last
	}
	return s.named[name]
}

// act calls an export of both twins, or reads a global of both.
func (s *stage) act(w *twins, c *specCommand) {
	s.t.Helper()
	field := c.Action.Field
	if c.Action.Type == "get" {
		if p, m := w.plain.ExportedGlobal(field).Get(), w.metered.ExportedGlobal(field).Get(); p != m {
			s.t.Errorf("%s: global %q: plain %x, metered %x", s.what, field, p, m)
		}
		return
	}
	var args []uint64
	for _, v := range c.Action.Args {
		args = append(args, v.cells(s.t)...)
	}
	f := w.plain.ExportedFunction(field)
	p, perr := f.Call(context.Background(), args...)
	m, merr := w.metered.ExportedFunction(field).Call(context.Background(), args...)
	s.calls++
	if perr != nil {
		s.traps++
	}
	if !sameResults(f.Definition().ResultTypes(), p, m) || firstLine(perr) != firstLine(merr) {
		s.t.Errorf("%s: %s%v: plain %v %q, metered %v %q", s.what, field, args, p, firstLine(perr), m, firstLine(merr))
	}
	s.compare(w)
}

func (s *stage) compare(w *twins) {
	s.t.Helper()
	if diff := w.shown.differs(s.t, w.info, w.plain, w.metered); diff != "" {
		s.t.Errorf("%s: %s", s.what, diff)
	}
}

// linking are scripts whose modules import from each other. Other scripts are drawn.
var linking = []string{"linking.json", "imports.json"}

// TestSpecScriptsKeepTheirMeaning runs scripts of the engine's spec tests with
// plain modules linked to each other, and with metered modules linked to each other. Their
// imports exist, and their arguments are those that the authors of the tests chose.
func TestSpecScriptsKeepTheirMeaning(t *testing.T) {
	root := specFolder(t)
	scripts, err := filepath.Glob(filepath.Join(root, "*", "testdata", "*.json"))
	if err != nil || len(scripts) < 200 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	scripts = slices.DeleteFunc(scripts, func(path string) bool {
		return !drawn(filepath.Base(path)) && !slices.Contains(linking, filepath.Base(path))
	})
	for engine := range engines {
		t.Run(engine, func(t *testing.T) {
			d := newDifferential(t, engine)
			d.tank = &tank{slice: DefaultSlice}
			linked := 0
			for _, path := range scripts {
				linked += d.script(root, path)
			}
			t.Logf("%d scripts, %d instances, of which %d import, %d calls of which %d trapped", len(scripts), d.ran, linked, d.calls, d.traps)
			if d.ran < partOf(2000) || linked < partOf(200) || d.calls < partOf(50_000) || d.traps < partOf(2000) {
				t.Error("too little was compared")
			}
		})
	}
}

// script runs one script and returns how many of its modules import something.
func (d *differential) script(root, path string) int {
	d.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	var script struct{ Commands []specCommand }
	if err := json.Unmarshal(text, &script); err != nil {
		d.t.Fatal(err)
	}
	s := &stage{differential: d, what: "spectest", named: map[string]*twins{}, registered: map[string]*twins{}}
	s.registered["spectest"] = s.instantiate(filepath.Join(root, "testdata", "spectest.wasm"))
	for i := range script.Commands {
		c := &script.Commands[i]
		s.what = filepath.Base(path) + ":" + strconv.Itoa(c.Line)
		s.run(filepath.Dir(path), c)
	}
	ctx := context.Background()
	for _, w := range slices.Backward(s.all) {
		s.compare(w)
		w.plain.Close(ctx)
		w.metered.Close(ctx)
	}
	d.drop()
	return s.linked
}
