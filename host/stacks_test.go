package host_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/units"
)

// fixedStacks reports whether compiled guests have stacks of a fixed size.
func fixedStacks() bool {
	return !portable() && runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64")
}

// nestsTooDeep is what is said of a compiled guest whose stack is full.
func nestsTooDeep() string {
	const remedy = " (limit the recursion, or use a loop that keeps what is left to do in memory)"
	if fixedStacks() {
		return "its calls nest too deep for 9MiB of stack" + remedy
	}
	return "its calls nest too deep for its stack" + remedy
}

// recursions are the functions of the fixture of that name that end with the stack.
var recursions = []string{"self", "mutual", "by_table", "values", "params", "skipping"}

// However a guest calls itself, it ends with the stack, at the same depth each time,
// without a stack that grows, and the instance is good for the next call.
func TestRecursionEndsWithTheStack(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "recursions", host.PluginConfig{State: host.StateReset, Limits: host.Limits{Instances: 1, Timeout: time.Minute}})
	if host.FixedStacks(p) != fixedStacks() {
		t.Errorf("stacks of a fixed size: %t", !fixedStacks())
	}
	made := host.Made(p)
	for _, function := range recursions {
		var fuel []int64
		for range 2 {
			_, err := p.Call(t.Context(), function, nil)
			if perr := checkReason(t, err, abi.ReasonTrap); !strings.HasSuffix(perr.Error(), "trap: stack overflow: "+nestsTooDeep()) {
				t.Errorf("%s: error %v", function, err)
			}
			if host.FixedStacks(p) {
				fuel = append(fuel, host.LastFuel(t, p))
			}
			if _, err := p.Call(t.Context(), "ends", nil); err != nil {
				t.Errorf("after %s: error %v", function, err)
			}
		}
		if host.FixedStacks(p) && fuel[0] != fuel[1] {
			t.Errorf("%s: ends after %d units of fuel", function, fuel)
		}
	}
	if !host.FixedStacks(p) {
		return
	}
	if n := host.Made(p) - made; n != 0 {
		t.Errorf("%d instances were made, none had to go", n)
	}
	unused, used := host.StackSizes(t, p, "ends")
	if len(used) < len(recursions) {
		t.Errorf("%d functions were used", len(used))
	}
	for _, size := range used {
		if size != unused {
			t.Errorf("a stack has %d bytes, and %d when it is new", size, unused)
		}
	}
}

// Where stacks grow no bound is named, and of the interpreter the one that it has.
func TestStackOverflowNamesItsBound(t *testing.T) {
	const remedy = " (limit the recursion, or use a loop that keeps what is left to do in memory"
	for _, tc := range []struct {
		portable bool
		engine   host.Engine
		want     string
	}{
		{false, host.EngineCompiler, nestsTooDeep()},
		{true, host.EngineCompiler, "its calls nest too deep for its stack" + remedy + ")"},
		{false, host.EngineInterpreter, "its calls nest more than 2000 deep" + remedy + "; the compiler has room for more)"},
		{true, host.EngineInterpreter, "its calls nest more than 2000 deep" + remedy + "; the compiler has room for more)"},
	} {
		p := load(t, newHost(t, host.Config{Portable: tc.portable}), "recursions", host.PluginConfig{Engine: tc.engine, Limits: host.Limits{Timeout: time.Minute}})
		for range 2 {
			_, err := p.Call(t.Context(), "self", nil)
			if want := `plugin "recursions": self: trap: stack overflow: ` + tc.want; checkReason(t, err, abi.ReasonTrap).Error() != want {
				t.Errorf("%+v: error %v\nwant %s", tc, err, want)
			}
		}
	}
}

// The interpreter nests as many calls as is said.
func TestInterpretedCalls(t *testing.T) {
	for depth, fits := range map[string]bool{"\xc6\x8f\x00": true, "\xda\x8f\x00": false} { // 1990 and 2010
		spec, err := spec.Read("deep", []byte(strings.Replace(deepModule, "\xa0\x8d\x06", depth, 1)), nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := newHost(t, host.Config{}).Load(t.Context(), spec, host.PluginConfig{Engine: host.EngineInterpreter})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Call(t.Context(), "a", nil); fits != (err == nil) {
			t.Errorf("it has room: %t (want %t): %v", err == nil, fits, err)
		}
	}
}

// Where authors and operators look, the bounds are those that hold.
func TestDocumentsNameTheStack(t *testing.T) {
	for _, path := range []string{"../abi/ABI.md", "../docs/authoring.md"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{fmt.Sprintf("%d MiB", wazerox.StackSize>>20), "2,000 calls"} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s does not say %q", path, want)
			}
		}
	}
	h := newHost(t, host.Config{})
	fixed := slices.ContainsFunc(h.Features(), func(f host.Feature) bool { return f.Name == "stacks" && f.On })
	line, _, err := h.Strategy(t.Context())
	if want := "stacks hold " + units.FormatSize(wazerox.StackSize); err != nil || fixed != strings.HasSuffix(line, want) {
		t.Errorf("strategy %q, error %v (want %q)", line, err, want)
	}
}

