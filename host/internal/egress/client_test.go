package egress

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/host/internal/guard"
)

// headerServer answers with the headers it got, and redirects to where the queries
// say, one after another.
func headerServer(t *testing.T) (address string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if to := r.URL.Query()["to"]; len(to) > 0 {
			http.Redirect(w, r, to[0]+"/?"+url.Values{"to": to[1:]}.Encode(), http.StatusFound)
			return
		}
		fmt.Fprintf(w, "Host=%s close=%t length=%d coding=%v", r.Host, r.Close, r.ContentLength, r.TransferEncoding)
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			fmt.Fprintf(w, " %s=%s", name, r.Header.Get(name))
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

// plainHeaders are what the server sees of a request for which a guest states none.
func plainHeaders(address string) string {
	return "Host=" + strings.TrimPrefix(address, "http://") + " close=false length=0 coding=[] Accept-Encoding=gzip User-Agent=Go-http-client/1.1"
}

// newClient returns a client that may send GET to these servers.
func newClient(t *testing.T, rt http.RoundTripper, private bool, hosts ...string) *Client {
	t.Helper()
	c := NewClient(Options{
		Rule: &Rule{Grant: servers(t, hosts), Foreign: true, Private: private}, MaxBody: 1000,
		Take: func() error { return nil }, Give: func() {},
		Transport: rt, Guard: guard.New(slog.New(slog.DiscardHandler)),
	})
	t.Cleanup(c.Close)
	return c
}

// sender returns what sends a request with a header and returns the body of the answer.
func sender(t *testing.T) func(address, name, value string) (string, error) {
	t.Helper()
	c := newClient(t, nil, true, "http://127.0.0.1:*", "http://localhost:*")
	return func(address, name, value string) (string, error) {
		doc, err := json.Marshal(map[string]any{"url": address, "headers": map[string]string{name: value}})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := c.Send(t.Context(), doc, nil)
		return string(answer.Body), err
	}
}

// What a guest says about the connection does not leave the host, in whatever case
// it writes the name; everything else does.
func TestHeadersOfTheConnection(t *testing.T) {
	address, _ := headerServer(t)
	send := sender(t)
	for _, header := range []string{
		"Host: other.test", "hOsT: other.test", "Connection: close", "connection: Upgrade", "Content-Length: 7", "Expect: 100-continue",
		"Keep-Alive: timeout=600", "TE: trailers", "Trailer: X-Late", "Transfer-Encoding: chunked", "transfer-encoding: identity",
		"Upgrade: websocket", "HTTP2-Settings: AAMAAABkAAQAAP__", "Proxy-Authorization: Basic x", "proxy-connection: close", "Proxy-Anything: x",
	} {
		name, value, _ := strings.Cut(header, ": ")
		if got, err := send(address, name, value); err != nil || got != plainHeaders(address) {
			t.Errorf("%s: the server sees %s, error %v", header, got, err)
		}
	}
	for _, header := range []string{"Authorization: Bearer x", "Cookie: a=b", "X-Host: y", "Origin: z", "Proxyx: 1"} {
		name, value, _ := strings.Cut(header, ": ")
		if got, err := send(address, name, value); err != nil || !strings.Contains(got, " "+name+"="+value) {
			t.Errorf("%s: the server sees %s, error %v", header, got, err)
		}
	}
}

// A malformed header is an error before anything is sent, also one that would be left
// out, and the error does not tell the value.
func TestMalformedHeaders(t *testing.T) {
	address, requests := headerServer(t)
	send := sender(t)
	for _, tc := range [][2]string{
		{"X-A", "hidden\r\nHost: other.test"}, {"X-A", "hidden\nX-B: c"}, {"X-A", "hidden\r"}, {"X-A", "hidden\x00"}, {"X-A", "hidden\x7f"},
		{"Host", "hidden\r\nX-B: c"}, {"Proxy-A", "hidden\n"}, {"X-A: b\r\nX-B", "hidden"}, {"X A", "hidden"}, {"X-A:", "hidden"},
		{":authority", "hidden"}, {"X-Ä", "hidden"}, {"Transfer-Encoding ", "hidden"}, {"\tHost", "hidden"}, {"", "hidden"},
	} {
		_, err := send(address, tc[0], tc[1])
		if err == nil || !strings.HasPrefix(err.Error(), "header ") || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%q: error %v", tc, err)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// Of two names that differ in case only, the same one is sent every time.
func TestHeaderTwice(t *testing.T) {
	address, _ := headerServer(t)
	c := newClient(t, nil, true, "http://127.0.0.1:*")
	for range 20 {
		got, err := c.Send(t.Context(), fmt.Appendf(nil, `{"url":%q,"headers":{"x-a":"1","X-a":"2","X-A":"3","x-A":"4"}}`, address), nil)
		if err != nil || !strings.Contains(string(got.Body), " X-A=1") {
			t.Fatalf("%s, error %v", got.Body, err)
		}
	}
}

// Nothing that may be a credential follows a redirect to another host or port, or comes
// back with a second one, the address itself among it, which a key may be part of.
func TestCredentialsStay(t *testing.T) {
	first, _ := headerServer(t)
	second, _ := headerServer(t)
	named := strings.Replace(first, "127.0.0.1", "localhost", 1)
	send := sender(t)
	for _, tc := range []struct {
		hops []string
		kept bool
	}{
		{[]string{first}, true}, {[]string{first, first}, true},
		{[]string{second}, false}, {[]string{named}, false}, {[]string{second, first}, false}, {[]string{named, first}, false}, {[]string{first, second}, false},
	} {
		address := first + "/?" + url.Values{"to": tc.hops}.Encode()
		for name, kept := range map[string]bool{"Authorization": tc.kept, "Cookie": tc.kept, "X-Api-Key": tc.kept, "Accept": true} {
			got, err := send(address+"&key=hidden", name, "a=secret")
			if err != nil || strings.Contains(got, " "+name+"=a=secret") != kept || !tc.kept && strings.Contains(got, "hidden") {
				t.Errorf("%s to %v: the server sees %s, error %v", name, tc.hops, got, err)
			}
		}
	}
}

// A name server that fails is told from a name that does not exist.
func TestRemedy(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{&net.DNSError{Err: "no such host", Name: "x.test", IsNotFound: true}, `host "x.test" has no address: check the name, and the name server of this machine`},
		{&net.DNSError{Err: "server misbehaving", Name: "x.test"}, `the name server of this machine did not resolve host "x.test": check it and the network`},
	} {
		err := &Failure{Method: "GET", URL: "http://x.test/", Err: &net.OpError{Op: "dial", Net: "tcp", Err: tc.err}}
		if got := err.Remedy(); got != tc.want {
			t.Errorf("%v: %s", tc.err, got)
		}
	}
	long := &Failure{Method: "GET", URL: "http://" + strings.Repeat("a\u202e", 10_000), Err: io.EOF}
	if got := long.Remedy(); len(got) > 1000 || strings.Contains(got, "\u202e") {
		t.Errorf("a name as the guest states it: %q", got)
	}
}
