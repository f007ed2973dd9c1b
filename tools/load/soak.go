package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"
)

// soakClients send the requests of the soak.
const soakClients = 16

// soak sends very many requests of several kinds, and compares the memory after the first 50,000 of
// them, or the first third of few, with that at the end.
func soak(ctx context.Context, s *suite) error {
	count := s.count
	if count == 0 {
		count = 1_000_000
	}
	st, err := newSite(ctx, s, "server: {keys: keys.yaml, drain_delay: none}\n", "acme")
	defer st.remove()
	if err != nil {
		return err
	}
	requests, err := soakRequests(s.root)
	if err != nil {
		return err
	}
	v, err := st.start(ctx)
	if err != nil {
		return err
	}
	defer v.kill()
	warm := min(50_000, count/3)
	// The memory is sampled over the same number of requests at both times.
	part := min(count/20, 50_000)
	c := v.client("acme", soakClients)
	defer c.CloseIdleConnections()
	var sum tally
	first, err := soakPart(ctx, v, c, requests, warm, part, &sum)
	if err != nil {
		return err
	}
	last, err := soakPart(ctx, v, c, requests, count-warm-2*part, part, &sum)
	if err != nil {
		return err
	}
	n := len(sum.times)
	s.row("requests that failed", fmt.Sprint(sum.failed+sum.refused), "0", sum.failed+sum.refused == 0, "of %d; first: %v", n, sum.first)
	s.row("requests", fmt.Sprint(n), fmt.Sprint(count), n == count, "%.0f/s, p50 %.1f ms, p99 %.1f ms", float64(n)/sum.took.Seconds(), ms(percentile(sum.times, 0.5)), ms(percentile(sum.times, 0.99)))
	s.growth("memory (RSS) under load", rss(first.list), rss(last.list), s.settled(0.05), mib)
	s.heapGrowth(first.quiet.heap, last.quiet.heap, s.settled(0.05))
	s.row("goroutines", fmt.Sprintf("%+.0f", last.quiet.goroutines-first.quiet.goroutines), "at most +2", last.quiet.goroutines <= first.quiet.goroutines+2, "%.0f, then %.0f", first.quiet.goroutines, last.quiet.goroutines)
	s.row("open files", fmt.Sprintf("%+.0f", last.quiet.files-first.quiet.files), "at most +2", last.quiet.files <= first.quiet.files+2, "%.0f, then %.0f", first.quiet.files, last.quiet.files)
	return v.stop()
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// look is what was measured over a part of the requests, and when they had ended.
type look struct {
	list  []health
	quiet health
}

// soakPart sends some requests, and then others while it samples the memory.
func soakPart(ctx context.Context, v *service, c *client, requests []soakRequest, before, sampled int, sum *tally) (l look, err error) {
	var turn atomic.Int64
	once := func(ctx context.Context) error {
		r := requests[int(turn.Add(1))%len(requests)]
		_, err := c.send(ctx, r.method, r.path, "application/json", r.body)
		return err
	}
	collect := func(n int) {
		t := closedLoop(ctx, soakClients, times(n), once)
		sum.add(t.times, t.refused, errorsOf(t))
		sum.took += t.took
	}
	collect(before)
	o := v.sample(ctx, "acme", 100*time.Millisecond)
	collect(sampled)
	if l.list, err = o.end(); err != nil {
		return l, err
	}
	c.CloseIdleConnections()
	l.quiet, err = v.settled(ctx, "acme")
	return l, err
}

// soakRequest is a request of the soak.
type soakRequest struct {
	method, path string
	body         []byte
}

// soakRequests are builds with 50 items, and what else agents ask for. Nothing of it makes the store
// grow.
func soakRequests(root string) ([]soakRequest, error) {
	builds, err := buildRequests(root)
	if err != nil {
		return nil, err
	}
	var list []soakRequest
	for i := range 20 {
		list = append(list,
			soakRequest{http.MethodPost, "/v1/builds", builds[i%len(builds)]},
			soakRequest{http.MethodPost, "/v1/assemble", []byte(`[{"role": "user", "content": "which limits has a plugin?"}, {"role": "assistant", "content": "memory, time and fuel"}, {"role": "user", "content": "go on"}]`)},
			soakRequest{http.MethodPost, "/v1/memory/facts", []byte(fmt.Sprintf(`{"content": "fact %d is told again and again", "user_id": "ann"}`, i))},
			soakRequest{http.MethodPost, "/v1/memory/search", []byte(`{"query": "what is told again", "user_id": "ann"}`)},
			soakRequest{http.MethodGet, "/v1/memory/facts?user=ann&limit=5", nil},
		)
	}
	return list, nil
}
