package apiclient

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

// client makes a client, and a function that posts to a server that answers with f. n is how many
// requests there were before.
func client(t *testing.T, o Options, f func(n int, w http.ResponseWriter, r *http.Request)) (post func(context.Context) (string, error), requests *atomic.Int32) {
	t.Helper()
	_, post, requests = newClient(t, o, f)
	return post, requests
}

// newClient is client that also returns the client.
func newClient(t *testing.T, o Options, f func(n int, w http.ResponseWriter, r *http.Request)) (c *Client, post func(context.Context) (string, error), requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // until then the server does not see that the client has gone
		f(int(requests.Add(1))-1, w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	if o.Timeout == 0 {
		o.Timeout = await.Patience
	}
	o.Concurrency, o.Pause = max(o.Concurrency, 1), time.Millisecond
	c = New(o)
	t.Cleanup(c.Close)
	return c, func(ctx context.Context) (string, error) {
		var got []byte
		err := c.Post(ctx, Request{Address: s.URL, Body: []byte("{}"), MaxAnswer: 100, Read: func(r io.Reader) (err error) {
			got, err = io.ReadAll(r)
			return err
		}})
		return string(got), err
	}, requests
}

// An answer may have exactly the size of its bound.
func TestAnswersAreBounded(t *testing.T) {
	size := 100
	post, _ := client(t, Options{}, func(_ int, w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush() // so that no length is stated
		_, _ = io.WriteString(w, strings.Repeat("x", size))
	})
	if got, err := post(t.Context()); err != nil || len(got) != 100 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	size = 101
	var failed *Error
	if _, err := post(t.Context()); !errors.As(err, &failed) || failed.Kind != TooLarge || !strings.Contains(err.Error(), "more than 100 bytes") {
		t.Errorf("%v", err)
	}
}

// A server that asks to wait gets no request from anyone until then. A request that has not as much
// time ends at once and says why.
func TestRetryAfterHoldsAll(t *testing.T) {
	t.Parallel()
	var err error
	if !await.Enough(2*time.Second, func(wait time.Duration) bool { // for the request with little time
		err = holdsAll(t, wait)
		var failed *Error
		return errors.As(err, &failed) && failed.Kind == Unavailable && strings.Contains(err.Error(), "as long as the server asks")
	}) {
		t.Errorf("with little time: %v", err)
	}
}

// holdsAll has a server ask to wait, and returns the error of a request that has not as much time.
func holdsAll(t *testing.T, wait time.Duration) (late error) {
	t.Helper()
	var mu sync.Mutex
	var at []time.Time
	c, post, _ := newClient(t, Options{Retries: 2, Concurrency: 4}, func(n int, w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		at = append(at, time.Now())
		mu.Unlock()
		if n == 0 {
			w.Header().Set("Retry-After", fmt.Sprint(wait.Seconds()))
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	done := make(chan error, 1)
	go func() {
		_, err := post(t.Context())
		done <- err
	}()
	if !await.True(func() bool { // the client has read the answer
		c.pace.mu.Lock()
		defer c.pace.mu.Unlock()
		return !c.pace.held.IsZero()
	}) {
		t.Fatal("the client does not note how long the server asks to wait")
	}
	short, cancel := context.WithTimeout(t.Context(), wait/20)
	defer cancel()
	_, late = post(short)
	if _, err := post(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	for _, later := range at[1:] {
		if pause := later.Sub(at[0]); pause < wait*19/20 {
			t.Errorf("a request after %v of %v", pause, wait)
		}
	}
	return late
}

// A server that gives no answer in time is asked once.
func TestTimeouts(t *testing.T) {
	if !await.Enough(20*time.Millisecond, func(limit time.Duration) bool { // for the server to be asked
		post, requests := client(t, Options{Retries: 4, Timeout: limit}, func(_ int, _ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		var failed *Error
		if _, err := post(t.Context()); !errors.As(err, &failed) || failed.Kind != Timeout || requests.Load() > 1 {
			t.Errorf("%v after %d requests", err, requests.Load())
		}
		return requests.Load() > 0
	}) {
		t.Error("no request")
	}
}

// A request that waits for its turn ends with its context.
func TestConcurrencyWaitEnds(t *testing.T) {
	begun := make(chan struct{}, 3)
	post, requests := client(t, Options{}, func(_ int, _ http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if _, err := post(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%v", err)
			}
		})
	}
	<-begun
	time.AfterFunc(50*time.Millisecond, cancel) // who does not wait for its turn comes meanwhile
	all.Wait()
	if requests.Load() != 1 {
		t.Errorf("%d requests at the same time", requests.Load())
	}
}

func TestRetryAfter(t *testing.T) {
	for in, want := range map[string]time.Duration{"": 0, "-1": 0, "7": 7 * time.Second, "1e300": 1e9 * time.Second, "NaN": 0, "x": 0, "Thu, 01 Jan 1970 00:00:00 GMT": 0} {
		if have := retryAfter(http.Header{"Retry-After": {in}}); have != want {
			t.Errorf("Retry-After %q: %v, want %v", in, have, want)
		}
	}
}

// The clock of a server may be an hour ahead of this one, or behind it: the wait is as long all the same.
func TestRetryAfterByAnotherClock(t *testing.T) {
	for _, off := range []time.Duration{-time.Hour, 0, time.Hour} {
		now := time.Now().Add(off).UTC()
		h := http.Header{"Date": {now.Format(http.TimeFormat)}, "Retry-After": {now.Add(7 * time.Second).Format(http.TimeFormat)}}
		if have := retryAfter(h); have != 7*time.Second {
			t.Errorf("a clock that is off by %v: wait for %v, want 7s", off, have)
		}
	}
}

// No secret is in an error: the longest is looked for first, because others are a part of it.
func TestSecretsAreHidden(t *testing.T) {
	header, secrets, err := Header(map[string]string{"authorization": "Bearer geheim", "x-second": "geheim-2"})
	if err != nil || header.Get("Authorization") != "Bearer geheim" {
		t.Fatal(header, err)
	}
	post, _ := client(t, Options{Header: header, Secrets: secrets}, func(_ int, w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error": {"message": "`+r.Header.Get("Authorization")+" or "+r.Header.Get("X-Second")+` are wrong"}}`)
	})
	if _, err := post(t.Context()); err == nil || err.Error() != "the server answers 401 Unauthorized: *** or *** are wrong (check key)" {
		t.Errorf("%v", err)
	}
	if _, _, err := Header(map[string]string{"x": "geheim\nb"}); err == nil || strings.Contains(err.Error(), "geheim") {
		t.Errorf("%v", err)
	}
}

// A server that asks to wait for longer than the client waits is not asked again. A wait is told.
func TestLongWaits(t *testing.T) {
	for after, want := range map[string]string{"1000000": "it asks to wait 277h46m40s, at most 1m0s is waited for it: wait as long, or raise timeout", "61": "it asks to wait 1m1s",
		"Wed, 21 Oct 2121 07:28:00 GMT": "at most 1m0s is waited", "9e300": "at most 1m0s is waited"} {
		for status := range map[int]bool{429: true, 503: true} {
			post, requests := client(t, Options{Retries: 4, Timeout: time.Minute}, func(_ int, w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", after)
				w.WriteHeader(status)
			})
			var failed *Error
			if _, err := post(t.Context()); !errors.As(err, &failed) || failed.Kind != Unavailable || !strings.Contains(err.Error(), want) || requests.Load() != 1 {
				t.Errorf("%s: %v after %d requests", after, err, requests.Load())
			}
		}
	}
	var lines []string
	ctx, cancel := context.WithCancel(t.Context())
	ctx = observe.Noting(ctx, func(line string) {
		lines = append(lines, line)
		cancel() // the test does not wait
	})
	post, _ := client(t, Options{Name: `model "m"`, Retries: 4, Timeout: 2 * time.Hour}, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	if _, err := post(ctx); !errors.Is(err, context.Canceled) || len(lines) != 1 || lines[0] != `model "m": answers 429 Too Many Requests: asks again in 1h0m0s` {
		t.Errorf("%q, %v", lines, err)
	}
}

// Whatever a server sends before, after or in place of an answer, it is bounded.
func TestFloods(t *testing.T) {
	raw := func(first, then string) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			for _, err = io.WriteString(conn, first); err == nil; _, err = io.WriteString(conn, then) {
			}
		}
	}
	bomb := func(status int) func(int, http.ResponseWriter, *http.Request) {
		return func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.WriteHeader(status)
			z := gzip.NewWriter(w)
			for zeros := make([]byte, 1<<20); ; {
				if _, err := z.Write(zeros); err != nil {
					return
				}
			}
		}
	}
	const ok = "HTTP/1.1 200 OK\r\n"
	line := strings.Repeat("x", 1000) + "\r\n"
	for name, each := range map[string]struct {
		answer func(int, http.ResponseWriter, *http.Request)
		kind   Kind
	}{
		"header":   {raw(ok, "X: "+line), Unavailable},
		"hints":    {raw("", "HTTP/1.1 103 Early Hints\r\nLink: "+line+"\r\n"), Unavailable},
		"body":     {raw(ok+"\r\n", line), TooLarge},
		"chunks":   {raw(ok+"Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"), TooLarge},
		"trailer":  {raw(ok+"Transfer-Encoding: chunked\r\n\r\n0\r\n", "X: "+line), Unavailable},
		"status":   {raw("HTTP/1.1 200 ", line[:1000]), Unavailable},
		"bomb":     {bomb(200), TooLarge},
		"problem":  {bomb(400), Refused},
		"error":    {raw("HTTP/1.1 400 Bad\r\n\r\n", line), Refused},
		"a length": {raw(ok+"Content-Length: 9223372036854775807\r\n\r\n", line), TooLarge},
	} {
		post, _ := client(t, Options{Retries: -1}, each.answer)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := post(t.Context())
		runtime.ReadMemStats(&after)
		var failed *Error
		if !errors.As(err, &failed) || failed.Kind != each.kind || strings.Contains(err.Error(), "\n") || len(err.Error()) > 2000 {
			t.Errorf("%s: %v", name, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 8<<20 { // that of the server included
			t.Errorf("%s: took %d bytes", name, took)
		}
	}
}
