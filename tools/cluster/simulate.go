package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

// period is that of the control groups.
const period = 20 * time.Millisecond

// plan is a load on hosts, which is simulated and then tried.
type plan struct {
	hosts         int
	share         float64       // of a core, for each host
	demand        time.Duration // what one build takes of a core
	base          time.Duration // what it takes beside that: the network and the database
	rate          float64       // builds of a second, which arrive by chance (Poisson)
	conversations int           // each has a host of its own
	skew          float64       // the k-th conversation gets 1/k^skew as many builds as the first one
	length        time.Duration
	from, to      time.Duration // the first host is dead from and to then; its builds go to the next one
	seed          uint64
}

// arrival is a build that is asked for.
type arrival struct {
	at           time.Duration
	conversation int
}

// arrivals are the same for the simulation and for the trial.
func (p plan) arrivals() (list []arrival) {
	random := rand.New(rand.NewPCG(p.seed, 1))
	weights, sum := make([]float64, p.conversations), 0.0
	for k := range weights {
		sum += math.Pow(float64(k+1), -p.skew)
		weights[k] = sum
	}
	for at := time.Duration(0); ; {
		if at += time.Duration(random.ExpFloat64() / p.rate * 1e9); at >= p.length {
			return list
		}
		k, _ := slices.BinarySearch(weights, random.Float64()*sum)
		list = append(list, arrival{at, min(k, p.conversations-1)})
	}
}

// dead reports whether the first host is dead at a time.
func (p plan) dead(at time.Duration) bool { return at >= p.from && at < p.to }

// job is a build on a simulated host.
type job struct{ begun, left time.Duration }

// simulate returns how long each build takes. A host works at all of its builds at once, until it has used up its
// part of the period; a build on a host that dies begins anew on the next one.
func (p plan) simulate() []time.Duration {
	const step = 500 * time.Microsecond
	var times []time.Duration
	waiting, running := p.arrivals(), make([][]job, p.hosts)
	budgets := make([]time.Duration, p.hosts)
	for now := time.Duration(0); len(waiting) > 0 || slices.ContainsFunc(running, func(jobs []job) bool { return len(jobs) > 0 }); now += step {
		for ; len(waiting) > 0 && waiting[0].at <= now; waiting = waiting[1:] {
			host := waiting[0].conversation % p.hosts
			if host == 0 && p.dead(now) {
				host = 1 % p.hosts
			}
			running[host] = append(running[host], job{waiting[0].at, p.demand})
		}
		if p.dead(now) && len(running[0]) > 0 {
			for _, j := range running[0] {
				running[1%p.hosts] = append(running[1%p.hosts], job{j.begun, p.demand})
			}
			running[0] = nil
		}
		for h, jobs := range running {
			if now%period < step {
				budgets[h] = time.Duration(p.share * float64(period))
			}
			if len(jobs) == 0 {
				continue
			}
			work := min(step, budgets[h])
			budgets[h] -= work
			each := work / time.Duration(len(jobs))
			running[h] = slices.DeleteFunc(jobs, func(j job) bool {
				if j.left-each <= 0 {
					times = append(times, now+step-j.begun+p.base)
				}
				return j.left-each <= 0
			})
			for i := range running[h] {
				running[h][i].left -= each
			}
		}
	}
	return sorted(times)
}

