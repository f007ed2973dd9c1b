package host_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// Fuel is the same for the same work, on every call and in both engines.
func TestFuelIsDeterministic(t *testing.T) {
	h := newHost(t, host.Config{})
	var fuel []int64
	for _, engine := range []host.Engine{host.EngineCompiler, host.EngineInterpreter} {
		p := load(t, h, "foreign", host.PluginConfig{Engine: engine})
		for range 3 {
			r, err := p.Call(t.Context(), "echo", bytes.Repeat([]byte("x"), 50_000))
			if err != nil {
				t.Fatal(err)
			}
			fuel = append(fuel, r.Fuel)
		}
	}
	for _, f := range fuel {
		if f != fuel[0] {
			t.Fatalf("fuel %d", fuel)
		}
	}
}

// A guest of stock Go seeds its maps with random numbers when it starts. What a call
// uses is the same in every instance of its image, and where these numbers are fixed in
// every host and both engines, too.
func TestFuelOfAGoGuestIsDeterministic(t *testing.T) {
	everywhere := int64(0)
	engines := []host.Engine{host.EngineCompiler, host.EngineInterpreter}
	if underRace { // the interpreter is too slow there to warm the guest up in time
		engines = engines[:1]
	}
	for i := range 2 {
		for _, engine := range engines {
			if i > 0 && engine == host.EngineInterpreter && !thorough {
				continue // it takes seconds to start the guest
			}
			for _, deterministic := range []bool{false, true} {
				p := loadCounting(t, newHost(t, host.Config{}), host.PluginConfig{Engine: engine, Deterministic: deterministic, State: host.StateReset,
					Limits: host.Limits{Instances: 2, MinInstances: 2}})
				fuel := fuelOfCalls(t, p)
				if first := fuel[0]; fuel != [6]int64{first, first, first, first, first, first} || first <= 0 {
					t.Errorf("%s, deterministic %t: fuel %d in one host", engine, deterministic, fuel)
				}
				if !deterministic {
					continue
				}
				if everywhere == 0 {
					everywhere = fuel[0]
				}
				if fuel[0] != everywhere {
					t.Errorf("%s: fuel %d, in another host or engine %d", engine, fuel[0], everywhere)
				}
			}
		}
	}
}

// fuelOfCalls makes three times two calls at once.
func fuelOfCalls(t *testing.T, p *host.Plugin) (fuel [6]int64) {
	t.Helper()
	for i := 0; i < len(fuel); i += 2 {
		var calls sync.WaitGroup
		for n := i; n < i+2; n++ {
			calls.Go(func() {
				x, err := p.Exchange(t.Context(), abi.OpRetrieve, host.LaneJSON, []byte(`{"query":{"query_str":"q"},"top_k":2}`))
				if err != nil {
					t.Error(err)
					return
				}
				fuel[n] = x.Fuel
			})
		}
		calls.Wait()
	}
	return fuel
}
