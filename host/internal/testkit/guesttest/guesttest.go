// Package guesttest opens guests without a host, for the tests of the packages that serve them:
// one instance of a fixture, with every function that package imports offers. It is for tests
// only.
package guesttest

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/capacity"
	"github.com/anchor-host/anchor-host/host/internal/compile"
	"github.com/anchor-host/anchor-host/host/internal/fairness"
	"github.com/anchor-host/anchor-host/host/internal/guard"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/imports"
	"github.com/anchor-host/anchor-host/host/internal/mounts"
	"github.com/anchor-host/anchor-host/host/internal/wasi"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// Patience is the time of a call that ends by itself, on any machine.
const Patience = 5 * time.Minute

// Options are what a test changes. The zero value is a guest with much of everything and with
// nothing granted.
type Options struct {
	// Interpreted has the interpreter run the guest, not the compiler. Local gives it the
	// Extism functions of the host instead of a kernel that it is linked to.
	Interpreted, Local bool
	// Limits replace the usual ones where they are not 0.
	Limits guest.Limits
	// Memory bounds what all instances hold, in bytes. 0: 1 GiB.
	Memory int64
	// Grants are what functions need of the plugin.
	Grants *imports.Plugin
	// WASI is what the guest sees through WASI.
	WASI wasi.Options
	// Folder is mounted at /m to read and write, unless it is "".
	Folder string
	// Values are what config_get returns.
	Values map[string]string
	// Log is the log of the plugin. nil: none.
	Log *slog.Logger
}

// Guest is an instance of a fixture.
type Guest struct {
	*guest.Instance
	// Spec is what is known of the module.
	Spec *spec.Spec
	// Room is where the instance lies.
	Room *capacity.Room
	// Status is what the last call returned.
	Status abi.Status

	limits guest.Limits
}

