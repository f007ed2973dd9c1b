package host_test

import (
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// A host that does without what is experimental holds guests to the same limits,
// and clears them as well, though their memories are wazero's.
func TestPortableHostHoldsMemoryToItsLimits(t *testing.T) {
	const page = 64 << 10
	h := newHost(t, host.Config{Portable: true, Memory: 30 * page})
	run := func(name string, limit int64) error {
		t.Helper()
		p := load(t, h, name, host.PluginConfig{Limits: host.Limits{Instances: 1, Memory: limit}})
		if host.OwnMemory(t, p) {
			t.Errorf("%s: the memory is not wazero's", name)
		}
		s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if _, err = s.Run(t.Context(), &abi.Query{}, nil); err != nil {
				break
			}
		}
		host.Settle(p)
		if cerr := p.Close(t.Context()); cerr != nil {
			t.Fatal(cerr)
		}
		return err
	}
	if err := run("grow-each-call", 20*page); err != nil {
		t.Error(err)
	}
	checkReason(t, run("memory-hog", 20*page), abi.ReasonMemory)
	checkReason(t, run("memory-hog", 40*page), abi.ReasonMemory) // more than the host has
	if _, memory := host.Usage(h); memory != 0 {
		t.Errorf("%d bytes held", memory)
	}
}
