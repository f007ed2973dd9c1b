package outbound

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"context"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/registry/internal/kind"
)

// TestPlaces states what is an address of which place.
func TestPlaces(t *testing.T) {
	for want, texts := range map[Place][]string{
		Public:  {"8.8.8.8", "2606:4700::1", "64:ff9b::808:808", "2002:808:808::1", "172.32.0.1", "100.128.0.1"},
		Private: {"10.0.0.1", "172.20.0.1", "192.168.1.1", "100.64.0.1", "100.127.255.255", "fd00::1", "fc00::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::1", "198.18.0.1", "250.0.0.1", "fec0::1"},
		Local:   {"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1"},
		Nowhere: {"169.254.169.254", "fe80::1", "fe80::1%eth0", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "0.0.0.0", "0.1.2.3", "::", "224.0.0.1", "ff02::1",
			"255.255.255.255", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254", "::10.0.0.1"},
	} {
		for _, text := range texts {
			if got := placeOf(netip.AddrPortFrom(netip.MustParseAddr(text), 80)); got != want {
				t.Errorf("%s is %s, want %s", text, got, want)
			}
		}
	}
}

// placed returns a transport for which servers of a test are at places.
func placed(t *testing.T, places map[string]Place) *Transport {
	t.Helper()
	transport := New(func(*http.Request) (*url.URL, error) { return nil, nil }, &tls.Config{MinVersion: tls.VersionTLS12})
	transport.Pause = time.Millisecond
	transport.Place = func(at netip.AddrPort) Place {
		if p, ok := places[at.String()]; ok {
			return p
		}
		return placeOf(at)
	}
	t.Cleanup(transport.Close)
	return transport
}

// TestNear asks hosts that pass for this machine: without TLS only loopback addresses are reached.
func TestNear(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	transport := placed(t, nil)
	transport.Near = func(string) bool { return true }
	for name, client := range map[string]func(host string) *http.Client{
		"client": transport.Client,
		"direct": func(string) *http.Client { return &http.Client{Transport: transport.Direct()} },
	} {
		if answer, err := client(server.Listener.Addr().String()).Head(server.URL); err != nil || answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: this machine: %v", name, err)
		}
		_, err := client("192.0.2.1:5000").Head("http://192.0.2.1:5000/v2/")
		if !errors.Is(err, kind.ErrUnreachable) || !strings.Contains(err.Error(), "192.0.2.1:5000 is no address of this machine") {
			t.Errorf("%s: another machine: %v", name, err)
		}
	}
}

// TestSent has servers at each place send their client to each place.
func TestSent(t *testing.T) {
	var reached atomic.Int32
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer target.Close()
	named := httptest.NewServer(http.RedirectHandler(target.URL, http.StatusTemporaryRedirect))
	defer named.Close()
	at, to := named.Listener.Addr().String(), target.Listener.Addr().String()
	for from := range Nowhere + 1 {
		for where := range Nowhere + 1 {
			reached.Store(0)
			transport := placed(t, map[string]Place{at: from, to: where})
			_, err := transport.Client(at).Get(named.URL)
			allowed := where <= from && where != Nowhere
			if from == Nowhere {
				allowed = where == Public
			}
			if (err == nil) != allowed || (reached.Load() == 1) != allowed || err != nil && !errors.Is(err, kind.ErrRedirect) {
				t.Errorf("a registry at %s sends to %s: %v, reached %v", from, where, err, reached.Load() == 1)
			}
			// A request that nothing but the registry caused, such as one for a token.
			transport.Close()
			if _, err := transport.Client(at).Get(target.URL); (err == nil) != allowed {
				t.Errorf("a registry at %s has its tokens at %s: %v", from, where, err)
			}
		}
	}
	// Nothing was reached yet, and one through a proxy never is: such a registry is public.
	if _, err := placed(t, nil).Client("registry.test").Get(target.URL); !errors.Is(err, kind.ErrRedirect) {
		t.Errorf("an unknown registry: %v", err)
	}
}

