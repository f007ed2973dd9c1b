package egress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

// batchServer answers after the time that the query states, redirects to where the path says,
// and repeats bodies.
func batchServer(t *testing.T) (address string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if wait, err := time.ParseDuration(r.URL.Query().Get("wait")); err == nil {
			select {
			case <-time.After(wait):
			case <-r.Context().Done():
			}
		}
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		_, _ = io.Copy(w, r.Body)
		fmt.Fprint(w, r.URL.Query().Get("say"))
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// What a batch may not do ends all of it, before anything is sent where that is known before.
func TestBatchIsBounded(t *testing.T) {
	address, sent := batchServer(t)
	large := []byte(strings.Repeat("x", 600))
	many := make([]Request, MaxBatch+1)
	for i := range many {
		many[i].URL = address
	}
	ok := Request{URL: address}
	for _, tc := range []struct {
		name     string
		requests []Request
		want     string
		sent     bool
	}{
		{"too many", many, "more than 32 requests", false},
		{"another host", []Request{ok, {URL: "http://other.test/"}}, `http to "http://other.test" is not permitted`, false},
		{"method", []Request{ok, {URL: address, Method: "POST"}}, "http method POST", false},
		{"header", []Request{ok, {URL: address, Headers: map[string]string{"X": "hidden\r\nY: z"}}}, `header "X"`, false},
		{"timeout", []Request{ok, {URL: address, Timeout: -1}}, "timeout_ms: is -1", false},
		{"long timeout", []Request{{URL: address, Timeout: 1 << 62}}, "timeout_ms: is", false},
		{"bodies together", []Request{{URL: address, Body: large}, {URL: address, Body: large}}, "http request body of 600 bytes, allowed 1000", false},
		{"answers together", []Request{{URL: address + "?say=" + string(large)}, {URL: address + "?say=" + string(large)}}, "http response of more than 1000 bytes", true},
		{"redirect", []Request{{URL: address + "?wait=1m"}, {URL: address + "?to=http://other.test/"}}, `http to "http://other.test" is not permitted`, true},
		{"private", []Request{{URL: address}, {URL: "http://169.254.169.254/"}}, "169.254.169.254", false},
	} {
		sent.Store(0)
		c := newClient(t, nil, true, "http://127.0.0.1:*")
		_, err := c.SendAll(t.Context(), tc.requests)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hidden") || (sent.Load() > 0) != tc.sent {
			t.Errorf("%s: error %v, %d requests sent", tc.name, err, sent.Load())
		}
	}
}

// Every address is held to the rule, also in a batch.
func TestBatchGuardsAddresses(t *testing.T) {
	c := newClient(t, nil, false, "http://localhost:*", "http://127.0.0.1:*")
	address, sent := batchServer(t)
	_, err := c.SendAll(t.Context(), []Request{{URL: strings.Replace(address, "127.0.0.1", "localhost", 1)}, {URL: address}})
	var r *Refusal
	if !errors.As(err, &r) || !strings.Contains(r.What, "private address") || sent.Load() > 0 {
		t.Errorf("error %v, %d requests sent", err, sent.Load())
	}
}

// Requests run at the same time, each within its own time; one that is late leaves the others.
func TestBatchRunsAtOnce(t *testing.T) {
	var mu sync.Mutex
	waiting, all := 0, make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/never" {
			<-r.Context().Done()
			return
		}
		mu.Lock()
		if waiting++; waiting == MaxBatch-1 {
			close(all)
		}
		mu.Unlock()
		select {
		case <-all: // every other request is here
		case <-r.Context().Done():
		}
		fmt.Fprint(w, r.URL.Path)
	}))
	t.Cleanup(s.Close)
	requests := make([]Request, MaxBatch)
	for i := range requests {
		requests[i].URL = fmt.Sprintf("%s/%d", s.URL, i)
	}
	requests[3] = Request{URL: s.URL + "/never", Timeout: 50}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	outcomes, err := newClient(t, nil, true, "http://127.0.0.1:*").SendAll(ctx, requests)
	if err != nil {
		t.Fatal(err)
	}
	for i, o := range outcomes {
		late := i == 3
		if late && (o.Failure == nil || o.Failure.Word() != "timeout" || !strings.Contains(o.Failure.Error(), "no answer within 50ms")) ||
			!late && (o.Failure != nil || string(o.Body) != fmt.Sprintf("/%d", i)) {
			t.Errorf("request %d: %q, %v", i, o.Body, o.Failure)
		}
	}
}

// A batch ends with its context, whatever servers and transports do.
func TestBatchEndsInTime(t *testing.T) {
	address, _ := batchServer(t)
	for name, rt := range map[string]http.RoundTripper{
		"own": nil, "given": tripper(func(*http.Request) (*http.Response, error) { select {} }),
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		began := time.Now()
		outcomes, err := newClient(t, rt, true, "http://127.0.0.1:*").SendAll(ctx, []Request{{URL: address + "?wait=1h"}, {URL: address + "?wait=1h"}})
		if took := time.Since(began); err != nil || outcomes[0].Failure == nil || took > await.Patience {
			t.Errorf("%s: %+v, error %v after %v", name, outcomes, err, took)
		}
	}
}

