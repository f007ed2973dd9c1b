package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

var bothEngines = []host.Engine{host.EngineCompiler, host.EngineInterpreter}

// A module without a memory is called like any other: Extism's functions need none.
func TestWithoutMemory(t *testing.T) {
	for _, engine := range bothEngines {
		for state, want := range map[host.State]string{host.StateReset: "111", host.StateFresh: "111", host.StateKeep: "123"} {
			t.Run(string(engine)+"/"+string(state), func(t *testing.T) {
				h := newHost(t, host.Config{})
				p := load(t, h, "foreign-no-memory", host.PluginConfig{Engine: engine, State: state, WASI: true, Limits: host.Limits{Instances: 1}})
				if p.State() != state {
					t.Fatalf("state %q: %q", p.State(), p.Notes())
				}
				var got string
				for range 3 {
					r, err := p.Call(t.Context(), "count", nil)
					if err != nil {
						t.Fatal(err)
					}
					got += string(r.Output)
				}
				if got != want {
					t.Errorf("counts %s, want %s", got, want)
				}
				for _, input := range []string{"Hello, World", "", strings.Repeat("x", 100_000)} {
					r, err := p.Call(t.Context(), "upper", []byte(input))
					if err != nil || string(r.Output) != strings.ToUpper(input) || r.Memory != 0 {
						t.Errorf("%d bytes: %d bytes, error %v", len(input), len(r.Output), err)
					}
				}
			})
		}
	}
}

// Its limits hold, and none of its faults touches the next call.
func TestLimitsWithoutMemory(t *testing.T) {
	t.Parallel()
	for _, engine := range bothEngines {
		for _, state := range []host.State{host.StateReset, host.StateKeep} {
			cfg := host.PluginConfig{Engine: engine, State: state, WASI: true, Limits: host.Limits{Instances: 1, Timeout: badTime, Memory: 4 << 20}}
			checkStop(t, load(t, newHost(t, host.Config{}), "foreign-no-memory", cfg), "spin", badTime)
			cfg.Limits.Timeout = badLimit // what ends by itself has its time, on a busy machine too
			p := load(t, newHost(t, host.Config{}), "foreign-no-memory", cfg)
			for function, reason := range map[string]abi.Reason{
				"trap": abi.ReasonTrap, "hog": abi.ReasonMemory,
				"random": abi.ReasonTrap, "write": abi.ReasonTrap, "open": abi.ReasonTrap, // as wazero's functions have no memory to use
			} {
				_, err := p.Call(t.Context(), function, nil)
				checkReason(t, err, reason)
				if r, err := p.Call(t.Context(), "upper", []byte("after")); err != nil || string(r.Output) != "AFTER" {
					t.Errorf("%s, %s: after %s: %v, error %v", engine, state, function, r, err)
				}
			}
		}
	}
}

// It is called for each of several rows, too, and says nothing of one that stays as it is.
func TestFunctionWithoutMemory(t *testing.T) {
	p := load(t, newHost(t, host.Config{}), "foreign-no-memory", host.PluginConfig{State: host.StateReset, WASI: true})
	upper, err := p.Function("upper", host.FunctionOptions{Input: host.InputText})
	if err != nil {
		t.Fatal(err)
	}
	rows := abi.ItemRows{{Content: "one two", TokenCount: 2}, {Content: "THREE"}}
	answer, err := upper.Changes(t.Context(), rows, &abi.Envelope{})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Release()
	edits := answer.Changes.Edits
	if len(edits) != 1 || edits[0].Row != 0 || *edits[0].Content != "ONE TWO" || answer.Tokens[0] != 2 {
		t.Errorf("edits %+v, tokens %v", edits, answer.Tokens)
	}
}

// borrowed are the ways in which a module gets its memory from another: from its owner,
// by way of a third, and from one that imports a function of a borrower.
func borrowed(t *testing.T) map[string][]host.Link {
	t.Helper()
	link := func(name, fix string) host.Link { return host.Link{Name: name, Spec: fixture(t, fix).Spec} }
	return map[string][]host.Link{
		"owner":          {link("env", "memory-lends")},
		"middleman":      {link("env", "memory-borrows-too"), link("lib", "memory-lends")},
		"circle":         {link("env", "memory-needs-functions"), link("user", "memory-borrows-back")},
		"circle, turned": {link("user", "memory-borrows-back"), link("env", "memory-needs-functions")},
	}
}