// TestProxied judges the names that a proxy is to reach.
func TestProxied(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer proxy.Close()
	through, _ := url.Parse(proxy.URL)
	transport := New(func(*http.Request) (*url.URL, error) { return through, nil }, &tls.Config{MinVersion: tls.VersionTLS12})
	defer transport.Close()
	transport.Resolver = answering(t, map[string][]string{"private.test.": {"10.1.2.3"}, "public.test.": {"8.8.8.8"}})
	for address, want := range map[string]bool{"http://registry.test": true, "http://public.test": true, "http://private.test": false, "http://10.1.2.3": false, "http://localhost": false} {
		if _, err := transport.Client("registry.test").Get(address); (err == nil) != want || err != nil && !errors.Is(err, kind.ErrRedirect) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// answering returns a resolver whose names have, each time, the next of their addresses.
func answering(t *testing.T, names map[string][]string) *net.Resolver {
	var mu sync.Mutex
	answer := func(question []byte) []byte {
		var m dnsmessage.Message
		if err := m.Unpack(question); err != nil {
			t.Error(err)
		}
		m.Response, m.Additionals = true, nil
		mu.Lock()
		defer mu.Unlock()
		q := m.Questions[0]
		all := names[q.Name.String()]
		if q.Type == dnsmessage.TypeA && len(all) > 0 {
			m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}, Body: &dnsmessage.AResource{A: netip.MustParseAddr(all[0]).As4()}}}
			if len(all) > 1 {
				names[q.Name.String()] = all[1:]
			}
		}
		text, err := m.Pack()
		if err != nil {
			t.Error(err)
		}
		return text
	}
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			for size := make([]byte, 2); ; {
				if _, err := io.ReadFull(there, size); err != nil {
					return
				}
				question := make([]byte, binary.BigEndian.Uint16(size))
				if _, err := io.ReadFull(there, question); err != nil {
					return
				}
				text := answer(question)
				_, _ = there.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(text))), text...))
			}
		}()
		return here, nil
	}}
}

// TestRebind has a name mean a public address first, and then one of this network.
func TestRebind(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer target.Close()
	at := target.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(at)
	transport := placed(t, map[string]Place{at: Public})
	transport.Resolver = answering(t, map[string][]string{"rebind.test.": {"127.0.0.1", "10.1.2.3", "169.254.169.254"}})
	client := transport.Client("registry.test")
	if _, err := client.Get("http://rebind.test:" + port); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"10.1.2.3:" + port + ", an address of a private network", "169.254.169.254:" + port + ", an address that no registry has"} {
		transport.Close()
		if _, err := client.Get("http://rebind.test:" + port); !errors.Is(err, kind.ErrRedirect) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	// A registry is as far as its name ever was.
	transport.note("registry.test:443", Private)
	transport.note("registry.test:443", Public)
	transport.note("registry.test:443", Local)
	if p := transport.nearest("registry.test"); p != Public {
		t.Errorf("it is %s", p)
	}
}

// TestSecrets sends credentials to another host over TLS only.
func TestSecrets(t *testing.T) {
	f := from{placed(t, nil), "registry.test:5000"}
	f.note("registry.test:5000", Private)
	for address, want := range map[string]bool{"http://registry.test:5000": true, "http://registry.test:5001": true, "https://auth.test": true, "http://auth.test": false, "http://registry.test.evil": false} {
		for name, change := range map[string]func(*http.Request){
			"header": func(r *http.Request) { r.SetBasicAuth("u", "p") },
			"form":   func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("password=p")) },
		} {
			req := httptest.NewRequest(http.MethodGet, address, nil)
			if _, err := f.choose(req); err != nil {
				t.Errorf("%s without credentials: %v", address, err)
			}
			change(req)
			if _, err := f.choose(req); (err == nil) != want {
				t.Errorf("%s with credentials in the %s: %v", address, name, err)
			}
		}
	}
}

