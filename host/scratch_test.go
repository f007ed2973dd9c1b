package host_test

import (
	"context"
	"fmt"
	"os"
	"sort"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
)

func TestScratch(t *testing.T) {
	all, err := fixtureSpecs()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for n := range all {
		names = append(names, n)
	}
	sort.Strings(names)
	h := newHost(t, host.Config{})
	f, _ := os.Create("/tmp/hh/out.txt")
	defer f.Close()
	for _, n := range names {
		e := all[n]
		if e.Err != nil {
			fmt.Fprintf(f, "SPEC %s: %v\n", n, e.Err)
			continue
		}
		for _, w := range e.Spec.Warnings {
			fmt.Fprintf(f, "WARN %s: %s\n", n, w)
		}
		began := time.Now()
		p, err := h.Load(context.Background(), e.Spec, host.PluginConfig{Limits: host.Limits{Timeout: 1000 * time.Millisecond, InitTimeout: 100 * time.Millisecond}})
		if err != nil {
			fmt.Fprintf(f, "LOAD %s: %v  [%v]\n", n, err, time.Since(began))
			continue
		}
		op := p.Spec().Operations[0].Operation
		_ = abi.OpFilter
		s, err := p.Step(op, host.StepOptions{Step: "s"})
		if err != nil {
			fmt.Fprintf(f, "STEP %s: %v\n", n, err)
			continue
		}
		items := []pipeline.Item{
			{ID: "a", Content: "one", Source: "retrieval", Score: 0.2, Priority: 5},
			{ID: "b", Content: "two", Source: "retrieval", Score: 0.3, Priority: 5},
		}
		began = time.Now()
		out, err := s.Run(context.Background(), &pipeline.Query{Text: "q"}, items)
		if err != nil {
			fmt.Fprintf(f, "RUN %s: %v  [%v]\n", n, err, time.Since(began))
			if n == "trap" || n == "stderr-then-trap" {
				fmt.Fprintf(f, "%+v\n", err)
			}
			continue
		}
		fmt.Fprintf(f, "OK %s: %v\n", n, out)
	}
}