// A borrowed memory is one memory: each sees what the other writes, and how it grows.
// It is counted once, captured once and put back once.
func TestBorrowedMemory(t *testing.T) {
	links(t)
	for name, ls := range borrowed(t) {
		for _, engine := range bothEngines {
			for _, state := range []host.State{host.StateReset, host.StateFresh} {
				t.Run(fmt.Sprint(name, "/", engine, "/", state), func(t *testing.T) {
					h := newHost(t, host.Config{})
					p := load(t, h, "memory-borrows", host.PluginConfig{Engine: engine, State: state, Links: ls,
						Limits: host.Limits{Instances: 3, MinInstances: 3}})
					if p.State() != state {
						t.Fatalf("state %q: %q", p.State(), p.Notes())
					}
					var calls sync.WaitGroup
					for range 3 {
						calls.Go(func() {
							for _, f := range []string{"first", "first", "grow", "first", "trap", "first", "grow", "grow", "first"} {
								r, err := p.Call(t.Context(), f, nil)
								switch {
								case (err != nil) != (f == "trap"):
									t.Errorf("%s: %v", f, err)
								case f == "first" && r.Memory != 3*64<<10, f == "grow" && r.Memory != 103*64<<10:
									t.Errorf("%s: memory of %d bytes", f, r.Memory)
								}
							}
						})
					}
					calls.Wait()
					checkCall(t, p, "data", "", "The borrower's")
					checkCall(t, p, "echo", strings.Repeat("by way of it ", 1000), strings.Repeat("by way of it ", 1000))
					if name == "owner" || name == "middleman" {
						checkCall(t, p, "read", "", "lent!")
					}
				})
			}
		}
	}
}

func checkCall(t *testing.T, p *host.Plugin, function, input, want string) {
	t.Helper()
	if r, err := p.Call(t.Context(), function, []byte(input)); err != nil || string(r.Output) != want {
		t.Errorf("%s: %.40q, error %v, want %.40q", function, r.Output, err, want)
	}
}

// An instance that starts from the image has what all parts wrote to the memory when they
// started, and not what the engine wrote over it since.
func TestBorrowedMemoryFromImage(t *testing.T) {
	t.Parallel()
	links(t)
	for _, engine := range bothEngines {
		for i, want := range []string{"The borrower's", "lent!"} {
			p := load(t, newHost(t, host.Config{}), "memory-borrows", host.PluginConfig{Engine: engine, State: host.StateReset,
				Links: borrowed(t)["middleman"], Limits: host.Limits{Instances: 2, Timeout: badLimit, Fuel: host.Unlimited}})
			ctx, end := context.WithCancel(t.Context())
			var spins sync.WaitGroup
			spins.Go(func() {
				_, err := p.Call(ctx, "spin", nil)
				checkReason(t, err, abi.ReasonCancelled)
			})
			for p.Stats().InUse == 0 { // until the first instance is taken
				time.Sleep(time.Millisecond)
			}
			checkCall(t, p, []string{"data", "read"}[i], "", want)
			checkCall(t, p, "echo", "again", "again")
			end()
			spins.Wait()
		}
	}
}

// The limits of the plugin hold for a memory that it borrows, which counts once.
func TestBorrowedMemoryLimits(t *testing.T) {
	links(t)
	for _, engine := range bothEngines {
		h := newHost(t, host.Config{})
		_, empty := host.Usage(h)
		p := load(t, h, "memory-borrows", host.PluginConfig{Engine: engine, Links: borrowed(t)["middleman"],
			Limits: host.Limits{Instances: 1, Memory: 16 << 20, Timeout: badLimit, Fuel: host.Unlimited}})
		_, before := host.Usage(h)
		if _, err := p.Call(t.Context(), "grow", nil); err != nil {
			t.Fatal(err)
		}
		if _, used := host.Usage(h); used-before != 100*64<<10 {
			t.Errorf("%s: the host counts %d bytes more for 100 pages", engine, used-before)
		}
		_, err := p.Call(t.Context(), "grow_far", nil)
		checkReason(t, err, abi.ReasonMemory)
		short, end := context.WithTimeout(t.Context(), badTime)
		_, err = p.Call(short, "spin", nil)
		end()
		checkReason(t, err, abi.ReasonTimeout)
		checkCall(t, p, "echo", "after", "after")
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if instances, used := host.Usage(h); instances != 0 || used != empty {
			t.Errorf("%s: %d instances and %d bytes are held after closing", engine, instances, used-empty)
		}
	}
}

