package host_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// calc adds two numbers.
var calc = host.Function{
	Module: "calc", Name: "add", Params: []abi.ValueType{abi.F64, abi.F64}, Results: []abi.ValueType{abi.F64},
	Call: func(_ context.Context, _ *host.Guest, s []uint64) error {
		s[0] = math.Float64bits(math.Float64frombits(s[0]) + math.Float64frombits(s[1]))
		return nil
	},
}

// loadUser loads the guest of two functions, of which greet is given.
func loadUser(t *testing.T, cfg host.Config, timeout time.Duration, grants []string, greet func(context.Context, []byte) ([]byte, error)) *host.Plugin {
	t.Helper()
	cfg.Functions = []host.Function{calc, host.NewFunction(host.UserModule, "greet", greet)}
	return load(t, newHost(t, cfg), "user-functions", host.PluginConfig{
		Grants: host.Grants{Functions: grants}, Limits: host.Limits{Timeout: timeout},
	})
}

// short is the limit of calls that are meant to exceed it.
const short = 100 * time.Millisecond

func hello(_ context.Context, in []byte) ([]byte, error) { return append([]byte("hello "), in...), nil }

func TestFunctions(t *testing.T) {
	kernels(t, func(t *testing.T, cfg host.Config) {
		p := loadUser(t, cfg, time.Minute, []string{"greet", "calc.add"}, hello)
		for _, name := range []string{"world", "", strings.Repeat("all ", 30_000)} {
			r, err := p.Call(t.Context(), "greet", []byte(name))
			if err != nil || string(r.Output) != "hello "+name {
				t.Errorf("%d bytes: %v", len(name), err)
			}
		}
		if _, err := p.Call(t.Context(), "add", nil); err != nil {
			t.Error(err)
		}
		checkStop(t, loadUser(t, cfg, short, []string{"greet", "calc.add"}, hello), "add_forever", short)
	})
}

// What a function does to a guest: the errors, the panics and the time.
func TestFunctionFailures(t *testing.T) {
	type failure struct {
		name  string
		greet func(context.Context, []byte) ([]byte, error)
		code  abi.Reason
		want  string
	}
	for _, tc := range []failure{
		{"error", func(context.Context, []byte) ([]byte, error) { return nil, errors.New("no greeting\ntoday") }, abi.ReasonTrap,
			`plugin "user-functions": greet: trap: host function extism:host/user.greet: no greeting; today`},
		{"panic", func(context.Context, []byte) ([]byte, error) { panic("out of greetings") }, abi.ReasonTrap,
			`plugin "user-functions": greet: trap: host function extism:host/user.greet: panicked: out of greetings`},
		{"nil dereference", func(context.Context, []byte) ([]byte, error) { return *(*[]byte)(nil), nil }, abi.ReasonTrap,
			`plugin "user-functions": greet: trap: host function extism:host/user.greet: panicked: runtime error: invalid memory address or nil pointer dereference`},
		{"late", func(ctx context.Context, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }, abi.ReasonTimeout,
			`plugin "user-functions": greet: timeout: not done within 100ms (raise limits.timeout, or have the plugin do less)`},
		{"too much", func(context.Context, []byte) ([]byte, error) { return make([]byte, 65<<20), nil }, abi.ReasonMemory,
			`plugin "user-functions": greet: memory: host function extism:host/user.greet: no room for 68157440 bytes`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			broken, timeout := true, time.Minute
			if tc.code == abi.ReasonTimeout {
				timeout = short
			}
			p := loadUser(t, host.Config{}, timeout, []string{"extism:host/user.greet"}, func(ctx context.Context, in []byte) ([]byte, error) {
				if broken {
					return tc.greet(ctx, in)
				}
				return hello(ctx, in)
			})
			_, err := p.Call(t.Context(), "greet", []byte("x"))
			checkReason(t, err, tc.code)
			if err.Error() != tc.want {
				t.Errorf("error %v\nwant  %s", err, tc.want)
			}
			broken = false
			if r, err := p.Call(t.Context(), "greet", []byte("x")); err != nil || string(r.Output) != "hello x" {
				t.Errorf("the next call: %v, error %v", r, err)
			}
		})
	}
}