// A guest that is called by the host while another runs has a stack of its own.
func TestRecursionWithinACall(t *testing.T) {
	var inner *host.Plugin
	outer := loadNesting(t, host.Limits{Timeout: time.Minute}, func(ctx context.Context, _ *host.Plugin, _ int) error {
		if inner == nil { // it also calls when it starts
			return nil
		}
		_, err := inner.Call(ctx, "self", nil)
		checkReason(t, err, abi.ReasonTrap)
		_, err = inner.Call(ctx, "ends", nil)
		return err
	})
	inner = load(t, newHost(t, host.Config{}), "recursions", host.PluginConfig{Limits: host.Limits{Timeout: time.Minute}})
	for range 2 {
		if _, err := outer.Call(t.Context(), "again", nil); err != nil {
			t.Error(err)
		}
	}
}

// What deep recursion ordinary Go guests need has room.
func TestDeepGoGuest(t *testing.T) {
	p, err := newHost(t, host.Config{}).Load(t.Context(), deep.load(t), host.PluginConfig{WASI: true, Limits: host.Limits{Timeout: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	for _, function := range []string{"values", "links"} {
		if _, err := p.Call(t.Context(), function, nil); err != nil {
			t.Errorf("%s: error %v", function, err)
		}
	}
}

// deepModule has a function that calls itself 100,000 times, and ends well, by three
// names.
const deepModule = "\x00asm\x01\x00\x00\x00" +
	"\x01\x0a\x02\x60\x01\x7e\x01\x7e\x60\x00\x01\x7f" + // types (i64) -> (i64), () -> (i32)
	"\x03\x03\x02\x00\x01\x05\x03\x01\x00\x01" +
	"\x07\x16\x04\x06memory\x02\x00\x01a\x00\x01\x01b\x00\x01\x01c\x00\x01" +
	"\x0a\x23\x02" +
	"\x15\x00\x20\x00\x50\x04\x7e\x42\x00\x05\x20\x00\x42\x01\x7d\x10\x00\x42\x01\x7c\x0b\x0b" + // n == 0 ? 0 : f(n-1) + 1
	"\x0b\x00\x42\xa0\x8d\x06\x10\x00\x1a\x41\x00\x0b"

// An instance keeps one stack that deep calls made large, however many of its functions
// called deep, and only where the host has room for it.
func TestStacksAreGivenBack(t *testing.T) {
	stackSizes(t)
	spec, err := spec.Read("deep", []byte(deepModule), nil)
	if err != nil {
		t.Fatal(err)
	}
	const one = 11 << 20
	for _, tc := range []struct {
		grow         bool
		budget, most int64
	}{{true, 0, one}, {true, 4 << 20, 0}, {false, 0, one}, {false, 4 << 20, 0}} {
		h := newHost(t, host.Config{Memory: tc.budget, Features: host.Features{NoStacks: tc.grow}})
		for _, state := range []host.State{host.StateKeep, host.StateReset} {
			p, err := h.Load(t.Context(), spec, host.PluginConfig{State: state, Limits: host.Limits{Instances: 1}})
			if err != nil {
				t.Fatal(err)
			}
			before := held(t, p)
			_, accounted := host.Usage(h)
			for _, function := range p.Spec().Functions {
				if _, err := p.Call(t.Context(), function, nil); err != nil {
					t.Fatal(err)
				}
			}
			more := held(t, p) - before
			_, now := host.Usage(h)
			if more > tc.most+2<<20 || more > now-accounted+2<<20 || tc.most > 0 && more < 4<<20 {
				t.Errorf("%+v, %s: the plugin holds %d KiB more than before its calls, of which %d are accounted for", tc, state, more>>10, (now-accounted)>>10)
			}
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, left := host.Usage(h); left != 0 {
				t.Errorf("%+v, %s: %d KiB are accounted for what is closed", tc, state, left>>10)
			}
		}
	}
}

// What a stack took is accounted for, or given back, when a call has filled it, however
// little fuel that took.
func TestFullStacksAreAccountedFor(t *testing.T) {
	for _, budget := range []int64{0, 4 << 20} {
		h := newHost(t, host.Config{Memory: budget})
		p := load(t, h, "recursions", host.PluginConfig{State: host.StateReset, Limits: host.Limits{Instances: 1, Timeout: time.Minute}})
		_, before := host.Usage(h)
		_, err := p.Call(t.Context(), "skipping", nil)
		checkReason(t, err, abi.ReasonTrap)
		_, now := host.Usage(h)
		if size := host.StackHeld(t, p); size > now-before {
			t.Errorf("memory for %d bytes: the stack holds %d KiB, of which %d are accounted for", budget, size>>10, (now-before)>>10)
		}
	}
}

// Calls that end well fill stacks for little fuel, too. What those of idle instances hold
// is accounted for soon after, or given back.
func TestStacksOfIdleInstancesAreAccountedFor(t *testing.T) {
	stackSizes(t)
	const many = 4
	for _, tc := range []struct {
		grow   bool
		budget int64
	}{{false, 0}, {false, 16 << 20}, {true, 0}, {true, 16 << 20}} {
		h := newHost(t, host.Config{Memory: tc.budget, Features: host.Features{NoStacks: tc.grow}})
		var ps []*host.Plugin
		for i := range many {
			state := []host.State{host.StateKeep, host.StateReset}[i%2]
			ps = append(ps, load(t, h, "recursions", host.PluginConfig{Name: fmt.Sprint(i), State: state, Limits: host.Limits{Instances: 1, Timeout: time.Minute}}))
		}
		_, before := host.Usage(h)
		took := int64(0)
		for _, p := range ps {
			r, err := p.Call(t.Context(), "fills", nil)
			if err != nil {
				t.Fatal(err)
			}
			if took += host.StackMemory(t, p); r.Fuel > 50_000 {
				t.Errorf("it takes %d units of fuel, of which half a million would be noticed", r.Fuel)
			}
		}
		if tc.budget == 0 && took < many*4<<20 {
			t.Errorf("%+v: the calls took only %d KiB", tc, took>>10)
		}
		var held, accounted int64
		for end := time.Now().Add(badLimit); ; time.Sleep(10 * time.Millisecond) {
			held, accounted = 0, -before
			for _, p := range ps {
				held += host.StackMemory(t, p)
			}
			_, now := host.Usage(h)
			if accounted += now; held <= accounted {
				break
			}
			if time.Now().After(end) {
				t.Errorf("%+v: %d instances hold %d KiB, of which %d are accounted for", tc, many, held>>10, accounted>>10)
				break
			}
		}
	}
}

// What a guest did to its stack when it started or was warmed up is accounted for before
// it is called.
func TestStacksOfTheStartAreAccountedFor(t *testing.T) {
	for _, budget := range []int64{0, 4 << 20} {
		h := newHost(t, host.Config{Memory: budget})
		for _, name := range []string{"start-calls-deep", "reserve-fills"} {
			_, before := host.Usage(h)
			p := load(t, h, name, host.PluginConfig{State: host.StateReset, Limits: host.Limits{Instances: 1}})
			held := host.StackMemory(t, p)
			if _, now := host.Usage(h); held > now-before {
				t.Errorf("%s, memory for %d bytes: the stack holds %d KiB, of which %d are accounted for", name, budget, held>>10, (now-before)>>10)
			}
		}
	}
}

// held is what the process and the stack of the only instance of a plugin hold while it
// is idle.
func held(t *testing.T, p *host.Plugin) int64 {
	t.Helper()
	host.Settle(p)
	runtime.GC()
	runtime.GC() // what a pool of the first still held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) + host.StackHeld(t, p)
}

// stackSizes skips a test that needs to know how large stacks are that grow.
func stackSizes(t *testing.T) {
	t.Helper()
	if portable() {
		t.Skip("the sizes of stacks are not known")
	}
}

// Handles whose stacks are wazero's are made once: the stack of a call that was not deep
// is recognised as such.
func TestHandlesAreKept(t *testing.T) {
	p := load(t, newHost(t, host.Config{Features: host.Features{NoStacks: true}}), "foreign", host.PluginConfig{State: host.StateKeep})
	if len(p.Spec().Functions) == 0 {
		t.Fatal("the fixture has no functions")
	}
	for _, function := range p.Spec().Functions {
		if size, _ := host.StackSizes(t, p, function); size < 1<<10 || size > 64<<10 {
			t.Errorf("the stack of %s has %d bytes", function, size)
		}
	}
}

// Where the sizes of stacks that grow are not known, none is kept, however it came by its
// size.
func TestStacksOfUnknownSizeAreLetGo(t *testing.T) {
	h := newHost(t, host.Config{Features: host.Features{NoStacks: true, NoStackSizes: true}})
	p := load(t, h, "recursions", host.PluginConfig{State: host.StateKeep, Limits: host.Limits{Instances: 1, Timeout: time.Minute}})
	for _, function := range []string{"fills", "ends"} {
		if _, err := p.Call(t.Context(), function, nil); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(badLimit); ; time.Sleep(10 * time.Millisecond) {
		_, used := host.StackSizes(t, p, "ends")
		if len(used) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Errorf("stacks of %d bytes are kept", used)
			break
		}
	}
}