// Those who borrow a memory add nothing to what the host counts: neither a memory nor an
// image.
func TestBorrowedMemoryCountsOnce(t *testing.T) {
	links(t)
	var used []int64
	for _, name := range []string{"owner", "middleman"} {
		h := newHost(t, host.Config{})
		load(t, h, "memory-borrows", host.PluginConfig{Links: borrowed(t)[name], State: host.StateReset, Limits: host.Limits{Instances: 1}})
		_, n := host.Usage(h)
		used = append(used, n)
	}
	if used[0] != used[1] || used[0] < 3*64<<10 {
		t.Errorf("the host counts %d bytes, and %d with one more borrower", used[0], used[1])
	}
}

// With state: keep it is there in the next call.
func TestBorrowedMemoryIsKept(t *testing.T) {
	links(t)
	p := load(t, newHost(t, host.Config{}), "memory-borrows", host.PluginConfig{Links: borrowed(t)["owner"],
		State: host.StateKeep, Limits: host.Limits{Instances: 1}})
	for i := range 2 {
		if _, err := p.Call(t.Context(), "first", nil); (err != nil) != (i > 0) {
			t.Errorf("call %d: %v", i, err)
		}
	}
}

// A memory that is not exported serves the module all the same.
func TestMemoryNotExported(t *testing.T) {
	for _, engine := range bothEngines {
		p := load(t, newHost(t, host.Config{}), "memory-not-lent", host.PluginConfig{Engine: engine, State: host.StateReset})
		if r, err := p.Call(t.Context(), "memory", nil); err != nil || r.Memory != 64<<10 {
			t.Errorf("%+v, error %v", r, err)
		}
	}
}

func TestBadBorrowedMemory(t *testing.T) {
	link := func(name, fix string) host.Link { return host.Link{Name: name, Spec: fixture(t, fix).Spec} }
	for _, tc := range []struct {
		main  string
		links []host.Link
		kind  error
		want  string
	}{
		{"memory-borrows", nil, host.ErrImport, `import memory "memory" of module "env": unusable import (link a module that exports it: ` +
			`links: {env: PLUGIN} of the instance, or --link env=FILE.wasm of plugin call; or define the memory in the module)`},
		{"memory-borrows", []host.Link{link("env", "link-odd")}, host.ErrImport,
			`import memory "memory" of module "env": unusable import (of memories the linked module exports nothing)`},
		{"memory-borrows", []host.Link{link("env", "memory-not-lent")}, host.ErrImport,
			`import memory "memory" of module "env": unusable import (of memories the linked module exports nothing)`},
		{"memory-borrows-much", []host.Link{link("env", "memory-lends")}, host.ErrSignature,
			`import memory "memory" of module "env" has 2 pages and no maximum: wrong signature (the linked module has 1 pages and no maximum: ` +
				`it needs at least the pages and at most the maximum of the import)`},
		{"memory-borrows-bounded", []host.Link{link("env", "memory-lends")}, host.ErrSignature,
			`import memory "memory" of module "env" has 1 to 16 pages: wrong signature (the linked module has 1 pages and no maximum: ` +
				`it needs at least the pages and at most the maximum of the import)`},
		{"memory-circle-a", []host.Link{link("b", "memory-circle-b"), link("a", "memory-circle-a")}, host.ErrImport,
			`link "a": import memory "memory" of module "b": unusable import (that one's memory comes from this link in turn: one of them has to define it)`},
	} {
		_, err := newHost(t, host.Config{}).Load(t.Context(), fixture(t, tc.main).Spec, host.PluginConfig{Links: tc.links})
		want := fmt.Sprintf("plugin %q: %s", tc.main, tc.want)
		if !errors.Is(err, tc.kind) || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
	}
	_, err := newHost(t, host.Config{Portable: true}).Load(t.Context(), fixture(t, "memory-borrows").Spec,
		host.PluginConfig{Links: borrowed(t)["owner"]})
	if !errors.Is(err, host.ErrConfig) || !strings.Contains(err.Error(), "experimental") {
		t.Error("with nothing experimental:", err)
	}
}

// Data that does not fit into the memory of the other module ends the loading, and
// nothing is held after that.
func TestBorrowerThatDoesNotFit(t *testing.T) {
	links(t)
	for _, engine := range bothEngines {
		h := newHost(t, host.Config{})
		load(t, h, "memory-lends", host.PluginConfig{Engine: engine})
		before, held := host.Usage(h)
		_, err := h.Load(t.Context(), fixture(t, "memory-borrows").Spec, host.PluginConfig{Engine: engine,
			Links: []host.Link{{Name: "env", Spec: fixture(t, "link-lib").Spec}}})
		checkReason(t, err, abi.ReasonInitFailed)
		if after, used := host.Usage(h); after != before || used != held {
			t.Errorf("%s: %d instances and %d bytes more are held", engine, after-before, used-held)
		}
	}
}
