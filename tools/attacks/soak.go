package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
)

// badTimeout is the timeout of calls of bad plugins. It is short, so that many calls reach it.
const badTimeout = 500 * time.Millisecond

// badPhases is the number of equal parts of a soak. After each part the memory is read.
const badPhases = 4

// The largest growth of memory from the first to the last part: a share of it, and an amount
// by which pools and caches of the runtime vary anyway.
// pools and caches of the runtime move by anyway.
const (
	growthPart  = 0.10
	growthBytes = 8 << 20
)

// The memory limits of all guests of a soak together, and of the whole process.
const (
	soakMemory = 512 << 20
	soakPeak   = 2 << 30
)

// villain is a plugin that misbehaves, with the results of its calls.
type villain struct {
	name  string
	call  func(context.Context) error
	mu    sync.Mutex
	count int
	by    map[string]int
}

func (v *villain) once(ctx context.Context) {
	err := v.call(ctx)
	reason := "ok"
	var perr *host.PluginError
	switch {
	case errors.As(err, &perr):
		reason = string(perr.Code)
	case err != nil:
		reason = "error: " + err.Error()
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.count++
	v.by[reason]++
}

// state has the resources of the process at one moment.
type state struct {
	heap, resident         int64
	goroutines, descriptor int
}

func (s state) String() string {
	return fmt.Sprintf("heap %.1f MiB, RSS %s, %d goroutines, %d descriptors", float64(s.heap)/(1<<20), mebibytes(s.resident), s.goroutines, s.descriptor)
}

// stateNow reads the state after a garbage collection.
func stateNow() state {
	for range 3 { // what pools hold goes with the second, finalizers run in between
		runtime.GC()
		time.Sleep(20 * time.Millisecond)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	rss, _ := statusBytes("self", "VmRSS")
	return state{int64(m.HeapAlloc), rss, runtime.NumGoroutine(), descriptors()}
}

// soaking is one run.
type soaking struct {
	h        *host.Host
	root     string
	out      io.Writer
	only     *regexp.Regexp // the bad plugins that take part, nil for all
	good     func(context.Context) error
	villains []*villain
	loads    atomic.Int64
	// peak is the largest memory in this phase so far, in bytes.
	peak  atomic.Int64
	close []func() error
}

// soak runs a good plugin together with all kinds of bad ones and judges whether memory
// grows. At the beginning and at the end, the good one runs alone for a sixth of the time.
func soak(ctx context.Context, root string, length time.Duration, only *regexp.Regexp, out io.Writer) error {
	if err := warm(ctx, root); err != nil {
		return err
	}
	s := &soaking{root: root, out: out, only: only}
	stop := make(chan struct{})
	defer close(stop)
	go s.watch(stop)
	before := stateNow()
	fmt.Fprintf(out, "before: %s\n", before)
	if err := s.open(ctx); err != nil {
		return err
	}
	states, err := s.phases(ctx, length)
	for _, f := range slices.Backward(s.close) {
		err = errors.Join(err, f())
	}
	after := stateNow()
	fmt.Fprintf(out, "after closing: %s\n", after)
	for _, v := range s.villains {
		fmt.Fprintf(out, "%-24s %7d calls: %s\n", v.name, v.count, v.reasons())
	}
	fmt.Fprintf(out, "%d plugins loaded and closed meanwhile\n", s.loads.Load())
	if err != nil {
		return err
	}
	return judge(states, before, after, out)
}

// warm makes a host and closes it, so that the process has opened what it opens only once.
func warm(ctx context.Context, root string) error {
	h, err := newHost(ctx)
	if err != nil {
		return err
	}
	spec, err := fixture(root, "foreign")
	if err == nil {
		var p *host.Plugin
		if p, err = h.Load(ctx, spec, host.PluginConfig{State: host.StateReset}); err == nil {
			_, err = p.Call(ctx, "echo", []byte("hello"))
		}
	}
	return errors.Join(err, h.Close(ctx))
}

// watch records the peak of the memory, and ends the process before it exhausts the machine.
func (s *soaking) watch(stop <-chan struct{}) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		n, _ := statusBytes("self", "VmRSS")
		if n > soakPeak {
			fmt.Fprintf(s.out, "attacks: soak: ended with RSS %s, at most %s is expected\n", mebibytes(n), mebibytes(soakPeak))
			os.Exit(1)
		}
		s.peak.Store(max(s.peak.Load(), n))
	}
}

