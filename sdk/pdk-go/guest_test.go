package pdk_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// build returns the guest of that name under testdata, built with stock Go.
func build(tb testing.TB, name string) []byte {
	tb.Helper()
	if testing.Short() {
		tb.Skip("builds a guest")
	}
	bin, err := os.ReadFile(filepath.Join(testbuild.Guest(tb, "sdk/pdk-go/testdata/"+name), "plugin.wasm"))
	if err != nil {
		tb.Fatal(err)
	}
	return bin
}

// compiled keeps the code of the guests for all tests, and for later runs.
func compiled(tb testing.TB) wazero.CompilationCache {
	tb.Helper()
	cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(filepath.Dir(testbuild.CacheDir(tb)), "wazero"))
	if err != nil {
		tb.Fatal(err)
	}
	return cache
}

// guest is an instance of a guest with a kernel.
type guest struct {
	*kernel
	tb     testing.TB
	mod    api.Module
	stderr strings.Builder
	writer abi.BatchWriter
}

// newGuest instantiates a guest with real clocks.
func newGuest(tb testing.TB, name string) *guest {
	tb.Helper()
	return newGuestWith(tb, name, wazero.NewModuleConfig().WithSysNanotime().WithSysWalltime())
}

func newGuestWith(tb testing.TB, name string, cfg wazero.ModuleConfig) *guest {
	tb.Helper()
	bin := build(tb, name)
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCompilationCache(compiled(tb)))
	tb.Cleanup(func() { _ = rt.Close(ctx) })
	wasi_snapshot_preview1.MustInstantiate(ctx, rt)
	g := &guest{kernel: newKernel(), tb: tb}
	g.instantiate(ctx, tb, rt)
	mod, err := rt.InstantiateWithConfig(ctx, bin, cfg.WithStartFunctions("_initialize").WithStderr(&g.stderr))
	if err != nil {
		tb.Fatal(err)
	}
	g.mod = mod
	return g
}

// call calls an export and returns its i32 result.
func (g *guest) call(name string, args ...uint64) int32 {
	g.tb.Helper()
	res, err := g.mod.ExportedFunction(name).Call(context.Background(), args...)
	if err != nil {
		g.tb.Fatalf("%s: %v\n%s", name, err, g.stderr.String())
	}
	return int32(uint32(res[0]))
}

// document makes a call of the JSON lane.
func (g *guest) document(op abi.Operation, in []byte) (status int32, out string) {
	g.tb.Helper()
	g.reset(in)
	status = g.call(op.JSONExport())
	return status, g.out
}

// batch makes a call of the batch lane.
func (g *guest) batch(op abi.Operation, req *abi.ItemsRequest, cols abi.ColumnSet) (status int32, out []byte) {
	g.tb.Helper()
	g.reset(nil)
	size, err := g.writer.Plan(abi.ItemRows(req.Items), cols, envelope(req))
	if err != nil {
		g.tb.Fatal(err)
	}
	ptr := uint32(g.call(abi.ReserveExport, uint64(size)))
	buf, ok := g.mod.Memory().Read(ptr, uint32(size))
	if !ok {
		g.tb.Fatalf("reserve: %d bytes at %d are not in memory", size, ptr)
	}
	if err := g.writer.Write(buf); err != nil {
		g.tb.Fatal(err)
	}
	status = g.call(op.BatchExport(), uint64(ptr), uint64(size))
	return status, g.answer()
}

// boxed makes a call of the JSON lane with the document in the mailbox.
func (g *guest) boxed(op abi.Operation, in []byte) (status int32, out []byte) {
	g.tb.Helper()
	g.reset(nil)
	mem, ptr := g.mod.Memory(), uint32(g.call(abi.ReserveExport, uint64(len(in))))
	at := uint32(g.call(abi.MailboxExport))
	if size, _ := mem.ReadUint32Le(at); size != abi.MailboxDocumentSize || !mem.Write(ptr, in) || !mem.WriteUint32Le(at+abi.MailboxSize, uint32(len(in))) {
		g.tb.Fatalf("the mailbox at %d has %d bytes, the room is at %d", at, size, ptr)
	}
	status = g.call(op.JSONExport())
	if n, _ := mem.ReadUint32Le(at + abi.MailboxSize); n != 0 {
		g.tb.Errorf("the document of %d bytes is not taken", n)
	}
	return status, g.answer()
}

// answer reads the output that the mailbox names.
func (g *guest) answer() []byte {
	g.tb.Helper()
	b, ok := g.mod.Memory().Read(uint32(g.call(abi.MailboxExport)), abi.MailboxSize)
	if !ok {
		g.tb.Fatal("mailbox is not in memory")
	}
	box, err := abi.DecodeMailbox(b)
	if err != nil {
		g.tb.Fatal(err)
	}
	out, ok := g.mod.Memory().Read(box.OutAddr, box.OutLen)
	if !ok {
		g.tb.Fatalf("output %+v is not in memory", box)
	}
	return out
}

func envelope(req *abi.ItemsRequest) *abi.Envelope {
	return &abi.Envelope{Query: &req.Query, TopK: req.TopK, TokensLeft: req.TokensLeft, Settings: req.Settings}
}

// exports returns the signatures of the functions that a guest exports.
func exports(tb testing.TB, name string) map[string]abi.Signature {
	tb.Helper()
	ctx := context.Background()
	rt := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	tb.Cleanup(func() { _ = rt.Close(ctx) })
	mod, err := rt.CompileModule(ctx, build(tb, name))
	if err != nil {
		tb.Fatal(err)
	}
	out := map[string]abi.Signature{}
	for name, def := range mod.ExportedFunctions() {
		out[name] = abi.Signature{Name: name, Params: valueTypes(def.ParamTypes()), Results: valueTypes(def.ResultTypes())}
	}
	for _, def := range mod.ImportedFunctions() {
		if module, fn, _ := def.Import(); module == abi.UserModule {
			out["import "+fn] = abi.Signature{}
		}
	}
	return out
}

func valueTypes(ts []api.ValueType) []abi.ValueType {
	out := make([]abi.ValueType, len(ts))
	for i, t := range ts {
		out[i] = abi.ValueType(t)
	}
	return out
}

func names(exports map[string]abi.Signature) []string {
	var out []string
	for name := range exports {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
