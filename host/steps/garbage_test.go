package steps_test

import (
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/listwriter"
	"github.com/anchor-host/anchor-host/pipeline"
)

// A step that is lent the memory of its list leaves no garbage of its own: the heap of a
// host is small, and would be collected hundreds of times a second.
func TestStepsLeaveNoGarbage(t *testing.T) {
	if underRace {
		t.Skip("the race detector has a sync.Pool forget at random")
	}
	p := loadSpec(t, newHost(t, host.Config{}), countingSpec(t), host.PluginConfig{State: host.StateKeep})
	s, err := steps.New(p, abi.OpFilter, steps.Options{})
	if err != nil {
		t.Fatal(err)
	}
	shown, query := benchItems(1000), &pipeline.Query{Text: "q"}
	partly := append([]pipeline.Item{{ID: "prompt", Source: pipeline.SourceSystem}}, shown...)
	for _, c := range []struct {
		name  string
		items []pipeline.Item
		want  int
	}{{"all shown", shown, 500}, {"one hidden", partly, 501}} {
		list := make([]pipeline.Item, 0, len(c.items))
		n := testing.AllocsPerRun(200, func() {
			if out, err := s.(listwriter.Step).RunInto(t.Context(), query, c.items, list); err != nil || len(out) != c.want {
				t.Fatal(len(out), err)
			}
		})
		if n > 1 { // what is idle is visited from time to time
			t.Errorf("%s: %v allocations per call", c.name, n)
		}
	}
}