// judge returns an error if the memory has grown.
func judge(states []state, before, after state, out io.Writer) error {
	var errs []error
	if len(states) > 2 {
		// Before the bad plugins ran once, their instances are not there.
		first, last := states[1], states[len(states)-1]
		if most := float64(first.heap)*(1+growthPart) + growthBytes; float64(last.heap) > most {
			errs = append(errs, fmt.Errorf("the heap grew from %s to %s", mebibytes(first.heap), mebibytes(last.heap)))
		}
	}
	if after.goroutines > before.goroutines {
		errs = append(errs, fmt.Errorf("%d goroutines are left, %d were there before", after.goroutines, before.goroutines))
	}
	if after.descriptor > before.descriptor {
		errs = append(errs, fmt.Errorf("%d descriptors are left, %d were there before", after.descriptor, before.descriptor))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("memory is not flat: %w", err)
	}
	fmt.Fprintln(out, "memory is flat")
	return nil
}

// reasons lists how the calls ended.
func (v *villain) reasons() string {
	var list []string
	for _, r := range slices.Sorted(maps.Keys(v.by)) {
		list = append(list, fmt.Sprintf("%s %d", r, v.by[r]))
	}
	return strings.Join(list, ", ")
}

// phases runs them and returns what the process held after each of the bad ones.
func (s *soaking) phases(ctx context.Context, length time.Duration) (states []state, err error) {
	alone := func(what string) error {
		l, _, err := beside(ctx, length/6, s.good)
		fmt.Fprintf(s.out, "%-16s good plugin %s; %s\n", what, l, stateNow())
		return err
	}
	if err := alone("alone:"); err != nil {
		return nil, err
	}
	for i := range badPhases {
		if ctx.Err() != nil {
			return states, ctx.Err()
		}
		s.peak.Store(0)
		l, first := s.bad(ctx, length*4/6/badPhases)
		states = append(states, stateNow())
		fmt.Fprintf(s.out, "%-16s good plugin %s; %s, peak RSS %s\n", fmt.Sprintf("beside bad %d/%d:", i+1, badPhases), l, states[i], mebibytes(s.peak.Load()))
		err = errors.Join(err, first)
	}
	return states, errors.Join(err, alone("alone again:"))
}

// bad is one phase with bad plugins. It has 32 callers of the good plugin, 31 of the bad
// ones, and one that loads and closes plugins.
func (s *soaking) bad(ctx context.Context, length time.Duration) (latencies, error) {
	phase, stop := context.WithTimeout(ctx, length)
	defer stop()
	var wg sync.WaitGroup
	var next atomic.Int64
	for range callers - 1 {
		wg.Go(func() {
			pester(phase, func(ctx context.Context) error {
				s.villains[int(next.Add(1))%len(s.villains)].once(context.WithoutCancel(ctx))
				return nil
			})
		})
	}
	var loading error
	wg.Go(func() {
		for phase.Err() == nil && loading == nil {
			loading = s.load(context.WithoutCancel(phase))
		}
	})
	var c crowd
	c.start(phase, callers, s.good)
	l := c.end()
	wg.Wait()
	return l, errors.Join(c.first, loading)
}

// load loads a plugin, calls it and closes it.
func (s *soaking) load(ctx context.Context) error {
	spec, err := fixture(s.root, []string{"foreign", "stateful", "passive-data"}[s.loads.Add(1)%3])
	if err != nil {
		return err
	}
	p, err := s.h.Load(ctx, spec, host.PluginConfig{Name: "passer-by"})
	var perr *host.PluginError
	if errors.As(err, &perr) {
		time.Sleep(10 * time.Millisecond) // the host may have no room at the moment
		return nil
	}
	if err != nil {
		return err
	}
	if functions := spec.Functions; spec.Foreign && len(functions) > 0 {
		_, _ = p.Call(ctx, functions[0], nil)
	}
	time.Sleep(10 * time.Millisecond)
	return p.Close(ctx)
}

