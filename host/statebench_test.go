package host_test

import (
	"context"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// BenchmarkState is what a caller waits for a whole step, the score filter over
// 1,000 items in a stock Go guest: with a pause between calls, as between the
// builds of an agent, and back to back.
func BenchmarkState(b *testing.B) {
	items := benchRows(1000)
	query := &abi.Query{Text: "q"}
	for _, state := range []host.State{host.StateKeep, host.StateReset, host.StateFresh} {
		h := newHost(b, host.Config{})
		p := loadCounting(b, h, host.PluginConfig{State: state})
		s, err := newStep(p, abi.OpFilter, host.OperationOptions{})
		if err != nil {
			b.Fatal(err)
		}
		run := func(b *testing.B) {
			if out, err := s.Run(context.Background(), query, items); err != nil || len(out) != 500 {
				b.Fatal(len(out), err)
			}
		}
		b.Run(string(state)+"/waited", func(b *testing.B) {
			for range b.N {
				run(b)
				b.StopTimer()
				host.Settle(p)
				b.StartTimer()
			}
		})
		b.Run(string(state)+"/back-to-back", func(b *testing.B) {
			for b.Loop() {
				run(b)
			}
		})
		b.Run(string(state)+"/parallel", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					run(b)
				}
			})
		})
	}
}

// BenchmarkNextInstance makes another instance of a stock Go guest whose init
// builds an index: from the image, and with an init of its own.
func BenchmarkNextInstance(b *testing.B) {
	for name, index := range map[string]int{"plain": 0, "index of 4 MiB": 4 << 10} {
		for _, state := range []host.State{host.StateReset, host.StateFresh} {
			h := newHost(b, host.Config{})
			p := loadCounting(b, h, host.PluginConfig{State: state, Settings: map[string]any{"index": index}})
			b.Run(name+"/"+string(state), func(b *testing.B) {
				for b.Loop() {
					if err := host.MakeInstance(p); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkReset puts an instance back to the image.
func BenchmarkReset(b *testing.B) {
	h := newHost(b, host.Config{})
	for name, settings := range map[string]map[string]any{"plain": nil, "index of 4 MiB": {"index": 4 << 10}} {
		p := loadCounting(b, h, host.PluginConfig{Settings: settings})
		b.Run(name, func(b *testing.B) { host.ResetRepeatedly(b, p) })
	}
}