// The words for what fails are told apart.
func TestFailureWords(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	const closed = "http://127.0.0.1:1" // a port that was open may be another server's by now
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	}))
	t.Cleanup(broken.Close)
	short := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = w.Write([]byte("few"))
	}))
	t.Cleanup(short.Close)
	large := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Large", strings.Repeat("x", 2<<20))
	}))
	t.Cleanup(large.Close)
	s.Config.ErrorLog = nil
	plain := strings.Replace(short.URL, "http:", "https:", 1)
	c := newClient(t, nil, true, "http://127.0.0.1:*", "https://127.0.0.1:*", "http://none.invalid")
	for address, want := range map[string]string{
		s.URL: "certificate", closed: "connect", broken.URL: "reset", "http://none.invalid/": "dns", short.URL: "short_body", large.URL: "too_large", plain: "tls",
	} {
		outcomes, err := c.SendAll(t.Context(), []Request{{URL: address}})
		if err != nil {
			t.Fatal(err)
		}
		if got := outcomes[0].Failure; got == nil || got.Word() != want {
			t.Errorf("%s: %v (want %s)", address, got, want)
		}
	}
}

// Headers of the host go to their server alone, replace those of the guest, and do not come
// back.
func TestAddedHeaders(t *testing.T) {
	first, _ := headerServer(t)
	second, _ := headerServer(t)
	server := servers(t, []string{first}).hosts[0]
	c := NewClient(Options{
		Rule: &Rule{Grant: servers(t, []string{"http://127.0.0.1:*", "http://localhost:*"}, "GET", "TRACE"), Foreign: true, Private: true}, MaxBody: 10000,
		Take: func() error { return nil }, Give: func() {},
		Headers: []ServerHeaders{{server, map[string]string{"authorization": "Bearer secret-key-1", "User-Agent": "a&b-secret-2"}}},
	})
	t.Cleanup(c.Close)
	named := strings.Replace(first, "127.0.0.1", "localhost", 1)
	const shown = "Authorization=*******************"
	for _, tc := range []struct {
		url   string
		added bool
	}{
		{first, true}, {first + "/?to=" + first, true}, {second, false}, {named, false},
		{first + "/?to=" + second, false}, {first + "/?to=" + second + "&to=" + first, false}, {second + "/?to=" + first, false},
	} {
		doc, err := json.Marshal(map[string]any{"url": tc.url, "headers": map[string]string{"AUTHORIZATION": "mine", "Accept-Encoding": "br"}})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := c.Send(t.Context(), doc, nil)
		got := string(answer.Body)
		if err != nil || strings.Contains(got, shown) != tc.added || strings.Contains(got, "secret") || tc.added && strings.Contains(got, "mine") {
			t.Errorf("%s: the guest sees %s, error %v", tc.url, got, err)
		}
	}
	_, err := c.Send(t.Context(), fmt.Appendf(nil, `{"url":%q,"method":"TRACE"}`, first), nil)
	var r *Refusal
	if !errors.As(err, &r) {
		t.Errorf("TRACE: error %v", err)
	}
}

// The server sees the value that the guest does not.
func TestAddedHeadersArrive(t *testing.T) {
	var got atomic.Value
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got.Store(r.Header.Get("X-Api-Key"))
		w.Header().Set("X-Echo", r.Header.Get("X-Api-Key"))
	}))
	t.Cleanup(s.Close)
	c := NewClient(Options{
		Rule: &Rule{Grant: servers(t, []string{s.URL}), Foreign: true, Private: true}, MaxBody: 1000,
		Take: func() error { return nil }, Give: func() {},
		Headers: []ServerHeaders{{servers(t, []string{s.URL}).hosts[0], map[string]string{"X-Api-Key": "key<&>12345"}}},
	})
	t.Cleanup(c.Close)
	outcomes, err := c.SendAll(t.Context(), []Request{{URL: s.URL}})
	if err != nil || got.Load() != "key<&>12345" || !strings.Contains(string(outcomes[0].Headers), `"x-echo":"***********"`) {
		t.Errorf("the server sees %v, the guest %+v, error %v", got.Load(), outcomes, err)
	}
}

func TestServerHeadersCheck(t *testing.T) {
	one := servers(t, []string{"api.test"}).hosts[0]
	for _, tc := range []struct {
		h    ServerHeaders
		want string
	}{
		{ServerHeaders{one, map[string]string{"X-Key": "secret"}}, ""},
		{ServerHeaders{one, map[string]string{"X-Key": "secret\r\nHost: x"}}, "line break"},
		{ServerHeaders{one, map[string]string{"X Key": "secret"}}, "malformed"},
		{ServerHeaders{one, map[string]string{"X-Key": ""}}, "no value"},
		{ServerHeaders{one, map[string]string{"host": "secret"}}, "of the connection"},
		{ServerHeaders{one, map[string]string{"proxy-authorization": "secret"}}, "of the connection"},
		{ServerHeaders{one, map[string]string{"X-Key": "secret", "x-key": "secret"}}, "twice"},
		{ServerHeaders{servers(t, []string{"*.test"}).hosts[0], map[string]string{"X-Key": "secret"}}, "not one server"},
		{ServerHeaders{servers(t, []string{"api.test:*"}).hosts[0], map[string]string{"X-Key": "secret"}}, "not one server"},
	} {
		err := tc.h.Check()
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%v: %v", tc.h, err)
		}
	}
}

// FuzzDecodeBatch holds the reader of batches to its bounds.
func FuzzDecodeBatch(f *testing.F) {
	f.Add([]byte(`{"requests":[{"url":"https://a.test","method":"GET","headers":{"a":"b"},"body":16,"timeout_ms":5},{}]}`))
	f.Add([]byte(`{"requests":[` + strings.Repeat("{},", 40) + `{}]}`))
	f.Add([]byte(`{"requests":{}}`))
	f.Add([]byte(`{"requests":[{"body":-1}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		requests, err := DecodeBatch(doc, func(handle uint64) ([]byte, error) {
			if handle == 0 {
				t.Error("asked for handle 0")
			}
			return []byte("body"), nil
		})
		if len(requests) > MaxBatch || err != nil && requests != nil {
			t.Errorf("%d requests, error %v", len(requests), err)
		}
	})
}