// Read reads the spec of a fixture of testdata/wasm.
func Read(t testing.TB, fixture string) *spec.Spec {
	t.Helper()
	s, err := spec.ReadFile(filepath.Join(testbuild.Root(), "testdata", "wasm", fixture, "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Open makes an instance of a fixture, which is closed with the test. Its init must be good.
func Open(t testing.TB, fixture string, o Options) *Guest {
	t.Helper()
	g, err := Start(t, fixture, o)
	if err != nil {
		t.Fatalf("start %s: %v", fixture, err)
	}
	return g
}

// Start is Open for a guest whose init may fail. The error is a *guest.Failure.
func Start(t testing.TB, fixture string, o Options) (*Guest, error) {
	t.Helper()
	s := Read(t, fixture)
	module := compiled(t, s, o.Interpreted)
	engine := module.Engine
	room := capacity.New(capacity.Options{Instances: 8, Memory: cmp.Or(o.Memory, 1<<30), Share: cmp.Or(o.Memory, 1<<30), Clock: guest.Clock})
	t.Cleanup(room.Stop)
	env := environment(t, s, module, engine, room, &o)
	if s.Module().Kernel() && !o.Local {
		if kernel := engine.Kernel(t.Context()); kernel != nil {
			env.Kernels = guest.NewKernels(engine.RT, kernel, &engine.Features)
		}
	}
	in, err := env.Start(t.Context(), false)
	if err != nil {
		return nil, err
	}
	t.Cleanup(in.Close)
	return &Guest{Instance: in, Spec: s, Room: room, limits: env.Limits}, nil
}

// environment is what the instance has in common with others, of which there are none.
func environment(t testing.TB, s *spec.Spec, m *compile.Module, e *compile.Engine, room *capacity.Room, o *Options) *guest.Environment {
	t.Helper()
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	o.WASI.Mounts, o.WASI.OutputBytes, o.WASI.Random = mounted(t, o.Folder), cmp.Or(o.WASI.OutputBytes, 64<<10), rand.Reader
	if o.Grants == nil {
		o.Grants = &imports.Plugin{}
	}
	o.Grants.Name = cmp.Or(o.Grants.Name, s.Name)
	if o.Grants.Tenant == nil {
		o.Grants.Tenant = func(context.Context) string { return "default" }
	}
	share := room.NewShare(0)
	if !share.Reserve() {
		t.Fatal("there is no room for the instance")
	}
	queue := fairness.NewQueue(guest.Clock, func() int { return 8 })
	return &guest.Environment{
		Runtime: e.RT, Features: &e.Features, Interpreted: e.Interpreted,
		Code:   &guest.Code{Compiled: m.Compiled, Open: m.Open, Segments: m.Segments, Memory: m.Memory, Exports: s.Module().Exports, Lines: m.Lines},
		Limits: limits(o.Limits), RecycleAfter: 1 << 30, Foreign: s.Foreign, InitRequest: []byte(`{}`), Values: o.Values,
		Log: log, Declared: s.Declared, Account: queue.NewAccount(), Owner: owner{}, Share: share, Guard: guard.New(log),
		WASI: o.WASI, Imports: o.Grants, Tables: int64(s.Module().Tables) * wazerox.TableElement,
		Descriptors: slices.ContainsFunc(s.Module().Imports, func(im wasmbin.Import) bool {
			return im.Module == wasi.Module && wasi.ChangesDescriptors(im.Name)
		}),
	}
}

// limits are those of a test, with the usual ones for the rest.
func limits(l guest.Limits) guest.Limits {
	l.Memory, l.Input, l.Output = cmp.Or(l.Memory, 64<<20), cmp.Or(l.Input, 32<<20), cmp.Or(l.Output, 8<<20)
	l.LogBytes, l.Instances = cmp.Or(l.LogBytes, 64<<10), cmp.Or(l.Instances, 8)
	l.Timeout, l.InitTimeout = cmp.Or(l.Timeout, Patience), cmp.Or(l.InitTimeout, Patience)
	l.Fuel, l.InitFuel = cmp.Or(l.Fuel, 1<<50), cmp.Or(l.InitFuel, 1<<50)
	l.Share, l.Whole = cmp.Or(l.Share, 1<<30), cmp.Or(l.Whole, 1<<30)
	return l
}

// mounted has a folder at /m.
func mounted(t testing.TB, folder string) *mounts.Set {
	t.Helper()
	set := new(mounts.Set)
	if folder == "" {
		return set
	}
	grants := []mounts.Grant{{Key: "grants.files[0]", Guest: "/m", Host: folder, Writable: true, Quota: 1 << 40, MaxFiles: 1 << 20}}
	if err := set.Open(t.Context(), grants, mounts.Options{Folders: new(mounts.Folders), Budget: mounts.NewBudget()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	return set
}

// Call calls an export with a document. The error is a *guest.Failure.
func (g *Guest) Call(ctx context.Context, function string, input []byte) ([]byte, error) {
	g.Begin(ctx, g.limits.Timeout, g.limits.Fuel)
	defer g.Instance.Call.End()
	status, out, err := g.CallDocument(function, input, false)
	g.Status = status
	g.Finish(ctx, err)
	if err != nil {
		return nil, guest.Explain(g.Instance, err)
	}
	return out, nil
}

// compiler has the modules of all tests of a process.
var compiler = sync.OnceValue(func() *compile.Compiler {
	return compile.New(compile.Options{
		Features: wazerox.Look,
		Offer:    func(ctx context.Context, rt wazero.Runtime) error { return imports.Offer(ctx, rt, nil) },
		Kernel:   imports.Kernel, Memory: 1 << 30,
		Meter: wasmbin.MeterOptions{MaxTable: wasmbin.MaxTable, Light: guest.LightImport, Inert: guest.InertImport},
	})
})

func compiled(t testing.TB, s *spec.Spec, interpreted bool) *compile.Module {
	t.Helper()
	m := s.Module()
	source := &compile.Source{Digest: m.Digest, Bytes: m.Bytes, Facts: m.Facts, Imports: m.Imports, Memory: m.Memory, Linked: m.Linkable()}
	module, err := compiler().Module(context.Background(), s.Name, source, interpreted, 0)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// owner counts nothing.
type owner struct{}

func (owner) Several() bool            { return false }
func (owner) Made(bool, time.Duration) {}
func (owner) Count(guest.Event)        {}
func (owner) Add(*guest.Tally)         {}

// CheckReason checks that a call failed for a reason, and returns why in full.
func CheckReason(t testing.TB, err error, want abi.Reason) *guest.Failure {
	t.Helper()
	var failed *guest.Failure
	if !errors.As(err, &failed) || failed.Reason != want {
		t.Fatalf("error %v, want a *guest.Failure with the reason %s", err, want)
	}
	return failed
}
