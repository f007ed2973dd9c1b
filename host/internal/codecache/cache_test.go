package codecache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

func TestMain(m *testing.M) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return // wazero has no compiler here
	}
	dir, err := os.MkdirTemp("", "codecache-")
	if err == nil { // the key of the stores lies here, not in the folder of who runs the tests
		err = os.Setenv("XDG_CONFIG_HOME", dir)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// constant is a module whose function run returns n. Such modules differ in one byte of
// their code.
func constant(n byte) []byte {
	return append([]byte("\x00asm\x01\x00\x00\x00"+
		"\x01\x05\x01\x60\x00\x01\x7f"+
		"\x03\x02\x01\x00"+
		"\x05\x03\x01\x00\x01"+
		"\x07\x10\x02\x06memory\x02\x00\x03run\x00\x00"+
		"\x0a\x06\x01\x04\x00\x41"), n, 0x0b)
}

// process is what a process has: a cache, and a runtime that uses it.
type process struct {
	*Cache
	rt wazero.Runtime
}

// start opens the cache in a folder, as a process does.
func start(t *testing.T, dir string, change ...func(*Options)) *process {
	t.Helper()
	ctx := context.Background()
	store, err := codestore.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	notes, err := codestore.OpenNotes(store, "test", time.Hour) // every file is checked
	if err != nil {
		t.Fatal(err)
	}
	store.Sweep()
	p := &process{}
	o := Options{
		Store: store, Notes: notes, Build: "that of a test", Features: api.CoreFeaturesV2,
		Compile: func(ctx context.Context, rt wazero.Runtime, wasm []byte) (wazero.CompiledModule, error) {
			return rt.CompileModule(ctx, wasm)
		},
		Refuted: func() { t.Error("wazero does not take the code of shells") },
	}
	for _, f := range change {
		f(&o)
	}
	if p.Cache, err = Open(ctx, o); err != nil {
		t.Fatal(err)
	}
	p.rt = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(p.Wazero()))
	if err := meter(ctx, p.rt); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.rt.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// run makes a module that returns n, from the cache if it is there, and checks what it
// returns. found says that its code was in the cache.
func (p *process) run(t *testing.T, n byte) (found bool) {
	t.Helper()
	ctx := context.Background()
	key, whole, shell := prepared(t, n)
	compiled := p.Load(ctx, p.rt, key, shell)
	if found = compiled != nil; !found {
		var err error
		if compiled, err = p.Compile(ctx, p.rt, key, whole, shell); err != nil {
			t.Errorf("module %d: %v", n, err)
			return false
		}
	}
	defer compiled.Close(ctx)
	mod, err := p.rt.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	defer mod.Close(ctx)
	mod.ExportedGlobal(wasmbin.FuelExport).(api.MutableGlobal).Set(wasmbin.DefaultSlice)
	if r, err := mod.ExportedFunction("run").Call(ctx); err != nil || r[0] != uint64(n) {
		t.Errorf("module %d returns %v, error %v", n, r, err)
	}
	return found
}

// prepared is the module that returns n as the host prepares it.
func prepared(t *testing.T, n byte) (key Key, whole, shell []byte) {
	t.Helper()
	wasm := constant(n)
	key = sha256.Sum256(wasm)
	info, err := wasmbin.Inspect(wasm)
	if err != nil {
		t.Fatal(err)
	}
	w, err := wasmbin.Prepare(wasm, wasmbin.MeterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := wasmbin.Shell(wasm, info.Facts(), wasmbin.MeterOptions{}, hex.EncodeToString(key[:]))
	if err != nil {
		t.Fatal(err)
	}
	return key, w.Wasm, s.Wasm
}

// runAll is a process that runs three modules. It returns how many it found in the cache.
func runAll(t *testing.T, dir string, change ...func(*Options)) (found int) {
	t.Helper()
	p := start(t, dir, change...)
	defer p.stop(t)
	for n := range byte(3) {
		if p.run(t, n) {
			found++
		}
	}
	return found
}

// filesOf are the files of the entries of a cache, and what is in them.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range list {
		out[f] = read(t, f)
	}
	return out
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A later process finds what an earlier one compiled, writes nothing and leaves nothing. A
// module gets its own code, though its shell differs in the mark alone.
func TestEntriesAreUsed(t *testing.T) {
	dir := t.TempDir()
	unread := func(o *Options) { // files that were checked once are not read again
		var err error
		if o.Notes, err = codestore.OpenNotes(o.Store, "test", 0); err != nil {
			t.Fatal(err)
		}
	}
	if found := runAll(t, dir, unread); found != 0 {
		t.Errorf("%d modules found in an empty cache", found)
	}
	before := map[string]os.FileInfo{}
	for f := range filesOf(t, dir) {
		before[f], _ = os.Stat(f)
	}
	if len(before) != 6 { // code and note of each module
		t.Fatalf("%d files", len(before))
	}
	for range 2 {
		if found := runAll(t, dir, unread); found != 3 {
			t.Errorf("%d modules found (want 3)", found)
		}
	}
	for f, old := range before {
		if now, err := os.Stat(f); err != nil || !os.SameFile(old, now) {
			t.Errorf("%s: error %v, or it was made again", f, err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "run-*")); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// Code of another build of wazero is not used.
func TestCodeOfAnotherBuild(t *testing.T) {
	dir := t.TempDir()
	runAll(t, dir)
	if found := runAll(t, dir, func(o *Options) { o.Build = "another" }); found != 0 {
		t.Errorf("%d modules found", found)
	}
	if n := len(filesOf(t, dir)); n != 12 {
		t.Errorf("%d files (want 12)", n)
	}
}

// However an entry is damaged, the module is compiled again and its entry is as it was. What
// else lies in the folder stays.
func TestDamagedEntries(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.txt")
	write(t, other, "")
	runAll(t, dir)
	want := filesOf(t, dir)
	flip := func(at func(n int) int) func([]byte) []byte {
		return func(b []byte) []byte { b[at(len(b))] ^= 0xff; return b }
	}
	for name, damage := range map[string]func([]byte) []byte{
		"first byte": flip(func(int) int { return 0 }), "middle": flip(func(n int) int { return n / 2 }),
		"count of functions": flip(func(n int) int { return min(16, n-1) }), "last byte": flip(func(n int) int { return n - 1 }),
		"half": func(b []byte) []byte { return b[:len(b)/2] }, "empty": func([]byte) []byte { return nil },
		"longer": func(b []byte) []byte { return append(b, 0) }, "gone": nil,
	} {
		for _, file := range slices.Sorted(maps.Keys(want)) {
			if damage == nil {
				if err := os.Remove(file); err != nil {
					t.Fatal(err)
				}
			} else {
				write(t, file, string(damage([]byte(want[file]))))
			}
			if found := runAll(t, dir); found != 2 {
				t.Errorf("%s of %s: %d modules found (want 2)", name, filepath.Base(file), found)
			}
			if got := filesOf(t, dir); !maps.Equal(got, want) {
				t.Errorf("%s of %s: the entries are %d files, or others than before", name, filepath.Base(file), len(got))
			}
		}
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

// Entries that lie in each other's place are not used for each other's modules.
func TestEntriesInOtherPlaces(t *testing.T) {
	dir := t.TempDir()
	runAll(t, dir)
	entries, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*"))
	if err != nil || len(entries) != 3 {
		t.Fatal(entries, err)
	}
	aside := filepath.Join(t.TempDir(), "aside")
	for _, move := range [][2]string{{entries[0], aside}, {entries[1], entries[0]}, {aside, entries[1]}} {
		if err := os.Rename(move[0], move[1]); err != nil {
			t.Fatal(err)
		}
	}
	if found := runAll(t, dir); found != 1 {
		t.Errorf("%d modules found (want 1)", found)
	}
}

// Machine code that somebody put into the folder does not run, however well it is made: the
// code of another module, with the checksums of wazero and of the entry all right.
func TestPlantedCodeDoesNotRun(t *testing.T) {
	for name, plant := range map[string]func(note, code, otherNote, otherCode string) string{
		"the note stays":      func(note, _, _, _ string) string { return read(t, note) },
		"the note comes with": func(_, _, other, _ string) string { return read(t, other) },
		"the note is fitted": func(_, code, other, otherCode string) string {
			return string(bytes.ReplaceAll([]byte(read(t, other)), []byte(filepath.Base(otherCode)), []byte(filepath.Base(code))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			runAll(t, dir)
			notes, err := filepath.Glob(filepath.Join(dir, "wazero-*", "*", noteFile))
			if err != nil || len(notes) != 3 {
				t.Fatal(notes, err)
			}
			codeOf := func(note string) string {
				files, _ := filepath.Glob(filepath.Join(filepath.Dir(note), "[0-9a-f]*"))
				if len(files) != 1 {
					t.Fatal(files)
				}
				return files[0]
			}
			planted := map[string]string{}
			for i, note := range notes {
				other := notes[(i+1)%len(notes)]
				planted[codeOf(note)] = read(t, codeOf(other))
				planted[note] = plant(note, codeOf(note), other, codeOf(other))
			}
			for file, text := range planted {
				write(t, file, text)
			}
			if found := runAll(t, dir); found != 0 {
				t.Errorf("%d modules found (want 0)", found)
			}
			if found := runAll(t, dir); found != 3 {
				t.Errorf("%d modules found afterwards (want 3)", found)
			}
		})
	}
}

// Several processes may use one cache, also while entries are damaged.
func TestSeveralProcesses(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for range 5 {
				runAll(t, dir)
				if list, _ := filepath.Glob(filepath.Join(dir, "wazero-*", "*", "*")); n == 0 && len(list) > 0 {
					_ = os.WriteFile(list[0], []byte("half"), 0o600)
				}
			}
		})
	}
	wg.Wait()
	runAll(t, dir)
	if found := runAll(t, dir); found != 3 {
		t.Errorf("%d modules found (want 3)", found)
	}
}

// One cache may be used by several goroutines.
func TestSeveralGoroutines(t *testing.T) {
	p := start(t, t.TempDir())
	defer p.stop(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for n := range byte(6) {
				p.run(t, n)
			}
		})
	}
	wg.Wait()
	for n := range byte(6) {
		if !p.run(t, n) {
			t.Errorf("module %d is not found", n)
		}
	}
}

// A process that did nothing for a long time loses its folder to one that considers it gone.
// It makes the folder again, and the entries stay.
func TestIdleProcess(t *testing.T) {
	dir := t.TempDir()
	idle := start(t, dir)
	defer idle.stop(t)
	idle.run(t, 0)
	long := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(idle.workshop.run, long, long); err != nil {
		t.Fatal(err)
	}
	runAll(t, dir)
	if _, err := os.Stat(idle.workshop.run); err == nil {
		t.Fatal("the folder of the idle process is still there")
	}
	if !idle.run(t, 1) {
		t.Error("the idle process does not find what another one compiled")
	}
	if idle.run(t, 7) || !idle.run(t, 7) {
		t.Error("what the idle process compiles is not kept")
	}
}