// try sends the builds of a plan when they arrive, and returns how long each took. If a host does not answer, the
// next one is asked.
func (s *suite) try(ctx context.Context, p plan, document map[string]any) ([]time.Duration, error) {
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	var mu sync.Mutex
	var times []time.Duration
	var failed error
	var wg sync.WaitGroup
	begin := time.Now()
	for _, a := range p.arrivals() {
		time.Sleep(time.Until(begin.Add(a.at)))
		wg.Go(func() {
			var err error
			for n := range p.hosts {
				h := s.hosts[(a.conversation+n)%p.hosts]
				if err = call(client, http.MethodPost, h.url()+"/v1/builds?conversation=talk", s.clients.keys[tenants[a.conversation%2]], document, nil); err == nil {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			times = append(times, time.Since(begin)-a.at)
			failed = errors.Join(failed, err)
		})
	}
	wg.Wait()
	return sorted(times), errors.Join(failed, ctx.Err())
}

// measure finds what a build takes of a core, and beside that, on one host.
func (s *suite) measure(ctx context.Context, p *plan, document map[string]any) error {
	rate, _, err := s.builds(ctx, 1, p.length, document)
	if err != nil {
		return err
	}
	p.demand = time.Duration(p.share / rate * 1e9)
	quiet := *p
	quiet.hosts, quiet.rate = 1, rate/10
	simulated := quiet.simulate()
	tried, err := s.try(ctx, quiet, document)
	if err != nil || len(tried) == 0 {
		return errors.Join(err, ctx.Err())
	}
	p.base = max(0, percentile(tried, 0.5)-percentile(simulated, 0.5))
	s.shown("a build takes", fmt.Sprintf("%.1f ms", ms(p.demand)), "of a core, and %.1f ms beside that; one host does %.1f of a second", ms(p.base), rate)
	p.rate = rate
	return nil
}

// simulation compares what a simulator says with what one to four hosts do.
func simulation(ctx context.Context, s *suite) error {
	const most = 4
	data, err := s.data()
	if err != nil {
		return err
	}
	if err := s.up(ctx, most, data); err != nil {
		return err
	}
	groups := make([]*group, most)
	p := plan{share: s.share, conversations: 400, skew: 0.8, length: 20 * time.Second, seed: s.seed}
	if s.short {
		p.length = 6 * time.Second
	}
	for i, h := range s.hosts {
		if groups[i], err = newGroup(h.name, p.share); err != nil {
			return err
		}
		defer os.Remove(groups[i].dir) // the host has ended by then
		defer h.kill()
		if err := groups[i].add(h.cmd.Process.Pid); err != nil {
			return err
		}
	}
	document := buildDocument()
	if err := s.measure(ctx, &p, document); err != nil {
		return err
	}
	one := p.rate
	for _, kind := range []struct {
		name  string
		hosts int
		load  float64 // of what the hosts can do
		dies  bool
	}{{"1 host, half of its load", 1, 0.5, false}, {"2 hosts", 2, 0.5, false}, {"3 hosts", 3, 0.5, false}, {"4 hosts", most, 0.5, false}, {"3 hosts, one dies for a third of the time", 3, 0.3, true}} {
		p.hosts, p.rate = kind.hosts, kind.load*float64(kind.hosts)*one
		dies := func() error { return nil }
		if p.from, p.to = 0, 0; kind.dies {
			p.from, p.to = p.length/3, p.length*2/3
			dies = func() error { return s.die(ctx, p, groups[0]) }
		}
		if err := s.compare(ctx, kind.name, p, document, dies); err != nil {
			return err
		}
	}
	return nil
}

// compare simulates a plan, tries it, and prints both.
func (s *suite) compare(ctx context.Context, name string, p plan, document map[string]any, beside func() error) error {
	simulated := p.simulate()
	died := make(chan error, 1)
	go func() { died <- beside() }()
	tried, err := s.try(ctx, p, document)
	if err = errors.Join(err, <-died); err != nil {
		return err
	}
	half := ms(percentile(tried, 0.5)) / ms(percentile(simulated, 0.5))
	late := ms(percentile(tried, 0.99)) / ms(percentile(simulated, 0.99))
	near := func(ratio float64) bool { return ratio > 0.5 && ratio < 2 }
	s.row(name, fmt.Sprintf("%.2f, %.2f", half, late), "0.5 to 2", s.short || near(half) && near(late),
		"measured beside simulated, p50 and p99: %.0f and %.0f ms beside %.0f and %.0f ms; %.1f builds of a second", ms(percentile(tried, 0.5)), ms(percentile(tried, 0.99)), ms(percentile(simulated, 0.5)), ms(percentile(simulated, 0.99)), p.rate)
	return nil
}

// die kills the first host and starts it again, when the plan says so.
func (s *suite) die(ctx context.Context, p plan, g *group) error {
	time.Sleep(p.from)
	s.hosts[0].kill()
	time.Sleep(p.to - p.from)
	if err := s.hosts[0].start(ctx); err != nil {
		return err
	}
	return g.add(s.hosts[0].cmd.Process.Pid)
}
