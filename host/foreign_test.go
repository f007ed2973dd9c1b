package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

func TestForeignSpec(t *testing.T) {
	s := fixture(t, "foreign").Spec
	if !s.Foreign || s.ABI != 0 || s.Manifest != nil || !s.Portable || s.WASI {
		t.Errorf("spec %+v", s)
	}
	if got := strings.Join(s.Functions, " "); got != "config count echo fail" {
		t.Errorf("functions %s", got)
	}
}

func TestCallForeign(t *testing.T) {
	h := newHost(t, host.Config{})
	for _, name := range []string{"foreign", "foreign-old"} {
		t.Run(name, func(t *testing.T) {
			p := load(t, h, name, host.PluginConfig{Config: map[string]string{"\x00": "value"}, Limits: host.Limits{Instances: 1}})
			for _, input := range []string{"", "x", "hello, world", strings.Repeat("long ", 20_000)} {
				r, err := p.Call(t.Context(), "echo", []byte(input))
				if err != nil || string(r.Output) != input || r.Fuel <= 0 || r.Memory != 64<<10 {
					t.Errorf("echo of %d bytes: %d bytes, error %v", len(input), len(r.Output), err)
				}
			}
			for want := 1; want <= 3; want++ {
				r, err := p.Call(t.Context(), "count", nil)
				if err != nil || len(r.Output) != want {
					t.Errorf("variables: %d bytes, error %v (want %d: they live as long as the instance)", len(r.Output), err, want)
				}
			}
			if r, err := p.Call(t.Context(), "config", nil); err != nil || string(r.Output) != "value" {
				t.Errorf("config %q, error %v", r.Output, err)
			}
			_, err := p.Call(t.Context(), "fail", nil)
			checkReason(t, err, abi.ReasonGuestError)
		})
	}
}

func TestFuelLimit(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "foreign", host.PluginConfig{Limits: host.Limits{Fuel: 1_000_000}})
	if _, err := p.Call(t.Context(), "echo", make([]byte, 1000)); err != nil {
		t.Error(err)
	}
	_, err := p.Call(t.Context(), "echo", make([]byte, 1_000_000))
	checkReason(t, err, abi.ReasonFuel)
}

// offerWASI names both places where WASI is switched on, as they are spelled.
const offerWASI = `(offer them: wasi: true of the instance, or --wasi of plugin call)`

func TestCallCommand(t *testing.T) {
	h := newHost(t, host.Config{})
	spec := fixture(t, "foreign-command").Spec
	want := `plugin "foreign-command": the module imports WASI functions: invalid configuration ` + offerWASI
	if _, err := h.Load(t.Context(), spec, host.PluginConfig{}); !errors.Is(err, host.ErrConfig) || err.Error() != want {
		t.Errorf("loaded without WASI: error %v\nwant %s", err, want)
	}
	p := load(t, h, "foreign-command", host.PluginConfig{WASI: true})
	for range 2 {
		r, err := p.Call(t.Context(), "_start", nil)
		if err != nil || r.Log != "hello" {
			t.Errorf("log %q, error %v", r.Log, err)
		}
	}
	_, err := p.Call(t.Context(), "exit_2", nil)
	checkReason(t, err, abi.ReasonExit)
}

// Closing waits for a program, too, which runs in an instance of its own.
func TestCloseWaitsForPrograms(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	h := newHost(t, host.Config{Functions: []host.Function{host.NewFunction(host.UserModule, "greet",
		func(context.Context, []byte) ([]byte, error) {
			close(entered)
			<-leave
			return nil, nil
		})}})
	p := load(t, h, "calls-in-start", host.PluginConfig{
		Grants: host.Grants{Functions: []string{"greet"}}, Limits: host.Limits{Instances: 1, QueueTimeout: time.Millisecond, Timeout: time.Minute},
	})
	done := make(chan error)
	go func() {
		_, err := p.Call(context.Background(), "_start", nil)
		done <- err
	}()
	<-entered
	_, err := p.Call(t.Context(), "_start", nil)
	checkReason(t, err, abi.ReasonBusy) // programs are as many at a time as other calls
	soon, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if err := h.Close(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("closed under a running program: error %v", err)
	}
	close(leave)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestCallUnknownFunction(t *testing.T) {
	h := newHost(t, host.Config{})
	p := load(t, h, "foreign", host.PluginConfig{})
	for function, want := range map[string]string{
		"ecko":           `plugin "foreign": function "ecko": no such export (did you mean "echo"?)`,
		"with_parameter": `plugin "foreign": function "with_parameter": no such export (the module has config, count, echo, fail)`,
	} {
		_, err := p.Call(t.Context(), function, nil)
		if !errors.Is(err, host.ErrNoExport) || err.Error() != want {
			t.Errorf("error %v\nwant  %s", err, want)
		}
	}
}

// checkReason checks the typed reason of an error.
func checkReason(t *testing.T, err error, want abi.Reason) *host.PluginError {
	t.Helper()
	var perr *host.PluginError
	if !errors.As(err, &perr) {
		t.Fatalf("error %v (want a *host.PluginError)", err)
	}
	if perr.Code != want {
		t.Fatalf("error %v\nreason %s (want %s)", err, perr.Code, want)
	}
	return perr
}
