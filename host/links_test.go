package host_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// lib is the link that the fixtures import from.
func lib(t *testing.T) []host.Link {
	t.Helper()
	return []host.Link{{Name: "lib", Spec: fixture(t, "link-lib").Spec}}
}

// links skips a test where modules cannot be linked.
func links(t *testing.T) {
	if portable() {
		t.Skip("modules are not linked")
	}
}

func loadLinked(t *testing.T, cfg host.PluginConfig) *host.Plugin {
	t.Helper()
	cfg.Links = lib(t)
	return load(t, newHost(t, host.Config{}), "link-main", cfg)
}

func TestLink(t *testing.T) {
	links(t)
	for _, engine := range []host.Engine{host.EngineCompiler, host.EngineInterpreter} {
		p := loadLinked(t, host.PluginConfig{Engine: engine})
		for range 3 {
			r, err := p.Call(t.Context(), "run", []byte("Hello, World"))
			if err != nil || string(r.Output) != "HELLO, WORLD" {
				t.Fatalf("%s: %v, error %v", engine, r, err)
			}
			if _, err := p.Call(t.Context(), "started", nil); err != nil {
				t.Error("the start of the link:", err)
			}
		}
	}
}

// Linking goes by exports, so a module without names of its functions links.
func TestLinkWithoutNames(t *testing.T) {
	links(t)
	wasm, err := os.ReadFile(filepath.Join(fixtures, "link-lib", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	stripped := withoutCustoms(t, wasm)
	if len(stripped) >= len(wasm) {
		t.Fatal("nothing to strip")
	}
	spec, err := spec.Read("link-lib", stripped, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := load(t, newHost(t, host.Config{}), "link-main", host.PluginConfig{Links: []host.Link{{Name: "lib", Spec: spec}}})
	if r, err := p.Call(t.Context(), "run", []byte("x")); err != nil || string(r.Output) != "X" {
		t.Errorf("%v, error %v", r, err)
	}
}

// withoutCustoms removes the custom sections of a module.
func withoutCustoms(t *testing.T, wasm []byte) []byte {
	t.Helper()
	out := bytes.Clone(wasm[:8])
	for at := 8; at < len(wasm); {
		size, n := binary.Uvarint(wasm[at+1:])
		end := at + 1 + n + int(size)
		if n <= 0 || end > len(wasm) {
			t.Fatal("a broken fixture")
		}
		if wasm[at] != 0 {
			out = append(out, wasm[at:end]...)
		}
		at = end
	}
	return out
}

// A link has the limits of the plugin: one fuel, one deadline, one memory.
func TestLinkLimits(t *testing.T) {
	links(t)
	p := loadLinked(t, host.PluginConfig{Limits: host.Limits{Timeout: 100 * time.Millisecond}})
	checkStop(t, p, "spin", 100*time.Millisecond)
	p = loadLinked(t, host.PluginConfig{Limits: host.Limits{Fuel: 1_000_000}})
	_, err := p.Call(t.Context(), "spin", nil)
	checkReason(t, err, abi.ReasonFuel)
	_, err = p.Call(t.Context(), "trap", nil)
	checkReason(t, err, abi.ReasonTrap)

	p = loadLinked(t, host.PluginConfig{Limits: host.Limits{Memory: 16 << 20}})
	if _, err := p.Call(t.Context(), "grow", nil); err != nil {
		t.Error(err)
	}
	_, err = p.Call(t.Context(), "grow_far", nil)
	checkReason(t, err, abi.ReasonMemory)
	if r, err := p.Call(t.Context(), "run", []byte("after")); err != nil || string(r.Output) != "AFTER" {
		t.Errorf("the next call: %v, error %v", r, err)
	}
}

// The memories of a guest and of its links count for its limit together, to the page.
func TestLimitOfLinkedMemories(t *testing.T) {
	links(t)
	const most = 8 // pages
	library, err := spec.Read("library", foreignModule(1, zero, nil, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, more := range []int{most - 2, most - 1} { // both begin with one page
		guest, err := spec.Read("grows", growsBy(more), nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := newHost(t, host.Config{}).Load(t.Context(), guest, host.PluginConfig{Links: []host.Link{{Name: "library", Spec: library}},
			Limits: host.Limits{Memory: most << 16}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Call(t.Context(), "run", nil); (err != nil) != (more+2 > most) {
			t.Errorf("%d pages of %d: error %v", more+2, most, err)
		}
	}
}

// growsBy is a foreign module whose function run fails if its memory of one page cannot grow by
// so many pages. It imports the function run of the module library.
func growsBy(pages int) []byte {
	body := append(leb([]byte{0, 0x41}, pages), 0x40, 0, 0x41, 0x7f, 0x46, 0x0b) // memory.grow pages == -1
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, s := range []section{
		{1, []byte{1, 0x60, 0, 1, 0x7f}}, {2, []byte("\x01\x07library\x03run\x00\x00")}, {3, []byte{1, 0}}, {5, []byte{1, 0, 1}},
		{7, []byte("\x02\x06memory\x02\x00\x03run\x00\x01")}, {10, append([]byte{1}, sized(body)...)},
	} {
		out = append(append(out, s.id), sized(s.content)...)
	}
	return out
}

// The host's budget counts the memories of links.
func TestLinkMemoryCounts(t *testing.T) {
	links(t)
	h := newHost(t, host.Config{})
	p := load(t, h, "link-main", host.PluginConfig{Links: lib(t), Limits: host.Limits{Instances: 1}})
	if _, used := host.Usage(h); used < 3*64<<10 {
		t.Errorf("the host counts %d bytes for three memories", used)
	}
	_, before := host.Usage(h)
	if _, err := p.Call(t.Context(), "grow", nil); err != nil {
		t.Fatal(err)
	}
	if _, used := host.Usage(h); used-before != 100*64<<10 {
		t.Errorf("the host counts %d bytes more for 100 pages", used-before)
	}
}

// Fuel is the sum of what the modules use, the same on each call.
func TestLinkFuel(t *testing.T) {
	links(t)
	p := loadLinked(t, host.PluginConfig{})
	var fuel []int64
	for _, input := range []string{"0123456789", "0123456789", strings.Repeat("0123456789", 1000)} {
		r, err := p.Call(t.Context(), "run", []byte(input))
		if err != nil {
			t.Fatal(err)
		}
		fuel = append(fuel, r.Fuel)
	}
	if fuel[0] != fuel[1] || fuel[2] < 500*fuel[0] {
		t.Errorf("fuel %d", fuel)
	}
}

// The state of a link is put back with that of the plugin, and further instances
// start from it.
func TestLinkState(t *testing.T) {
	links(t)
	for _, engine := range []host.Engine{host.EngineCompiler, host.EngineInterpreter} {
		p := loadLinked(t, host.PluginConfig{Engine: engine, State: host.StateReset, Limits: host.Limits{Instances: 3, MinInstances: 3}})
		if p.State() != host.StateReset {
			t.Fatalf("%s: state %q: %v", engine, p.State(), p.Notes())
		}
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() {
				for _, name := range []string{"first", "grow", "first", "trap", "first", "started"} { // each growth needs 100 pages more
					if _, err := p.Call(t.Context(), name, nil); (err != nil) != (name == "trap") {
						t.Errorf("%s: %s: %v", engine, name, err)
					}
				}
			})
		}
		calls.Wait()
	}
	p := loadLinked(t, host.PluginConfig{State: host.StateKeep, Limits: host.Limits{Instances: 1}})
	for i := range 2 {
		if _, err := p.Call(t.Context(), "first", nil); (err != nil) != (i > 0) {
			t.Errorf("kept, call %d: %v", i, err)
		}
	}
}

// Modules may import from each other in a circle, in whatever order they are
// given.
func TestLinkCircle(t *testing.T) {
	links(t)
	even, odd := host.Link{Name: "even", Spec: fixture(t, "link-even").Spec}, host.Link{Name: "odd", Spec: fixture(t, "link-odd").Spec}
	h := newHost(t, host.Config{})
	for _, ls := range [][]host.Link{{even, odd}, {odd, even}} {
		for _, engine := range []host.Engine{host.EngineCompiler, host.EngineInterpreter} {
			p := load(t, h, "link-parity", host.PluginConfig{Links: ls, Engine: engine})
			var fuel []int64
			for range 2 {
				r, err := p.Call(t.Context(), "run", nil)
				if err != nil {
					t.Fatal(err)
				}
				fuel = append(fuel, r.Fuel)
			}
			if fuel[0] != fuel[1] || fuel[0] < 1500 {
				t.Errorf("fuel %d", fuel)
			}
		}
	}
}

// A circle without end is stopped, and the next call finds a new instance.
func TestLinkEndlessCircle(t *testing.T) {
	links(t)
	p := load(t, newHost(t, host.Config{}), "link-circle-a", host.PluginConfig{
		Limits: host.Limits{Timeout: time.Minute, Fuel: 10_000_000},
		Links:  []host.Link{{Name: "b", Spec: fixture(t, "link-circle-b").Spec}, {Name: "a", Spec: fixture(t, "link-circle-a").Spec}},
	})
	for range 2 {
		_, err := p.Call(t.Context(), "run", nil)
		var perr *host.PluginError
		if !errors.As(err, &perr) || perr.Code != abi.ReasonFuel && perr.Code != abi.ReasonTrap {
			t.Errorf("error %v", err)
		}
	}
}

// A link that fills the stack when it starts ends the loading of the plugin, whose error
// names the link. Nothing is held after that, and the host serves others.
func TestLinkThatRecursesWhenItStarts(t *testing.T) {
	links(t)
	h := newHost(t, host.Config{})
	for engine, bound := range map[host.Engine]string{host.EngineCompiler: "its calls nest too deep", host.EngineInterpreter: "its calls nest more than 2000 deep"} {
		for _, name := range []string{"link-start-recurses", "link-init-recurses"} {
			_, before := host.Usage(h)
			_, err := h.Load(t.Context(), fixture(t, "link-circle-a").Spec, host.PluginConfig{
				Engine: engine, Links: []host.Link{{Name: "b", Spec: fixture(t, name).Spec}}})
			want := `plugin "link-circle-a": init: init_failed: trap: link "b": stack overflow: ` + bound
			var perr *host.PluginError
			if !errors.As(err, &perr) || perr.Code != abi.ReasonInitFailed || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s, %s: error %v\nwant %s", engine, name, err, want)
			}
			if instances, memory := host.Usage(h); instances != 0 || memory != before {
				t.Errorf("%s, %s: %d instances are held, and %d bytes more than before", engine, name, instances, memory-before)
			}
		}
		p := load(t, h, "link-main", host.PluginConfig{Engine: engine, Links: lib(t)})
		if _, err := p.Call(t.Context(), "started", nil); err != nil {
			t.Errorf("%s: %v", engine, err)
		}
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// offerIt names all the places where a function is offered to a guest.
func offerIt(module string) string {
	return fmt.Sprintf("link a module: links: {%s: PLUGIN} of the instance, or --link %s=FILE.wasm of plugin call; "+
		"or embed the host and register the function: host.NewFunction in Config.Functions", module, module)
}

func TestBadLinks(t *testing.T) {
	link := func(name, fix string) host.Link { return host.Link{Name: name, Spec: fixture(t, fix).Spec} }
	for _, tc := range []struct {
		main  string
		links []host.Link
		kind  error
		want  string
	}{
		{"link-main", nil, host.ErrImport,
			`plugin "link-main": import "shout" of module "lib": unusable import (` + offerIt("lib") + `)`},
		{"link-main", []host.Link{link("libb", "link-lib")}, host.ErrImport,
			`plugin "link-main": import "shout" of module "lib": unusable import (did you mean module "libb"? ` + offerIt("lib") + `)`},
		{"link-thief", lib(t), host.ErrImport,
			`plugin "link-thief": import "anchor:start" of module "lib": unusable import (the linked module exports _initialize, calls, grow, shout, spin, starts, trap)`},
		{"link-type", lib(t), host.ErrSignature,
			`plugin "link-type": import "shout" of module "lib" has type (i32) -> (): wrong signature (want (i64) -> (i64))`},
		{"link-main", append(lib(t), link("other", "link-lib")), host.ErrConfig,
			`plugin "link-main": link "other": invalid configuration: nothing imports from it (give it the name that the import has)`},
		{"link-main", append(lib(t), lib(t)...), host.ErrConfig,
			`plugin "link-main": link "lib": invalid configuration: it is there twice`},
		{"link-main", []host.Link{link("extism:host/env", "link-lib")}, host.ErrConfig,
			`plugin "link-main": link "extism:host/env": invalid configuration (the name is taken by this host)`},
		{"link-main", []host.Link{link("anchor:meter", "link-lib")}, host.ErrConfig,
			`plugin "link-main": link "anchor:meter": invalid configuration (the name is taken by this host)`},
		{"link-main", []host.Link{link("lib", "no-change")}, host.ErrConfig,
			`plugin "link-main": link "lib": invalid configuration (only modules that do not speak the contract can be linked)`},
		{"link-main", []host.Link{link("lib", "foreign-command")}, host.ErrConfig,
			`plugin "link-main": link "lib" imports WASI functions: invalid configuration ` + offerWASI},
	} {
		_, err := newHost(t, host.Config{}).Load(t.Context(), fixture(t, tc.main).Spec, host.PluginConfig{Links: tc.links})
		if !errors.Is(err, tc.kind) || err.Error() != tc.want {
			t.Errorf("error %v\nwant  %s", err, tc.want)
		}
	}
}

func TestLinksNeedWhatIsExperimental(t *testing.T) {
	_, err := newHost(t, host.Config{Portable: true}).Load(t.Context(), fixture(t, "link-main").Spec, host.PluginConfig{Links: lib(t)})
	if !errors.Is(err, host.ErrConfig) || !strings.Contains(err.Error(), "experimental") {
		t.Error(err)
	}
}

// A link without a memory has a state all the same, or none.
func TestLinksWithoutMemoryAreReset(t *testing.T) {
	links(t)
	ls := []host.Link{{Name: "odd", Spec: fixture(t, "link-odd").Spec}, {Name: "even", Spec: fixture(t, "link-even").Spec}}
	p := load(t, newHost(t, host.Config{}), "link-parity", host.PluginConfig{State: host.StateReset, Links: ls})
	if p.State() != host.StateReset {
		t.Errorf("state %s: %q", p.State(), p.Notes())
	}
	for range 3 {
		if _, err := p.Call(t.Context(), p.Spec().Functions[0], nil); err != nil {
			t.Error(err)
		}
	}
}

// A link that returns the milliseconds of its monotonic clock, and a guest that returns what
// the link returns:
//
//	(func (export "now") (result i32)
//	  (drop (call $clock_time_get (i32.const 1) (i64.const 1) (i32.const 0)))
//	  (i32.wrap_i64 (i64.div_u (i64.load (i32.const 0)) (i64.const 1000000))))
//
//	(func (export "run") (result i32) (call $now))
const (
	clockLink = "\x00asm\x01\x00\x00\x00" +
		"\x01\x0c\x02\x60\x03\x7f\x7e\x7f\x01\x7f\x60\x00\x01\x7f" +
		"\x02\x29\x01\x16wasi_snapshot_preview1\x0eclock_time_get\x00\x00" +
		"\x03\x02\x01\x01" +
		"\x05\x03\x01\x00\x01" +
		"\x07\x10\x02\x06memory\x02\x00\x03now\x00\x01" +
		"\x0a\x18\x01\x16\x00\x41\x01\x42\x01\x41\x00\x10\x00\x1a\x41\x00\x29\x03\x00\x42\xc0\x84\x3d\x80\xa7\x0b"
	clockMain = "\x00asm\x01\x00\x00\x00" +
		"\x01\x05\x01\x60\x00\x01\x7f" +
		"\x02\x0b\x01\x03lib\x03now\x00\x00" +
		"\x03\x02\x01\x00" +
		"\x07\x07\x01\x03run\x00\x01" +
		"\x0a\x06\x01\x04\x00\x10\x00\x0b"
)

// The clocks of a deterministic plugin start anew with each call, those of its links too.
func TestClocksOfLinksAreReset(t *testing.T) {
	links(t)
	var specs []*spec.Spec
	for _, wasm := range []string{clockLink, clockMain} {
		s, err := spec.Read("clock", []byte(wasm), nil)
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, s)
	}
	p, err := newHost(t, host.Config{}).Load(t.Context(), specs[1], host.PluginConfig{WASI: true, Deterministic: true, State: host.StateReset,
		Links: []host.Link{{Name: "lib", Spec: specs[0]}}, Limits: host.Limits{Instances: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := p.Call(t.Context(), "run", nil); err != nil {
			t.Error("another status than that of the first reading, 0:", err)
		}
	}
}
