package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"syscall"
	"time"
)

// reloadClients send builds while the service reloads. They leave it some processor time.
const reloadClients = 8

// fileEvery is which part of the reloads is due to a change of the file. The service waits a second
// after each change, so that they cannot all be.
const fileEvery = 6

// reloads reloads under load, by a signal, by a request and by a change of the file, and looks at
// what stays behind. A tenth of the reloads comes before the first look.
func reloads(ctx context.Context, s *suite) error {
	count, over := s.count, s.over
	if count == 0 {
		count = 1000
	}
	if over == 0 {
		over = 10 * time.Minute
	}
	st, err := newSite(ctx, s, reloadConfig, "acme")
	defer st.remove()
	if err != nil {
		return err
	}
	requests, err := buildRequests(s.root)
	if err != nil {
		return err
	}
	v, err := st.start(ctx)
	if err != nil {
		return err
	}
	defer v.kill()
	r := &reloading{v: v, requests: requests, every: over / time.Duration(count), admin: newClient(v.admin, v.keys["acme"], 1)}
	begin := time.Now()
	warm := max(count/10, min(20, count/2))
	before, rssBefore, err := r.phase(ctx, warm)
	if err != nil {
		return err
	}
	after, rssAfter, err := r.phase(ctx, count-warm)
	if err != nil {
		return err
	}
	took := time.Since(begin)
	s.row("requests that failed", fmt.Sprint(r.failed), "0", r.failed == 0 && r.sent > 0, "of %d; first: %v", r.sent, r.first)
	s.row("reloads", fmt.Sprint(r.done), fmt.Sprint(count), r.done == count, "by signal, request and file in turn; generation %d", r.generation)
	s.speed("time for them", took.Round(time.Second).String(), "at most "+over.String(), took <= over+over/20, "from one to the next load %.0f ms", took.Seconds()*1000/float64(count))
	s.growth("memory (RSS) under load", rssBefore, rssAfter, s.settled(0.1), mib)
	s.heapGrowth(before.heap, after.heap, s.settled(0.1))
	s.row("goroutines", fmt.Sprintf("%+.0f", after.goroutines-before.goroutines), "at most +2", after.goroutines <= before.goroutines+2, "%.0f, then %.0f", before.goroutines, after.goroutines)
	s.row("open files", fmt.Sprintf("%+.0f", after.files-before.files), "at most +2", after.files <= before.files+2, "%.0f, then %.0f", before.files, after.files)
	return v.stop()
}

const reloadConfig = "server: {keys: keys.yaml, drain_delay: none}\n"

// reloading is a service that is reloaded under load.
type reloading struct {
	v        *service
	requests [][]byte
	every    time.Duration
	admin    *client
	// done is the number of reloads, and generation the number of the newest version.
	done       int
	generation int64
	// sent and failed are requests for builds.
	sent, failed int
	first        error
}

// phase reloads n times under load. It returns the health when the load has ended, and the memory in
// the last third of the phase.
func (r *reloading) phase(ctx context.Context, n int) (h health, memory float64, _ error) {
	c := r.v.client("acme", reloadClients)
	loadCtx, end := context.WithCancel(ctx)
	defer end()
	var stopped atomic.Bool
	var turn atomic.Int64
	loaded := make(chan *tally, 1)
	go func() {
		loaded <- closedLoop(loadCtx, reloadClients, func() bool { return !stopped.Load() }, func(ctx context.Context) error {
			_, err := c.send(ctx, http.MethodPost, "/v1/builds", "application/json", r.requests[int(turn.Add(1))%len(r.requests)])
			return err
		})
	}()
	o := r.v.sample(ctx, "acme", 200*time.Millisecond)
	begin := time.Now()
	var err error
	for i := 0; i < n && err == nil; i++ {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * r.every)))
		err = r.reload(ctx)
	}
	list, sampling := o.end()
	stopped.Store(true)
	t := <-loaded
	r.sent, r.failed = r.sent+len(t.times)+t.failed+t.refused, r.failed+t.failed+t.refused
	if r.first == nil {
		r.first = t.first
	}
	c.CloseIdleConnections()
	switch {
	case err != nil:
		return h, 0, err
	case sampling != nil:
		return h, 0, sampling
	}
	h, err = r.v.settled(ctx, "acme")
	return h, rss(list[len(list)*2/3:]), err
}

// reload reloads once, and waits until the next version is in use.
func (r *reloading) reload(ctx context.Context) error {
	var err error
	switch way := r.done % fileEvery; {
	case way == fileEvery-1:
		err = r.v.configure(r.done+1, reloadConfig)
	case way%2 == 0:
		err = r.v.cmd.Process.Signal(syscall.SIGHUP)
	default:
		err = r.admin.call(ctx, http.MethodPost, "/admin/v1/reload", nil, nil)
	}
	if err != nil {
		return err
	}
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(10 * time.Millisecond) {
		var status struct {
			Generation int64 `json:"generation"`
		}
		if err := r.admin.call(ctx, http.MethodGet, "/readyz?verbose", nil, &status); err != nil {
			return err
		}
		if status.Generation > r.generation && r.generation > 0 || r.generation == 0 && status.Generation > 1 {
			r.generation = status.Generation
			r.done++
			return nil
		}
	}
	return fmt.Errorf("reload %d had no effect within %s: %s", r.done, patience, r.v.logged())
}
