package wasmbin

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// request has the members of every request of the contract at once. A guest skips those that
// it does not know.
const request = `{"query":{"query_str":"How do I parse flags?","chat_history":[{"role":"user","content":"hi"}]},
"columns":["id","score","text","metadata","source","priority","token_count","created_at"],
"items":[{"id":"a","content":"Package flag parses the flags. Write to joe@example.com.","source":"retrieval","score":0.9,"priority":5,"token_count":9,"metadata":{"title":"flag"},"created_at":"2025-03-01T12:30:00Z"},
{"id":"b","content":"Package flag parses the flags.","source":"retrieval","score":0.5,"priority":5,"token_count":6,"created_at":"2024-03-01T12:30:00Z"},
{"id":"c","content":"Package unsafe steps around types.","source":"retrieval","score":0.1,"priority":5,"token_count":6}],
"top_k":2,"tokens_left":1000,"turns":[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}],"summary":"",
"state":{"run_id":"r"},"messages":[{"role":"user","content":"hi"}],"budget":{"max_tokens":100,"phase":"llm"},
"texts":["one","two"],"max_tokens":100,"used_tokens":10,"type":"step_end","step":"s"}`

// stubs is a host whose functions always return the same results. It implements the Extism
// memory, and returns 0 from all other functions.
type stubs struct {
	mem    []byte
	blocks map[uint64]uint64
	out    []byte
	failed bool
}

func newStubs() *stubs {
	k := &stubs{blocks: map[uint64]uint64{}, mem: make([]byte, 16)}
	copy(k.mem[k.alloc(uint64(len(request))):], request)
	return k
}

func (k *stubs) alloc(n uint64) uint64 {
	if n == 0 || n > 1<<24 || len(k.mem) > 1<<26 {
		return 0
	}
	at := uint64(len(k.mem))
	k.mem = append(k.mem, make([]byte, (n+15)&^7)...)
	k.blocks[at] = n
	return at
}

// bytes returns n bytes at an address. Bytes outside of the memory are 0.
func (k *stubs) bytes(at, n uint64) []byte {
	out := make([]byte, n)
	if at < uint64(len(k.mem)) {
		copy(out, k.mem[at:])
	}
	return out
}

// answer returns the result of a function of Extism.
func (k *stubs) answer(name string, s []uint64) uint64 {
	const input = 16
	switch name {
	case "alloc":
		return k.alloc(s[0])
	case "length", "length_unsafe":
		return k.blocks[s[0]]
	case "input_offset":
		return input
	case "input_length":
		return k.blocks[input]
	case "load_u8":
		return uint64(k.bytes(s[0], 1)[0])
	case "load_u64":
		return binary.LittleEndian.Uint64(k.bytes(s[0], 8))
	case "input_load_u8":
		return uint64(k.bytes(input+s[0], 1)[0])
	case "input_load_u64":
		return binary.LittleEndian.Uint64(k.bytes(input+s[0], 8))
	case "store_u8", "store_u64":
		cell := binary.LittleEndian.AppendUint64(nil, s[1])
		if name == "store_u8" {
			cell = cell[:1]
		}
		if s[0] < uint64(len(k.mem)) {
			copy(k.mem[s[0]:], cell)
		}
	case "output_set":
		k.out = k.bytes(s[0], min(s[1], 1<<24))
	case "error_set":
		k.failed = true
	}
	return 0
}

