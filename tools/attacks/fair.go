package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
)

//go:embed guests/greedy.wasm
var greedyWasm []byte

// callers is the number of callers of the good plugin, and of the others.
const callers = 32

// latencies are the times that callers of one kind waited in one phase.
type latencies struct {
	PerSecond float64       `json:"per_second"`
	P50       time.Duration `json:"p50"`
	P99       time.Duration `json:"p99"`
	P999      time.Duration `json:"p999"`
	Worst     time.Duration `json:"worst"`
	Errors    int           `json:"errors"`
}

// fairFigures are the latencies of the good plugin: alone, while honest plugins work, while
// hostile plugins run, and alone again.
type fairFigures struct {
	Alone, Honest, Hostile, Again latencies
	// Honests and Hostiles are the calls per second of the honest and of the hostile plugins.
	Honests, Hostiles float64
}

// String formats the figures.
func (l latencies) String() string {
	return fmt.Sprintf("%.0f/s, p50 %s, p99 %s, p99.9 %s, worst %s, %d errors", l.PerSecond, short(l.P50), short(l.P99), short(l.P999), short(l.Worst), l.Errors)
}

func short(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Microsecond)
}

// crowd calls a function from 32 goroutines until it is stopped. Each goroutine pauses for
// 10 ms between two calls.
type crowd struct {
	mu    sync.Mutex
	took  []time.Duration
	wrong int
	first error
	began time.Time
	wg    sync.WaitGroup
}

const think = 10 * time.Millisecond

// start starts n callers.
func (c *crowd) start(ctx context.Context, n int, call func(context.Context) error) {
	c.began = time.Now()
	for i := range n {
		c.wg.Go(func() {
			time.Sleep(think * time.Duration(i) / time.Duration(n)) // start the callers at different times
			var took []time.Duration
			var wrong int
			var first error
			for ctx.Err() == nil {
				began := time.Now()
				err := call(context.WithoutCancel(ctx))
				took = append(took, time.Since(began))
				if err != nil {
					if wrong++; first == nil {
						first = err
					}
				}
				time.Sleep(think)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			c.took, c.wrong = append(c.took, took...), c.wrong+wrong
			if c.first == nil {
				c.first = first
			}
		})
	}
}

// end stops the callers, waits for them and returns their latencies.
func (c *crowd) end() latencies {
	c.wg.Wait()
	slices.Sort(c.took)
	at := func(share float64) time.Duration {
		if len(c.took) == 0 {
			return 0
		}
		return c.took[min(len(c.took)-1, int(share*float64(len(c.took))))]
	}
	return latencies{
		PerSecond: float64(len(c.took)) / time.Since(c.began).Seconds(),
		P50:       at(0.5), P99: at(0.99), P999: at(0.999), Worst: at(1), Errors: c.wrong,
	}
}

// beside calls the good plugin from a crowd for some time, while others run.
func beside(ctx context.Context, length time.Duration, good func(context.Context) error, others ...func(context.Context) error) (latencies, float64, error) {
	phase, stop := context.WithTimeout(ctx, length)
	defer stop()
	var bad sync.WaitGroup
	var count atomic.Int64
	began := time.Now()
	for i := range callers {
		if len(others) == 0 {
			break
		}
		bad.Go(func() { count.Add(pester(phase, others[i%len(others)])) })
	}
	var c crowd
	c.start(phase, callers, good)
	l := c.end()
	bad.Wait()
	return l, float64(count.Load()) / time.Since(began).Seconds(), c.first
}

// pester calls without a pause. After a call that was refused at once it waits a millisecond,
// because a host cannot prevent that a caller itself uses the processor.
func pester(ctx context.Context, call func(context.Context) error) (calls int64) {
	for ctx.Err() == nil {
		began := time.Now()
		if err := call(ctx); err != nil && time.Since(began) < time.Millisecond {
			time.Sleep(time.Millisecond)
		}
		calls++
	}
	return calls
}

// greedy loads the foreign plugin whose functions use something without end.
func greedy(ctx context.Context, h *host.Host, called string, grants host.Grants, limits host.Limits) (*host.Plugin, error) {
	spec, err := spec.Read(called, greedyWasm, nil)
	if err != nil {
		return nil, err
	}
	grants.Functions = []string{"neighbour"}
	return h.Load(ctx, spec, host.PluginConfig{Name: called, WASI: true, Grants: grants, Limits: limits})
}

// neighbour is the function of the embedder that the plugin greedy imports.
func neighbour(call func(context.Context) error) host.Function {
	return host.NewFunction(host.UserModule, "neighbour", func(ctx context.Context, _ []byte) ([]byte, error) { return nil, call(ctx) })
}

func nothing(context.Context) error { return nil }

// function returns a function that calls a function of a foreign plugin.
func function(p *host.Plugin, f string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := p.Call(ctx, f, nil)
		return err
	}
}

// fair measures how long callers of the good plugin wait: alone, while 32 callers use a
// plugin that computes and answers, and while 32 callers use one that never ends.
func fair(ctx context.Context, j job) (o outcome, err error) {
	h, err := newHost(ctx, neighbour(nothing))
	if err != nil {
		return o, err
	}
	spec, err := fixture(j.Root, "one-page")
	if err != nil {
		return o, err
	}
	p, err := h.Load(ctx, spec, host.PluginConfig{Name: "good"})
	if err != nil {
		return o, err
	}
	good, err := builder(p, abi.OpFilter)
	if err != nil {
		return o, err
	}
	honest, err := greedy(ctx, h, "honest", host.Grants{}, host.Limits{})
	if err != nil {
		return o, err
	}
	var hostile []func(context.Context) error
	for _, f := range []string{"spin", "log", "blocks", "vars"} {
		p, err := greedy(ctx, h, f, host.Grants{}, host.Limits{})
		if err != nil {
			return o, err
		}
		hostile = append(hostile, function(p, f))
	}
	f := &fairFigures{}
	var errs [4]error
	f.Alone, _, errs[0] = beside(ctx, j.Length, good)
	f.Honest, f.Honests, errs[1] = beside(ctx, j.Length, good, function(honest, "crunch"))
	f.Hostile, f.Hostiles, errs[2] = beside(ctx, j.Length, good, hostile...)
	f.Again, _, errs[3] = beside(ctx, j.Length, good)
	o.Fair = f
	if err := errors.Join(errs[:]...); err != nil {
		o.Error = "the good plugin: " + err.Error()
	}
	return o, h.Close(ctx)
}

// burst makes one plugin use all instances that the host allows, then loads another plugin
// and calls it.
func burst(ctx context.Context, j job) (o outcome, err error) {
	h, err := host.New(host.Config{CacheDir: host.CacheOff, MaxInstances: 4, Functions: []host.Function{neighbour(nothing)}})
	if err != nil {
		return o, err
	}
	a, err := greedy(ctx, h, "a", host.Grants{}, host.Limits{Instances: 4})
	if err != nil {
		return o, err
	}
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() {
			for range 5 {
				_, _ = a.Call(ctx, "crunch", nil)
			}
		})
	}
	calls.Wait()
	began := time.Now()
	spec, err := fixture(j.Root, "foreign")
	if err != nil {
		return o, err
	}
	b, err := h.Load(ctx, spec, host.PluginConfig{Name: "b"})
	if err == nil {
		_, err = b.Call(ctx, "echo", []byte("hello"))
	}
	o.Took = time.Since(began)
	if err != nil {
		o.Error = err.Error()
	}
	return o, nil
}
