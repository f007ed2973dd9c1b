package host_test

import (
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// What a guest keeps of a call, be it a pointer into its memory or a handle of the host,
// gives it nothing to change the answer of that call with: the host has its own copy. Its
// next answer is the one it means.
func TestGuestsKeepPointers(t *testing.T) {
	h := newHost(t, host.Config{})
	checkOtherPlugin(t, h)
	for _, name := range []string{"keeps-pointer", "keeps-handle"} {
		for state, calls := range states {
			t.Run(name+"/"+string(state), func(t *testing.T) {
				before := takeStock(t, h)
				p := load(t, h, name, host.PluginConfig{State: state, Limits: host.Limits{Instances: 1}})
				s, err := newStep(p, abi.OpRetrieve, host.OperationOptions{TopK: 1})
				if err != nil {
					t.Fatal(err)
				}
				var contents []string
				for range 4 {
					items, err := s.Run(t.Context(), nothing, nil)
					if err != nil || len(items) != 1 {
						t.Fatalf("%d items, error %v", len(items), err)
					}
					contents = append(contents, items[0].Content)
				}
				for i, c := range contents {
					if want := string(rune('a' + calls(i+1))); c != want {
						t.Errorf("call %d answered %q (want %q)", i+1, c, want)
					}
				}
				if err := p.Close(t.Context()); err != nil {
					t.Error(err)
				}
				checkStock(t, h, before)
			})
		}
	}
}
