package host_test

import (
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// While a plugin starts, for as long as it may, calls of others go on: those that use an
// instance again and those that make a new one.
func TestCallsGoOnWhileAPluginStarts(t *testing.T) {
	h := newHost(t, host.Config{})
	spins := fixture(t, "init-spins").Spec
	const start, least = time.Second, 20
	for _, state := range []string{host.StateReset, host.StateFresh} {
		p := load(t, h, "stateful", host.PluginConfig{State: state, Limits: host.Limits{Instances: 1}})
		failed := make(chan error, 1)
		var over time.Time // written before the error is sent
		go func() {
			_, err := h.Load(t.Context(), spins, host.PluginConfig{Limits: host.Limits{InitTimeout: start}})
			over = time.Now()
			failed <- err
		}()
		var began []time.Time
		var err error
		for err == nil {
			began = append(began, time.Now())
			if _, err := p.Call(t.Context(), "count", nil); err != nil {
				t.Fatal(err)
			}
			select {
			case err = <-failed:
			default:
			}
		}
		checkReason(t, err, abi.ReasonInitFailed)
		during := 0
		for _, b := range began {
			if left := over.Sub(b); left > start/10 && left < start-start/10 { // certainly while init ran
				during++
			}
		}
		if during < least {
			t.Errorf("%s: %d calls within the %v in which the other plugin started (want %d)", state, during, start, least)
		}
	}
}
