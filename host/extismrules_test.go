package host_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// Every function of Extism is there, under its name and its older one.
func TestExtismImports(t *testing.T) {
	kernels(t, func(t *testing.T, cfg host.Config) {
		h := newHost(t, cfg)
		for _, name := range []string{"extism-imports", "extism-imports-old"} {
			p := load(t, h, name, host.PluginConfig{})
			if _, err := p.Call(t.Context(), "run", nil); err != nil {
				t.Error(err)
			}
		}
	})
	env := 0
	for _, s := range abi.Imports {
		if s.Module == abi.EnvModule {
			env++
		}
	}
	if n := len(fixture(t, "extism-imports").Spec.Imports); n != env || n != len(fixture(t, "extism-imports-old").Spec.Imports) {
		t.Errorf("the fixture imports %d functions of %d", n, env)
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
		{"void_message", "", abi.ReasonGuestError, "guest_error: kkkkkkkk"},
		{"status_0", "", "", ""},
		{"status_1", "", abi.ReasonGuestError, "status 1 without a message"},
		{"status_minus_1", "", abi.ReasonGuestError, "status -1 without a message"},
		{"status_0_message", "", abi.ReasonGuestError, "guest_error: kkkkkkkk"},
		{"status_1_message", "", abi.ReasonGuestError, "guest_error: kkkkkkkk"},
		{"message_then_trap", "", abi.ReasonTrap, "unreachable"},
		{"message_taken_back", "", "", ""},
		{"message_wild", "", "", ""},
		{"output_then_fail", "", abi.ReasonGuestError, "status 1 without a message"},
		{"output_part", "", "", "kkk"},
		{"output_none", "", "", ""},
		{"output_wild", "", abi.ReasonInvalidOutput, "outside the memory"},

		{"variable", "100", "", ""},
		{"variable", "104", "", ""},
		{"variable", "105", abi.ReasonMemory, "variables need 1050008 bytes, allowed 1048576"},
		{"variable", "000", "", ""},
	} {
		t.Run(tc.function+tc.input, func(t *testing.T) {
			kernels(t, func(t *testing.T, cfg host.Config) {
				p := load(t, newHost(t, cfg), "extism-rules", host.PluginConfig{})
				r, err := p.Call(t.Context(), tc.function, []byte(tc.input))
				if tc.code != "" {
					checkReason(t, err, tc.code)
					if !strings.Contains(err.Error(), tc.want) {
						t.Errorf("error %v (want %s)", err, tc.want)
					}
					return
				}
				if err != nil || string(r.Output) != tc.want {
					t.Errorf("%v, error %v (want %q)", r, err, tc.want)
				}
			})
		})
	}
}

// A variable that was refused leaves the old one, and the quota, as they were.
func TestVariableQuota(t *testing.T) {
	p := load(t, newHost(t, host.Config{}), "extism-rules", host.PluginConfig{Limits: host.Limits{Instances: 1}})
	for range 3 { // replacing one by another of the size does not add up
		if _, err := p.Call(t.Context(), "variable", []byte("100")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Call(t.Context(), "delete", nil); err != nil {
		t.Error(err)
	}
	if _, err := p.Call(t.Context(), "variable", []byte("104")); err != nil {
		t.Error("after the variable was deleted:", err)
	}
}

// Only what has the type of an Extism function can be called by name.
func TestExtismFunctions(t *testing.T) {
	functions := fixture(t, "extism-rules").Spec.Functions
	for _, name := range []string{"with_parameter", "two_results", "wide_result"} {
		if slices.Contains(functions, name) {
			t.Errorf("%s can be called", name)
		}
	}
}

func TestLogLevel(t *testing.T) {
	for level, want := range map[slog.Level]int{slog.LevelDebug - 4: 0, slog.LevelDebug: 1, slog.LevelInfo: 2, slog.LevelWarn: 3, slog.LevelError: 4, 100: 1<<31 - 1} {
		var log strings.Builder
		h := newHost(t, host.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: level}))})
		_, err := load(t, h, "extism-rules", host.PluginConfig{}).Call(t.Context(), "log_level", nil)
		if want == 0 {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("status %d ", want)) {
			t.Errorf("level %v: error %v (want status %d)", level, err, want)
		}
	}
}

// What starts a language runtime: the start section, _initialize or else the
// constructors, then hs_init; each once per instance.
func TestInitOrder(t *testing.T) {
	h := newHost(t, host.Config{})
	for name, want := range map[string]string{"init-all": "421", "init-ctors": "431"} {
		p := load(t, h, name, host.PluginConfig{Limits: host.Limits{Instances: 1}})
		for range 2 {
			r, err := p.Call(t.Context(), "order", nil)
			if err != nil || strings.TrimRight(string(r.Output), "\x00") != want {
				t.Errorf("%s: %v, error %v (want %s)", name, r, err, want)
			}
		}
	}
	_, err := h.Load(t.Context(), fixture(t, "init-odd").Spec, host.PluginConfig{})
	checkReason(t, err, abi.ReasonInitFailed)
}
