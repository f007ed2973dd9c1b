package host_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

// A plugin for whose instance the host has no room is not to blame: it is not paused, and
// serves as soon as there is room.
func TestWantOfRoomIsNobodysFault(t *testing.T) {
	for _, engine := range []host.Engine{host.EngineCompiler, host.EngineInterpreter} {
		h := newHost(t, host.Config{})
		p := load(t, h, "foreign", host.PluginConfig{Engine: engine, State: host.StateFresh,
			Limits: host.Limits{Instances: 1, BreakAfter: 2, QueueTimeout: 100 * time.Millisecond}})
		call := func() error {
			_, err := p.Call(t.Context(), "count", nil)
			return err
		}
		for range 2 { // the instance that is there, and the spare one
			if err := call(); err != nil {
				t.Fatal(err)
			}
		}
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() { // as a neighbour does, who also takes what the plugin gives back
			defer close(stopped)
			for {
				giveBack := host.TakeAllMemory(h)
				defer giveBack()
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Microsecond):
				}
			}
		}()
		refused := 0
		for began := time.Now(); refused < 4 && time.Since(began) < badLimit; {
			if err := call(); err != nil {
				refused++
				if failed := new(host.PluginError); errors.As(err, &failed) && failed.Code == abi.ReasonCircuitOpen {
					t.Errorf("%s: error %v", engine, err)
				}
			}
		}
		close(stop)
		<-stopped
		if s := p.Stats(); refused < 4 || s.Failures != 0 || s.Circuit != host.CircuitClosed {
			t.Errorf("%s: %d calls refused, %+v", engine, refused, s)
		}
		if err := call(); err != nil {
			t.Errorf("%s: error %v", engine, err)
		}
	}
}

// trappingStart is a command whose main traps.
var trappingStart = []byte("\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00\x07\x0a\x01\x06_start\x00\x00\x0a\x05\x01\x03\x00\x00\x0b")

// Programs that fail again and again are paused as other plugins are.
func TestFailingProgramsArePaused(t *testing.T) {
	spec, err := spec.Read("p", trappingStart, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newHost(t, host.Config{}).Load(t.Context(), spec, host.PluginConfig{Name: "p", Limits: host.Limits{BreakAfter: 2}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []abi.Reason{abi.ReasonTrap, abi.ReasonTrap, abi.ReasonCircuitOpen} {
		_, err := p.Call(t.Context(), "_start", nil)
		checkReason(t, err, want)
	}
}

// A session sees no folder either that is gone.
func TestSessionsFolderGone(t *testing.T) {
	dir, _ := mountDir(t)
	p := loadMounted(t, dir, host.ModeRO)
	s := session(t, t.Context(), p)
	if err := os.Rename(dir, dir+"-away"); err != nil {
		t.Skip("this system keeps the folder:", err)
	}
	_, err := s.Call(t.Context(), p.Spec().Functions[len(p.Spec().Functions)-1], nil)
	checkReason(t, err, abi.ReasonDenied)
	_, more := p.NewSession(t.Context())
	checkReason(t, more, abi.ReasonDenied)
	if !errors.Is(err, host.ErrFolder) || !errors.Is(more, host.ErrFolder) {
		t.Errorf("errors %v and %v", err, more)
	}
}

// A session that serves no call is closed whether the context has ended or not.
func TestSessionClosesWithoutTime(t *testing.T) {
	p := load(t, newHost(t, host.Config{}), "foreign", host.PluginConfig{})
	over, end := context.WithCancel(t.Context())
	end()
	for range 20 {
		s := session(t, t.Context(), p)
		if err := s.Close(over); err != nil {
			t.Fatal(err)
		}
	}
}

// A function of the embedder that ends its goroutine, as a failed test does, in the call
// that tries a paused plugin, ends the session and leaves the plugin to the next call.
func TestProbeOfASessionEndsWithItsGoroutine(t *testing.T) {
	do := func() error { return errors.New("no") }
	p := load(t, newHost(t, host.Config{Functions: []host.Function{calc, host.NewFunction(host.UserModule, "greet",
		func(context.Context, []byte) ([]byte, error) { return nil, do() })}}), "user-functions", host.PluginConfig{
		Grants: host.Grants{Functions: []string{"greet", "calc.add"}}, Limits: host.Limits{BreakAfter: 1, BreakMost: time.Millisecond}})
	s := session(t, t.Context(), p)
	_, err := p.Call(t.Context(), "greet", nil)
	checkReason(t, err, abi.ReasonTrap)
	for p.Stats().Circuit != host.CircuitHalfOpen {
		time.Sleep(time.Millisecond)
	}
	do = func() error { runtime.Goexit(); return nil }
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = s.Call(t.Context(), "greet", nil)
	}()
	<-gone
	do = func() error { return nil }
	if _, err := p.Call(t.Context(), "add", nil); err != nil {
		t.Errorf("the next call: %v", err)
	}
	if _, err = s.Call(t.Context(), "add", nil); err == nil {
		t.Error("the session goes on")
	}
}
