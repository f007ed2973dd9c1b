package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
)

// clients is how many clients send requests at the same time, each over a connection that it keeps.
const clients = 64

// throughput compares the builds of 64 clients with the same builds in a process. Both get both
// turns by turns, so that other work on the machine meets both.
func throughput(ctx context.Context, s *suite) error {
	st, err := newSite(ctx, s, "server: {keys: keys.yaml, drain_delay: none, watch: false}\n", "acme")
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
	app, err := anchor.Load(filepath.Join(st.dir, "anchor.yaml"), anchor.Options{Overrides: map[string]string{"store.path": filepath.Join(st.dir, "inside.db")}})
	if err != nil {
		return err
	}
	defer app.Close(context.WithoutCancel(ctx))
	c := v.client("acme", clients)
	var turn atomic.Int64
	next := func() []byte { return requests[int(turn.Add(1))%len(requests)] }
	inProcess := func(ctx context.Context) error {
		_, err := app.BuildRequest(ctx, "request", bytes.NewReader(next()), anchor.BuildOptions{Tenant: "acme"})
		return err
	}
	served := func(ctx context.Context) error {
		_, err := c.send(ctx, http.MethodPost, "/v1/builds", "application/json", next())
		return err
	}
	length, rounds := s.over, 5
	if length == 0 {
		length = 6 * time.Second
	}
	if s.short {
		length, rounds = time.Second, 2
	}
	for _, once := range []func(context.Context) error{inProcess, served} { // starts instances
		closedLoop(ctx, clients, during(length/2), once)
	}
	var all, own tally
	var shares, perSecond, inside, times99, times50, clientCPU []float64
	for range rounds {
		// The service runs as many builds at once as there are processors. The process may do the same, or
		// run all at once: what is faster counts.
		in := closedLoop(ctx, runtime.GOMAXPROCS(0), during(length), inProcess)
		if many := closedLoop(ctx, clients, during(length), inProcess); many.perSecond() > in.perSecond() {
			in = many
		}
		before := processorTime()
		out := closedLoop(ctx, clients, during(length), served)
		clientCPU = append(clientCPU, (processorTime()-before).Seconds()/out.took.Seconds())
		if len(in.times) == 0 || len(out.times) == 0 {
			return fmt.Errorf("nothing was built (in the process: %w; served: %w)", in.first, out.first)
		}
		inside, perSecond = append(inside, in.perSecond()), append(perSecond, out.perSecond())
		shares = append(shares, out.perSecond()/in.perSecond())
		times50, times99 = append(times50, percentile(out.times, 0.5).Seconds()), append(times99, percentile(out.times, 0.99).Seconds())
		own.add(in.times, in.refused, errorsOf(in))
		all.add(out.times, out.refused, errorsOf(out))
	}
	s.row("requests that failed", fmt.Sprint(all.failed+all.refused+own.failed), "0", all.failed+all.refused+own.failed == 0, "of %d; first: %v", len(all.times), all.first)
	s.speed("throughput, of that in process", percent(median(shares)), "at least 60 %", median(shares) >= 0.6, "%.0f of %.0f builds/s, medians of %d rounds of %s; the clients take %.2f processors", median(perSecond), median(inside), rounds, length, median(clientCPU))
	p50, p99 := median(times50), median(times99)
	s.shown("p50", fmt.Sprintf("%.1f ms", 1000*p50), "", "%d clients", clients)
	if err := overhead(ctx, s, v, app); err != nil {
		return err
	}
	s.speed("p99 / p50", fmt.Sprintf("%.1f", p99/p50), "at most 5", p99/p50 <= 5, "p99 %.1f ms", 1000*p99)
	return ctx.Err()
}

// overhead measures what a request costs beyond its build: one client, as Go's comes, takes turns with
// the same build in the process.
func overhead(ctx context.Context, s *suite, v *service, app *anchor.App) error {
	texts := strings.Repeat(`{"content": "`+strings.Repeat("a deadline ends a build when its time is up ", 23)+`", "source": "retrieval"},`, 50)
	c := v.client("acme", 1)
	c.Transport = nil // which asks for gzip
	for _, r := range []struct {
		name, document string
		most           float64 // of the time in the process; 0 is not judged
		within         time.Duration
	}{
		{"an empty build", `{"query": "q", "counting": {"tokenizer": "words"}, "steps": []}`, 0, 150 * time.Microsecond},
		{"50 texts of 1 KB", `{"query": "q", "counting": {"tokenizer": "words"}, "window": {"max_tokens": 20000}, "steps": [], "items": [` + strings.TrimSuffix(texts, ",") + `]}`, 6, 600 * time.Microsecond},
	} {
		var inside, outside []time.Duration
		for range 300 {
			begin := time.Now()
			if _, err := app.BuildRequest(ctx, "request", strings.NewReader(r.document), anchor.BuildOptions{Tenant: "acme"}); err != nil {
				return err
			}
			built := time.Now()
			if _, err := c.send(ctx, http.MethodPost, "/v1/builds", "application/json", []byte(r.document)); err != nil {
				return err
			}
			inside, outside = append(inside, built.Sub(begin)), append(outside, time.Since(built))
		}
		in, out := percentile(inside, 0.5), percentile(outside, 0.5)
		s.speed(r.name+" over HTTP, beyond the build", fmt.Sprintf("%.0f µs", float64((out-in).Nanoseconds())/1e3), fmt.Sprintf("at most %v", r.within), out-in <= r.within, "request %v, build %v, medians of 300", out, in)
		if r.most > 0 {
			ratio := float64(out) / float64(in)
			s.row(r.name+", of the build in process", fmt.Sprintf("%.1fx", ratio), fmt.Sprintf("at most %.0fx", r.most), ratio <= r.most, "")
		}
	}
	return nil
}

// errorsOf returns one error for each failure.
func errorsOf(t *tally) []error {
	list := make([]error, t.failed)
	for i := range list {
		list[i] = t.first
	}
	return list
}
