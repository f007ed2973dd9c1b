package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// defaultShare is the part of a core that each host gets: small enough that three hosts, the database and the clients
// have room on two cores, and the hosts are what is slow.
const defaultShare = 0.2

// group is a control group for one host.
type group struct{ dir string }

// newGroup makes a group with a share of a core. It needs root.
func newGroup(name string, share float64) (*group, error) {
	const period = 20_000 // microseconds
	quota := strconv.Itoa(int(share * period))
	name = fmt.Sprintf("anchor-cluster-%d-%s", os.Getpid(), name)
	v1, v2 := filepath.Join("/sys/fs/cgroup/cpu", name), filepath.Join("/sys/fs/cgroup", name)
	if os.Mkdir(v1, 0o755) == nil {
		return &group{v1}, errors.Join(
			os.WriteFile(filepath.Join(v1, "cpu.cfs_period_us"), []byte(strconv.Itoa(period)), 0o644),
			os.WriteFile(filepath.Join(v1, "cpu.cfs_quota_us"), []byte(quota), 0o644),
			os.WriteFile(filepath.Join(v1, "cpu.shares"), []byte("4096"), 0o644))
	}
	if err := os.Mkdir(v2, 0o755); err != nil {
		return nil, fmt.Errorf("no group of processes can be made (that needs root): %w", err)
	}
	return &group{v2}, os.WriteFile(filepath.Join(v2, "cpu.max"), []byte(quota+" "+strconv.Itoa(period)), 0o644)
}

func (g *group) add(pid int) error {
	return os.WriteFile(filepath.Join(g.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
}

// throttled is the share of periods in which the group had used up its part.
func (g *group) throttled() (stopped, periods float64) {
	text, _ := os.ReadFile(filepath.Join(g.dir, "cpu.stat")) // without it there is nothing to show
	for _, line := range strings.Split(string(text), "\n") {
		name, value, _ := strings.Cut(line, " ")
		n, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil:
		case name == "nr_periods":
			periods = n
		case name == "nr_throttled":
			stopped = n
		}
	}
	return stopped, periods
}

// throughput compares the builds of three hosts with those of one.
func throughput(ctx context.Context, s *suite) error {
	data, err := s.data()
	if err != nil {
		return err
	}
	if err := s.up(ctx, 3, data); err != nil {
		return err
	}
	for _, n := range []int{1, 256} { // before the hosts have less than they could use
		perSecond, p50, err := s.appends(ctx, n)
		if err != nil {
			return err
		}
		s.shown(fmt.Sprintf("turns appended to %d conversations", n), fmt.Sprintf("%.0f/s", perSecond), "by 48 clients over three hosts; p50 %.1f ms", ms(p50))
	}
	groups := make([]*group, len(s.hosts))
	for i, h := range s.hosts {
		if groups[i], err = newGroup(h.name, s.share); err != nil {
			return err
		}
		defer os.Remove(groups[i].dir) // the host has ended by then
		defer h.kill()
		if err := groups[i].add(h.cmd.Process.Pid); err != nil {
			return err
		}
	}
	document := buildDocument()
	for _, tenant := range tenants[:2] {
		for n := range 10 {
			in := map[string]any{"turns": []map[string]any{{"role": "user", "content": fmt.Sprintf("what was said before, part %d", n)}}}
			if err := call(http.DefaultClient, http.MethodPost, s.clients.url+"/v1/conversations/talk/turns", s.clients.keys[tenant], in, nil); err != nil {
				return err
			}
		}
	}
	length := 12 * time.Second
	if s.short {
		length = 4 * time.Second
	}
	var rates []float64
	for _, n := range []int{1, 3, 1, 3} {
		before, periods := groups[0].throttled()
		rate, p50, err := s.builds(ctx, n, length, document)
		if err != nil {
			return err
		}
		after, now := groups[0].throttled()
		rates = append(rates, rate)
		s.shown(fmt.Sprintf("%d hosts, each with %.2f of a core", n, s.share), fmt.Sprintf("%.0f/s", rate), "builds of 50 items and a conversation; p50 %.0f ms; host a had used up its part in %.0f %% of the periods", ms(p50), 100*(after-before)/max(1, now-periods))
	}
	ratio := (rates[1] + rates[3]) / (rates[0] + rates[2]) / 3
	s.row("three hosts beside three times one host", fmt.Sprintf("%.2f", ratio), "at least 0.90", s.short || ratio >= 0.9, "")
	return nil
}

// appends lets clients append turns to some conversations, and returns how many were stored in a second.
func (s *suite) appends(ctx context.Context, conversations int) (perSecond float64, p50 time.Duration, err error) {
	const writers, length = 48, 5 * time.Second
	var mu sync.Mutex
	var times []time.Duration
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range writers {
		wg.Go(func() {
			client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableCompression: true}}
			defer client.CloseIdleConnections()
			in := map[string]any{"turns": []map[string]any{{"role": "user", "content": "what was said in this turn"}}}
			for n := i; ctx.Err() == nil && time.Since(begin) < length; n += writers {
				start, h := time.Now(), s.hosts[i%len(s.hosts)]
				url := fmt.Sprintf("%s/v1/conversations/hot-%d-%d/turns", h.url(), conversations, n%conversations)
				failed := call(client, http.MethodPost, url, s.clients.keys[tenants[0]], in, nil)
				mu.Lock()
				if times = append(times, time.Since(start)); failed != nil {
					err = failed
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return float64(len(times)) / time.Since(begin).Seconds(), percentile(sorted(times), 0.5), err
}

// buildDocument is the request for a build, with 50 items.
func buildDocument() map[string]any {
	var items []map[string]any
	for i := range 50 {
		text := fmt.Sprintf("Item %d says ", i) + strings.Repeat("something that may be of use for an answer, ", 8)
		items = append(items, map[string]any{"id": fmt.Sprintf("i%d", i), "content": text, "source": "tool", "score": float64(i) / 50, "priority": 5})
	}
	return map[string]any{"query": "what may be of use?", "pipeline": "main", "items": items}
}

// builds lets clients ask the first n hosts for builds, and returns how many were answered in a second.
func (s *suite) builds(ctx context.Context, n int, length time.Duration, document map[string]any) (rate float64, p50 time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var count atomic.Int64
	var mu sync.Mutex
	var times []time.Duration
	var failed error
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range 6 * n {
		wg.Go(func() {
			client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableCompression: true}}
			defer client.CloseIdleConnections()
			for ctx.Err() == nil {
				start := time.Now()
				err := call(client, http.MethodPost, s.hosts[i%n].url()+"/v1/builds?conversation=talk", s.clients.keys[tenants[i%2]], document, nil)
				mu.Lock()
				if times = append(times, time.Since(start)); err != nil {
					failed = err
				}
				mu.Unlock()
				count.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(count.Load()) / time.Since(begin).Seconds(), percentile(sorted(times), 0.5), failed
}
