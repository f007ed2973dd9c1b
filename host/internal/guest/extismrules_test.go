package guest_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/testkit/guesttest"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// kernels runs a test with guests that are linked to their kernel, and with the functions of
// the kernel in Go.
func kernels(t *testing.T, f func(t *testing.T, o guesttest.Options)) {
	t.Helper()
	t.Run("linked", func(t *testing.T) { f(t, guesttest.Options{}) })
	t.Run("local", func(t *testing.T) { f(t, guesttest.Options{Local: true}) })
}

// The tests of both kernels test both.
func TestKernelIsLinked(t *testing.T) {
	kernels(t, func(t *testing.T, o guesttest.Options) {
		g := guesttest.Open(t, "foreign", o)
		want := !o.Local && g.Env.Features.On(wazerox.Linking)
		if linked := g.Env.Kernels != nil; linked != want {
			t.Errorf("linked to a module: %t, want %t", linked, want)
		}
	})
}

// Every function of Extism is there, under its name and its older one.
func TestExtismImports(t *testing.T) {
	env := 0
	for _, s := range abi.Imports {
		if s.Module == abi.EnvModule {
			env++
		}
	}
	for _, name := range []string{"extism-imports", "extism-imports-old"} {
		kernels(t, func(t *testing.T, o guesttest.Options) {
			g := guesttest.Open(t, name, o)
			if _, err := g.Call(t.Context(), "run", nil); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if n := len(g.Spec.Imports); n != env {
				t.Errorf("%s imports %d functions, want all %d", name, n, env)
			}
		})
	}
}

// The rules of success and failure, of memory, variables and handles.
func TestExtismRules(t *testing.T) {
	for _, tc := range []struct {
		function, input string
		code            abi.Reason // empty: success
		want            string     // the output, or a part of the error
	}{
		{"no_input", "", "", ""},
		{"words", "0123456789", "", ""},
		{"handles", "", "", ""},
		{"delete", "", "", ""},
		{"http", "", "", ""},
		{"blocks", "", "", ""},

		{"void", "", "", ""},
		{"void_message", "", abi.ReasonGuestError, "kkkkkkkk"},
		{"status_0", "", "", ""},
		{"status_minus_1", "", abi.ReasonGuestError, "status -1 without a message"},
		{"status_0_message", "", abi.ReasonGuestError, "kkkkkkkk"},
		{"status_1_message", "", abi.ReasonGuestError, "kkkkkkkk"},
		{"message_then_trap", "", abi.ReasonTrap, "unreachable"},
		{"message_taken_back", "", "", ""},
		{"message_wild", "", "", ""},
		{"output_part", "", "", "kkk"},
		{"output_none", "", "", ""},
		{"output_wild", "", abi.ReasonInvalidOutput, "outside the memory"},

		{"variable", "100", "", ""},
		{"variable", "104", "", ""},
		{"variable", "105", abi.ReasonMemory, "variables need 1050008 bytes, allowed 1048576"},
		{"variable", "000", "", ""},
	} {
		t.Run(tc.function+tc.input, func(t *testing.T) {
			kernels(t, func(t *testing.T, o guesttest.Options) {
				out, err := guesttest.Open(t, "extism-rules", o).Call(t.Context(), tc.function, []byte(tc.input))
				if tc.code != "" {
					if failed := guesttest.CheckReason(t, err, tc.code); !strings.Contains(failed.Error(), tc.want) {
						t.Errorf("error %v, want %s", failed, tc.want)
					}
					return
				}
				if err != nil || string(out) != tc.want {
					t.Errorf("output %q, error %v, want %q", out, err, tc.want)
				}
			})
		})
	}
}

// A variable that was refused leaves the old one, and the quota, as they were.
func TestVariableQuota(t *testing.T) {
	g := guesttest.Open(t, "extism-rules", guesttest.Options{})
	for range 3 { // replacing one by another of the size does not add up
		if _, err := g.Call(t.Context(), "variable", []byte("100")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.Call(t.Context(), "delete", nil); err != nil {
		t.Error(err)
	}
	if _, err := g.Call(t.Context(), "variable", []byte("104")); err != nil {
		t.Error("after the variable was deleted:", err)
	}
}

func TestLogLevel(t *testing.T) {
	for level, want := range map[slog.Level]int{slog.LevelDebug - 4: 0, slog.LevelDebug: 1, slog.LevelInfo: 2, slog.LevelWarn: 3, slog.LevelError: 4, 100: 1<<31 - 1} {
		log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: level}))
		g := guesttest.Open(t, "extism-rules", guesttest.Options{Log: log})
		_, err := g.Call(t.Context(), "log_level", nil)
		if want <= 1 {
			if err != nil || int(g.Status) != want {
				t.Errorf("level %v: status %d, error %v, want status %d", level, g.Status, err, want)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("status %d ", want)) {
			t.Errorf("level %v: error %v, want status %d", level, err, want)
		}
	}
}

// What starts a language runtime: the start section, _initialize or else the
// constructors, then hs_init; each once per instance.
func TestInitOrder(t *testing.T) {
	for name, want := range map[string]string{"init-all": "421", "init-ctors": "431"} {
		g := guesttest.Open(t, name, guesttest.Options{})
		for range 2 {
			out, err := g.Call(t.Context(), "order", nil)
			if err != nil || strings.TrimRight(string(out), "\x00") != want {
				t.Errorf("%s: %q, error %v, want %s", name, out, err, want)
			}
		}
	}
	_, err := guesttest.Start(t, "init-odd", guesttest.Options{})
	guesttest.CheckReason(t, err, abi.ReasonInitFailed)
}

// The same calls have the same outcome through both kernels: outputs, errors, fuel.
func TestSameThroughBothKernels(t *testing.T) {
	inputs := []string{"", "x", "1234567", "12345678", strings.Repeat("long ", 20_000)}
	seen := map[bool]map[string]string{}
	kernels(t, func(t *testing.T, o guesttest.Options) {
		o.Values = map[string]string{"\x00": "value"}
		got := map[string]string{}
		for _, name := range []string{"foreign", "foreign-old", "foreign-calls", "wild-handles", "guest-error", "output-out-of-bounds", "output-too-large", "stateful"} {
			g := guesttest.Open(t, name, o)
			for _, function := range g.Spec.Functions {
				if name == "stateful" && function != "count" || strings.HasSuffix(function, "_forever") {
					continue // how a call ends that does not end is another test
				}
				for i, input := range inputs {
					out, err := g.Call(t.Context(), function, []byte(input))
					got[fmt.Sprint(name, " ", function, " ", i)] = fmt.Sprintf("%d bytes %q, error %v, log %q, fuel %d, memory %d",
						len(out), out[:min(len(out), 50)], err, g.WASI.Output.Tail(guest.MaxLog), g.FuelUsed(), g.Guest.Size())
				}
			}
		}
		seen[o.Local] = got
	})
	if len(seen[false]) < 50 {
		t.Errorf("%d calls were compared, want many", len(seen[false]))
	}
	for call, want := range seen[false] {
		if got := seen[true][call]; got != want {
			t.Errorf("%s: linked %s\nlocal %s", call, want, got)
		}
	}
}
