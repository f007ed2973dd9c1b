package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// tally is what came of many requests.
type tally struct {
	mu    sync.Mutex
	times []time.Duration // of those that succeeded
	// refused counts the answers 429 and 503, failed all else that is no success.
	refused, failed int
	first           error // of those that failed
	took            time.Duration
}

// refusal is an answer that says to come back later.
type refusal struct{ status int }

func (r refusal) Error() string { return fmt.Sprintf("status %d", r.status) }

func (t *tally) add(times []time.Duration, refused int, failures []error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.times = append(t.times, times...)
	t.refused += refused
	t.failed += len(failures)
	if t.first == nil && len(failures) > 0 {
		t.first = failures[0]
	}
}

// perSecond is the throughput: successes of a second.
func (t *tally) perSecond() float64 { return float64(len(t.times)) / t.took.Seconds() }

// closedLoop has clients that each send a request when they have the answer to the one before, until
// ctx ends or more says that there are enough.
func closedLoop(ctx context.Context, clients int, more func() bool, once func(context.Context) error) *tally {
	t, begin := &tally{}, time.Now()
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			var times []time.Duration
			var failures []error
			refused := 0
			for ctx.Err() == nil && more() {
				start := time.Now()
				err := once(ctx)
				var later refusal
				switch {
				case err == nil:
					times = append(times, time.Since(start))
				case ctx.Err() != nil: // it was cut by the end
				case asRefusal(err, &later):
					refused++
				default:
					failures = append(failures, err)
				}
			}
			t.add(times, refused, failures)
		})
	}
	wg.Wait()
	t.took = time.Since(begin)
	return t
}

// during returns a condition for closedLoop that ends after a time. The requests that run then are
// finished.
func during(length time.Duration) func() bool {
	end := time.Now().Add(length)
	return func() bool { return time.Now().Before(end) }
}

// times returns a condition for closedLoop that is true n times.
func times(n int) func() bool {
	var used atomic.Int64
	return func() bool { return used.Add(1) <= int64(n) }
}

// openLoop sends requests at a rate, whether or not those before have answers. At most waiting of
// them run at the same time; those that find no place count as failed. The time of a request counts
// from when it should have been sent.
func openLoop(ctx context.Context, perSecond float64, length time.Duration, waiting int, once func(context.Context) error) *tally {
	t, begin := &tally{}, time.Now()
	places := make(chan struct{}, waiting)
	var wg sync.WaitGroup
	for i := 0; ; i++ {
		due := begin.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))
		if due.Sub(begin) >= length || ctx.Err() != nil {
			break
		}
		time.Sleep(time.Until(due))
		select {
		case places <- struct{}{}:
		default:
			t.add(nil, 0, []error{fmt.Errorf("%d requests wait for answers", waiting)})
			continue
		}
		wg.Go(func() {
			defer func() { <-places }()
			var later refusal
			switch err := once(ctx); {
			case err == nil:
				t.add([]time.Duration{time.Since(due)}, 0, nil)
			case asRefusal(err, &later):
				t.add(nil, 1, nil)
			default:
				t.add(nil, 0, []error{err})
			}
		})
	}
	t.took = time.Since(begin)
	wg.Wait()
	return t
}

// client sends requests with a key.
type client struct {
	http.Client
	base, key string
}

func newClient(base, key string, connections int) *client {
	return &client{base: base, key: key, Client: http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{
		MaxIdleConnsPerHost: connections, DisableCompression: true,
		DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
	}}}
}

// send sends a request and returns the body of a successful answer. A refusal is an error of its own
// type.
func (c *client) send(ctx context.Context, method, path, contentType string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable:
		return nil, refusal{resp.StatusCode}
	case resp.StatusCode >= 300:
		return nil, &statusError{resp.StatusCode, fmt.Sprintf("%s %s: status %d: %.300s", method, path, resp.StatusCode, data)}
	}
	return data, nil
}

// statusError is an answer that is neither a success nor a refusal.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string { return e.text }

// call sends a document and decodes the answer into out, unless that is nil.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	data, err := c.send(ctx, method, path, "application/json", body)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w", method, path, err)
	}
	return nil
}