// open makes the host and all plugins.
func (s *soaking) open(ctx context.Context) (err error) {
	var inner *host.Plugin
	nested := neighbour(func(ctx context.Context) error {
		_, err := inner.Call(ctx, "echo", []byte("hello"))
		return err
	})
	s.h, err = host.New(host.Config{CacheDir: host.CacheOff, Tokenizer: pipeline.WordTokenizer(), Memory: soakMemory, Functions: []host.Function{nested}})
	if err != nil {
		return err
	}
	s.close = append(s.close, func() error { return s.h.Close(context.Background()) })
	spec, err := fixture(s.root, "foreign")
	if err != nil {
		return err
	}
	if inner, err = s.h.Load(ctx, spec, host.PluginConfig{Name: "inner"}); err != nil {
		return err
	}
	if spec, err = fixture(s.root, "one-page"); err != nil {
		return err
	}
	good, err := s.h.Load(ctx, spec, host.PluginConfig{Name: "good"})
	if err != nil {
		return err
	}
	if s.good, err = builder(good, abi.OpFilter); err != nil {
		return err
	}
	if err := errors.Join(s.openFixtures(ctx), s.openGreedy(ctx), s.openAnswers(ctx)); err != nil {
		return err
	}
	if len(s.villains) == 0 {
		return errors.New("no bad plugin has such a name")
	}
	return nil
}

func (s *soaking) add(name string, call func(context.Context) error) {
	if s.only != nil && !s.only.MatchString(name) {
		return
	}
	s.villains = append(s.villains, &villain{name: name, call: call, by: map[string]int{}})
}

var badLimits = host.Limits{Timeout: badTimeout}

// openFixtures loads the plugins of the tests, each of which does one bad thing.
func (s *soaking) openFixtures(ctx context.Context) error {
	for _, n := range []string{
		"trap", "stderr-then-trap", "spin-forever", "recurse-forever", "recurse-in-width", "memory-hog", "stdout-flood", "sleep-forever",
		"guest-error", "output-too-large", "exit", "host-calls-forever", "invalid-json", "table-forever", "grow-each-call", "fill-forever",
	} {
		spec, err := fixture(s.root, n)
		if err != nil {
			return err
		}
		p, err := s.h.Load(ctx, spec, host.PluginConfig{Limits: badLimits})
		if err != nil {
			return err
		}
		call, err := builder(p, spec.Operations[0].Operation)
		if err != nil {
			return err
		}
		s.add(n, call)
	}
	return nil
}

// openGreedy loads the greedy plugin once for each resource that it can use up.
func (s *soaking) openGreedy(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "anchor-soak-")
	if err != nil {
		return err
	}
	s.close = append(s.close, func() error { return os.RemoveAll(dir) })
	for _, f := range []string{"crunch", "log", "kv", "vars", "files", "nested", "blocks"} {
		grants := host.Grants{KV: &host.KVGrant{}, Files: []host.FileGrant{{Host: dir, Guest: "/data"}}}
		p, err := greedy(ctx, s.h, "greedy-"+f, grants, badLimits)
		if err != nil {
			return err
		}
		s.add("greedy-"+f, function(p, f))
	}
	return nil
}

// openAnswers loads the plugins whose answers are attacks.
func (s *soaking) openAnswers(ctx context.Context) error {
	for _, a := range answers {
		spec, err := a.spec()
		if err != nil {
			return err
		}
		p, err := s.h.Load(ctx, spec, host.PluginConfig{Name: "answer-" + a.name, Limits: badLimits})
		if err != nil {
			return err
		}
		call, err := builder(p, a.op)
		if err != nil {
			return err
		}
		s.add("answer-"+a.name, call)
	}
	return nil
}