// instantiateStubs defines every function that a module imports.
func instantiateStubs(t *testing.T, rt wazero.Runtime, info *Info, k *stubs) {
	t.Helper()
	ctx := context.Background()
	wasi_snapshot_preview1.MustInstantiate(ctx, rt)
	builders := map[string]wazero.HostModuleBuilder{}
	for _, im := range info.Imports {
		if im.Kind != KindFunc || strings.HasPrefix(im.Module, "wasi") {
			continue
		}
		if builders[im.Module] == nil {
			builders[im.Module] = rt.NewHostModuleBuilder(im.Module)
		}
		builders[im.Module].NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, s []uint64) {
			if v := k.answer(im.Name, s); len(im.Func.Results) > 0 {
				s[0] = v
			}
		}), valueTypes(im.Func.Params), valueTypes(im.Func.Results)).Export(im.Name)
	}
	for _, b := range builders {
		if _, err := b.Instantiate(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func valueTypes(types []ValueType) []api.ValueType {
	out := make([]api.ValueType, len(types))
	for i, v := range types {
		out[i] = api.ValueType(v)
	}
	return out
}

// observe calls each export of a module once, and returns what can be seen from outside. It
// ends when the fuel is spent, or after a number of lines.
func observe(t *testing.T, engine string, bin []byte, shown *revealed, info *Info, limit int64, lines int) []string {
	t.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, engines[engine]().WithCoreFeatures(features))
	defer rt.Close(ctx)
	k, fuel := newStubs(), &tank{slice: DefaultSlice, limit: limit}
	instantiateStubs(t, rt, info, k)
	_, err := rt.NewHostModuleBuilder(TickModule).NewFunctionBuilder().
		WithGoFunction(api.GoFunc(fuel.tick), nil, []api.ValueType{api.ValueTypeI64}).Export(TickName).Instantiate(ctx)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := rt.InstantiateWithConfig(ctx, bin, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize"))
	if errors.Is(err, errSpent) {
		return nil
	}
	seen := []string{startFunction.ReplaceAllString(firstLine(err), "")}
	if mod == nil {
		return seen
	}
	for _, e := range info.Exports {
		if e.Kind != KindFunc || e.Name == "_initialize" || len(seen) == lines {
			continue
		}
		res, err := mod.ExportedFunction(e.Name).Call(ctx, arguments(valueTypes(e.Func.Params), e.Name, 1)...)
		if errors.Is(err, errSpent) {
			break
		}
		seen = append(seen, fmt.Sprintf("%s: %v %s, output %s, error %t, memory %x, globals %x",
			e.Name, res, firstLine(err), k.out, k.failed, digestOf(mod, info), shown.values(t, mod)))
		k.out, k.failed = nil, false
	}
	return seen
}

func digestOf(mod api.Module, info *Info) [sha256.Size]byte {
	if len(info.Memories) == 0 {
		return [sha256.Size]byte{}
	}
	return sha256.Sum256(allOf(mod.Memory()))
}

// compareObserved compares a module with its metered form and returns the number of equal
// calls. The error is the reason why there is nothing to compare.
func compareObserved(t *testing.T, name, engine string, bin []byte, limit int64) (calls int, err error) {
	t.Helper()
	info, err := Inspect(bin)
	if err != nil {
		return 0, err
	}
	shown := reveal(t, bin)
	out, err := Meter(shown.bin, kernelOptions())
	if err != nil {
		return 0, err
	}
	metered := observe(t, engine, out, shown, info, limit, -1)
	if metered == nil {
		return 0, errSpent // the plain one may not come back from its start
	}
	plain := observe(t, engine, shown.bin, shown, info, limit, len(metered))
	for i := range metered {
		if plain[i] != metered[i] {
			t.Errorf("%s, %s: plain   %.300s\nmetered %.300s", name, engine, plain[i], metered[i])
		}
	}
	if metered[0] != "" {
		return 0, errors.New(metered[0])
	}
	return len(metered) - 1, nil
}

// kernelOptions are the options of a host that has Extism's functions.
func kernelOptions() MeterOptions {
	kernel := func(module, _ string) bool { return module == "extism:host/env" }
	return MeterOptions{Light: kernel, Inert: kernel}
}

// fixtureGlobs are the patterns of the modules in the repository that are not built.
var fixtureGlobs = []string{"wasm/*/*.wasm", "oldguests/*/*.wasm", "engine/*.wasm"}

// without are the fixtures that cannot be compared, with a pattern of the reason. Another
// fixture that never reaches a call needs a line here.
var without = map[string]string{
	"wasm/component/plugin.wasm":             "component",
	"wasm/empty/plugin.wasm":                 "not a WebAssembly module",
	"wasm/not-wasm-elf/plugin.wasm":          "not a WebAssembly module",
	"wasm/not-wasm-random/plugin.wasm":       "not a WebAssembly module",
	"wasm/truncated/plugin.wasm":             "truncated module",
	"wasm/exports-fuel/plugin.wasm":          "reserved name",
	"wasm/import-unknown-module/plugin.wasm": "not instantiated",
	"wasm/memory-imported/plugin.wasm":       "not instantiated",
	// Fixtures that run only with links from which they borrow a memory.
	"wasm/memory-borrows/plugin.wasm":         "not exported",
	"wasm/memory-borrows-back/plugin.wasm":    "not instantiated",
	"wasm/memory-borrows-bounded/plugin.wasm": "not instantiated",
	"wasm/memory-borrows-much/plugin.wasm":    "not instantiated",
	"wasm/memory-borrows-too/plugin.wasm":     "not instantiated",
	"wasm/memory-circle-a/plugin.wasm":        "not instantiated",
	"wasm/memory-circle-b/plugin.wasm":        "not instantiated",
	// Fixtures that never reach a call. The interpreter's stack is the smaller one.
	"wasm/init-recurses/plugin.wasm":       "spent|stack overflow",
	"wasm/initialize-spins/plugin.wasm":    "spent",
	"wasm/link-init-recurses/plugin.wasm":  "spent|stack overflow",
	"wasm/link-start-recurses/plugin.wasm": "spent|stack overflow",
	"wasm/start-recurses/plugin.wasm":      "spent|stack overflow",
	"wasm/start-calls-deep/plugin.wasm":    "<nil>|stack overflow",
	"wasm/start-spins/plugin.wasm":         "spent",
	"wasm/meter/spin_start.wasm":           "spent",
	"engine/initialize.wasm":               "spent",
}

// takesTheHosts are fixtures that use time of the host and not their own, which these tests do
// not count.
var takesTheHosts = []string{"wasm/host-calls-forever/plugin.wasm", "wasm/foreign-calls/plugin.wasm"}

// TestFixturesKeepTheirMeaning compares every fixture of the repository, plain and
// metered, except for those named above.
func TestFixturesKeepTheirMeaning(t *testing.T) {
	const testdata = "../../../testdata/"
	files, calls, fuel := 0, 0, int64(1_000_000)
	if thorough {
		fuel = 3_000_000
	}
	for _, glob := range fixtureGlobs {
		paths, err := filepath.Glob(testdata + glob)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", glob, len(paths), err)
		}
		for _, path := range paths {
			name := strings.TrimPrefix(path, testdata)
			if slices.Contains(takesTheHosts, name) {
				continue
			}
			bin, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files++
			for engine := range engines {
				n, err := compareObserved(t, name, engine, bin, fuel)
				why, known := without[name]
				if !known {
					why = "^<nil>$"
				}
				if !regexp.MustCompile(why).MatchString(fmt.Sprint(err)) {
					t.Errorf("%s, %s: %v, want %q", name, engine, err, why)
				}
				calls += n
			}
		}
	}
	t.Logf("%d files, %d calls", files, calls)
	if files < 170 || calls < 800 {
		t.Error("too little was compared")
	}
}

// TestExamplePluginsKeepTheirMeaning compares the example plugins, plain and
// metered, with a request that contains something for each.
func TestExamplePluginsKeepTheirMeaning(t *testing.T) {
	if !thorough {
		t.Skip("runs large plugins in the interpreter (ANCHOR_THOROUGH=1 runs it)")
	}
	// One of each sort: an index made by init, documents, columns, and requests. The others
	// are mostly the same runtime of Go, which takes the interpreter six seconds each.
	for _, name := range []string{"bm25-retriever", "crm-snapshot", "mmr-reranker", "web-search"} {
		t.Run(name, func(t *testing.T) {
			comparePlugin(t, name, builtGo(t, "plugins/examples/"+name))
		})
	}
}

// comparePlugin compares a plugin with its metered form in both engines.
func comparePlugin(t *testing.T, name string, bin []byte) {
	t.Helper()
	for engine := range engines {
		if n, err := compareObserved(t, name, engine, bin, 1_000_000_000); err != nil || n < 2 {
			t.Errorf("%s, %s: %d calls were compared, %v", name, engine, n, err)
		}
	}
}

// TestExamplePluginsOfAllLanguagesKeepTheirMeaning compares those that make plugins-all
// has built. ANCHOR_LANGUAGES says that they must be there.
func TestExamplePluginsOfAllLanguagesKeepTheirMeaning(t *testing.T) {
	if testing.Short() {
		t.Skip("runs large plugins in the interpreter")
	}
	built := map[string]int{}
	for _, language := range []string{"go", "tinygo", "rust", "c", "zig", "ts", "js", "wat"} {
		files, err := filepath.Glob("../../../build/languages/" + language + "/*.wasm")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			bin, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			comparePlugin(t, language+"/"+filepath.Base(path), bin)
		}
		if built[language] = len(files); len(files) == 0 && os.Getenv("ANCHOR_LANGUAGES") != "" {
			t.Errorf("%s: nothing is built", language)
		}
	}
	t.Logf("compared %v; testdata/oldguests has more of other languages than Go", built)
}