// A function that is not granted is there, and denied when it is called.
func TestFunctionIsGranted(t *testing.T) {
	p := loadUser(t, host.Config{}, time.Minute, []string{"add"}, hello)
	for _, name := range []string{"greet", "add"} { // "add" names extism:host/user.add
		_, err := p.Call(t.Context(), name, nil)
		perr := checkReason(t, err, abi.ReasonDenied)
		if !strings.Contains(perr.Remedy, "grants.functions") {
			t.Errorf("remedy %q", perr.Remedy)
		}
	}
}

// A wild handle is no bytes.
func TestFunctionWildHandle(t *testing.T) {
	var got []byte
	p := loadUser(t, host.Config{}, time.Minute, []string{"greet"}, func(_ context.Context, in []byte) ([]byte, error) {
		got = append([]byte("seen"), in...)
		return nil, nil
	})
	if _, err := p.Call(t.Context(), "greet_wild", nil); err != nil || string(got) != "seen" {
		t.Errorf("%q, error %v", got, err)
	}
}

func TestFunctionsThatAreMissing(t *testing.T) {
	spec := fixture(t, "user-functions").Spec
	if want := []string{"extism:host/user.greet", "calc.add"}; strings.Join(spec.Needs, " ") != strings.Join(want, " ") || spec.Portable {
		t.Errorf("needs %q, portable %v", spec.Needs, spec.Portable)
	}
	wrong := calc
	wrong.Params = wrong.Params[:1]
	fs := []host.Function{wrong, host.NewFunction(host.UserModule, "greet", hello)}
	_, err := newHost(t, host.Config{Functions: fs}).Load(t.Context(), spec, host.PluginConfig{})
	if want := `plugin "user-functions": import "add" of module "calc" has type (f64, f64) -> (f64): wrong signature (want (f64) -> (f64))`; !errors.Is(err, host.ErrSignature) || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}

// An import that nobody offers is refused with the names that are near, those there
// are, and the places where others are stated.
func TestFunctionsNobodyOffers(t *testing.T) {
	greet := `plugin "user-functions": import "greet" of module "extism:host/user": unusable import (`
	add := `plugin "user-functions": import "add" of module "calc": unusable import (`
	f := func(module, name string) host.Function { return host.NewFunction(module, name, hello) }
	for _, tc := range []struct {
		functions []host.Function
		want      string
	}{
		{nil, greet + offerIt(host.UserModule)},
		{[]host.Function{f(host.UserModule, "greets"), calc},
			greet + `did you mean "greets"? the embedder offers extism:host/user.greets, calc.add; ` + offerIt(host.UserModule)},
		{[]host.Function{f(host.UserModule, "greet"), f("calcs", "add")},
			add + `did you mean module "calcs"? the embedder offers extism:host/user.greet, calcs.add; ` + offerIt("calc")},
		{[]host.Function{f(host.UserModule, "greet"), f("calc", "multiply")},
			add + `the embedder offers extism:host/user.greet, calc.multiply; ` + offerIt("calc")},
	} {
		_, err := newHost(t, host.Config{Functions: tc.functions}).Load(t.Context(), fixture(t, "user-functions").Spec, host.PluginConfig{})
		if !errors.Is(err, host.ErrImport) || err.Error() != tc.want+")" {
			t.Errorf("error %v\nwant  %s)", err, tc.want)
		}
	}
}

// Functions that no guest could import are refused; package imports says which.
func TestBadFunctions(t *testing.T) {
	if _, err := host.New(host.Config{Functions: []host.Function{{Module: "m", Name: "f"}}}); !errors.Is(err, host.ErrConfig) {
		t.Errorf("error %v, want host.ErrConfig", err)
	}
}