// TestTrickle ends what moves, but hardly: bodies, headers and answers before the answer.
func TestTrickle(t *testing.T) {
	done := make(chan struct{})
	defer close(done)
	slowly := func(conn net.Conn, text string) {
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			if _, err := io.WriteString(conn, text); err != nil {
				return
			}
		}
	}
	for name, each := range map[string]struct{ first, then, want string }{
		"body":    {"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", "x", "bytes came or went in %s, want 16384"},
		"header":  {"HTTP/1.1 200 OK\r\nX: ", "x", "no byte came or went for %s"},
		"nothing": {"", "", "no byte came or went for %s"},
		"hints":   {"", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", "no byte came or went for %s"},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					_, _ = conn.Read(make([]byte, 4096)) // the request
					_, _ = io.WriteString(conn, each.first)
					slowly(conn, each.then)
				}()
			}
		}()
		if !await.Enough(200*time.Millisecond, func(stall time.Duration) bool { // for a byte to come in it
			transport := placed(t, nil)
			transport.Stall = stall
			answer, got := transport.Client(listener.Addr().String()).Get("http://" + listener.Addr().String())
			if got == nil {
				_, got = io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
			err = got
			return errors.Is(err, kind.ErrUnreachable) && strings.Contains(err.Error(), fmt.Sprintf(each.want, stall))
		}) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFloods ends headers and answers before the answer that have no end.
func TestFloods(t *testing.T) {
	for name, text := range map[string]string{"header": "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 100), "hints": strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: "+strings.Repeat("x", 100)+"\r\n\r\n", 1000)} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			defer conn.Close()
			for {
				if _, err := io.WriteString(conn, text); err != nil {
					return
				}
			}
		}))
		defer server.Close()
		if _, err := placed(t, nil).Client(server.Listener.Addr().String()).Get(server.URL); err == nil || !strings.Contains(err.Error(), "exceeded 65536 bytes") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWaits tells of each wait that a server asks for, and does not wait longer than it may.
func TestWaits(t *testing.T) {
	for after, want := range map[string]int{"0": MaxRetries + 1, "1": 2, "30": 2, "31": 1, "1000000": 1, "Wed, 21 Oct 2121 07:28:00 GMT": 1} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.Header().Set("Retry-After", after)
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		defer server.Close()
		transport := placed(t, nil)
		var lines []string
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		transport.Tell = func(line string) {
			lines = append(lines, line)
			cancel() // the test does not wait
		}
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		answer, err := transport.Client(req.URL.Host).Do(req)
		switch after {
		case "1", "30":
			if asked != 1 || len(lines) != 1 || !strings.HasPrefix(lines[0], req.URL.Host+": answers 429 Too Many Requests: asks again in "+after+"s") || !errors.Is(err, context.Canceled) {
				t.Errorf("asked %d times, told %q, %v", asked, lines, err)
			}
		default:
			if err != nil || answer.StatusCode != http.StatusTooManyRequests || asked != want || len(lines) > 0 {
				t.Errorf("%s: asked %d times, told %q, %v", after, asked, lines, err)
			}
		}
		cancel()
	}
	// A wait beyond the time that is left does not begin.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "29")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	_, err := placed(t, nil).Client(req.URL.Host).Do(req)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "answers 503 Service Unavailable: a wait of 29s is longer than --timeout allows") {
		t.Error(err)
	}
}

// The clock of a registry may be an hour ahead of this one, or behind it: the wait is as long all the same.
func TestRetryAfterByAnotherClock(t *testing.T) {
	for _, off := range []time.Duration{-time.Hour, 0, time.Hour} {
		now := time.Now().Add(off).UTC()
		h := http.Header{"Date": {now.Format(http.TimeFormat)}, "Retry-After": {now.Add(7 * time.Second).Format(http.TimeFormat)}}
		if have := RetryAfter(h); have != 7*time.Second {
			t.Errorf("a clock that is off by %v: wait for %v, want 7s", off, have)
		}
	}
}
