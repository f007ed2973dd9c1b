package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/internal/await"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// pipes is a listener in memory, whose clients have addresses.
type pipes struct{ next chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p.next
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// pipe is one end of a connection in memory.
type pipe struct {
	net.Conn
	from string
}

func (p pipe) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(p.from))
}

// opened is a connection of a listener in memory: what the server has, and the end of the client.
func opened(t *testing.T, l *connections, from string) (*conn, net.Conn) {
	t.Helper()
	ours, theirs := net.Pipe()
	l.Listener.(pipes).next <- pipe{ours, from}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Close(), theirs.Close() })
	return c.(*conn), theirs
}

func newPipes(all, each int) *connections {
	return newConnections(pipes{make(chan net.Conn, 1)}, "test", all, each, 10*time.Second, slog.New(slog.DiscardHandler))
}

func alive(list ...*conn) string {
	var b strings.Builder
	for _, c := range list {
		c.in.mu.Lock()
		fmt.Fprint(&b, map[bool]string{true: "-", false: "+"}[c.gone])
		c.in.mu.Unlock()
	}
	return b.String()
}

// What is new takes the place of what has waited longest: first of connections without a valid key, then
// of those with one that have no request. Those of a request that counts stay.
func TestConnectionsMakeRoom(t *testing.T) {
	l := newPipes(4, 4)
	var list [7]*conn
	for i := range 4 {
		list[i], _ = opened(t, l, fmt.Sprintf("10.0.0.%d:1", i+1))
	}
	for i := range 2 { // the first two have a key, and the second a request
		if _, ok := list[i].begin(false, 1); !ok {
			t.Fatal("no room for a request")
		}
		list[i].know(true)
		list[i].count(1)
	}
	list[0].count(-1)
	list[0].end()
	for i, want := range []string{"++-++", "++--++", "-+--+++"} {
		list[4+i], _ = opened(t, l, fmt.Sprintf("10.0.1.%d:1", i+1))
		if i < 2 {
			_, _ = list[4+i].begin(false, 1)
			list[4+i].know(true)
			list[4+i].count(1)
		}
		if got := alive(list[:5+i]...); got != want {
			t.Fatalf("after connection %d: %s, want %s", 5+i, got, want)
		}
	}
	list[6].know(true)
	_, _ = list[6].begin(false, 1)
	list[6].count(1)
	ours, theirs := net.Pipe()
	if c, victim := l.enter(&conn{Conn: ours, in: l, from: originOf(pipe{ours, "10.0.2.1:1"}.RemoteAddr())}); c != nil || victim != nil {
		t.Error("a connection with a request had to go")
	}
	_, _ = ours.Close(), theirs.Close()
	for _, c := range list {
		_ = c.Close()
	}
	if l.open != 0 || l.running != 0 || len(l.origins) != 0 {
		t.Errorf("%d connections, %d requests and %d addresses are left", l.open, l.running, len(l.origins))
	}
}

// Addresses that open one connection after the other push out their own.
func TestConnectionsOfOthersStay(t *testing.T) {
	l := newPipes(4, 4)
	probe, _ := opened(t, l, "10.0.0.1:1")
	for i := range 20 {
		opened(t, l, fmt.Sprintf("10.0.1.%d:1", i%2+1))
	}
	if got := alive(probe); got != "+" {
		t.Error("the connection of another address had to go")
	}
}

// One address has a part of the places, and its flood closes its own connections. In IPv6 a network is one
// address.
func TestConnectionsOfOneAddress(t *testing.T) {
	for _, from := range []string{"10.0.0.1:%d", "[2001:db8::%x]:1"} {
		l := newPipes(8, 2)
		other, _ := opened(t, l, "10.0.0.2:1")
		var list []*conn
		for i := range 20 {
			c, _ := opened(t, l, fmt.Sprintf(from, i+1))
			list = append(list, c)
		}
		if got := alive(append(list, other)...); got != strings.Repeat("-", 18)+"+++" {
			t.Errorf("%s: %s", from, got)
		}
	}
}

// A connection without a valid key is closed when it waits; one with a key stays.
func TestStrangersDoNotStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes(8, 8)
		silent, _ := opened(t, l, "10.0.0.1:1")
		asking, _ := opened(t, l, "10.0.0.1:2")
		keyed, _ := opened(t, l, "10.0.0.1:3")
		revoked, _ := opened(t, l, "10.0.0.1:4")
		busy, _ := opened(t, l, "10.0.0.1:5")
		request := func(c *conn, key bool) {
			_, _ = c.begin(false, 1)
			c.know(key)
			c.end()
		}
		request(keyed, true)
		request(revoked, true)
		_, _ = busy.begin(false, 1)
		for i, want := range []string{"+++++", "-++++", "-++++", "-++-+"} {
			time.Sleep(6 * time.Second)
			if got := alive(silent, asking, keyed, revoked, busy); got != want {
				t.Errorf("after %d s: %s, want %s", 6*(i+1), got, want)
			}
			request(asking, false)
			if i == 1 {
				request(revoked, false)
			}
		}
		busy.end()
	})
}

// The deadline of a request begins with the first byte of its header.
func TestDeadlineBeginsWithTheHeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newPipes(8, 8)
		c, client := opened(t, l, "10.0.0.1:1")
		c.know(true)
		for _, secure := range []bool{false, true} {
			time.Sleep(time.Hour)
			began := time.Now()
			for range 2 {
				go func() { _, _ = client.Write([]byte("G")) }()
				if _, err := c.Read(make([]byte, 9)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
			}
			if first, ok := c.begin(secure, 1); !ok || !first.Equal(began) {
				t.Errorf("the request begins %v late", first.Sub(began))
			}
			c.end()
		}
	})
}

// idle opens connections that have had one answer and then do nothing.
func idle(t *testing.T, address string, n int) {
	t.Helper()
	for range n {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_, _ = io.WriteString(conn, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
		_, _ = conn.Read(make([]byte, 1))
	}
}

// Idle connections without a key stop neither the API nor health, and leave those with a key alone.
func TestIdleConnectionsStopNobody(t *testing.T) {
	l := start(t, words, Options{Authenticator: staticKeys{}, MaxConnections: 8, MaxConnectionsPerAddress: 8})
	reused := false
	ask := func() int {
		r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }}), "GET", "http://"+l.data+"/v1/evals", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer a")
		resp, err := l.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	for i := range 3 {
		idle(t, l.data, 20)
		if status := ask(); status != 200 || reused != (i > 0) {
			t.Errorf("%d: status %d, with the connection from before: %v", i, status, reused)
		}
	}
	idle(t, l.admin, maxAdminConnections+10)
	if got := l.control("GET", "/livez", ""); got.status != 200 {
		t.Errorf("health: %d", got.status)
	}
	if log := l.log.String(); strings.Count(log, "as many connections are open as may") != 2 {
		t.Errorf("log: %s", log)
	}
}

// secured starts a server with TLS.
func secured(t *testing.T, o Options) *live {
	t.Helper()
	ca, dir := newAuthority(t), t.TempDir()
	o.TLS = TLS{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	ca.issue(7, o.TLS.Cert, o.TLS.Key)
	l := start(t, words, o)
	l.client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	l.client.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	return l
}

// streams opens a connection of HTTP/2 with requests whose answers are never read.
func streams(t *testing.T, address, path, key string, n int) {
	t.Helper()
	c, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	var b strings.Builder
	e := hpack.NewEncoder(&b)
	_, _ = io.WriteString(c, http2.ClientPreface)
	f := http2.NewFramer(c, c)
	_ = f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
	for i := range n {
		b.Reset()
		for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", path}, {"authorization", "Bearer " + key}} {
			_ = e.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
		}
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: uint32(2*i + 1), BlockFragment: []byte(b.String()), EndHeaders: true, EndStream: true})
	}
	_ = f.WritePing(false, [8]byte{1})
	for { // until the server has seen all of them
		frame, err := f.ReadFrame()
		if err != nil {
			return // it had to go
		}
		if p, ok := frame.(*http2.PingFrame); ok && p.IsAck() {
			return
		}
	}
}

// Streams of HTTP/2 whose answers nobody reads take no more than connections could, with a key or without
// one, and leave room for another tenant.
func TestUnreadStreams(t *testing.T) {
	for _, tt := range []struct{ name, path, key string }{
		{"no key", "/openapi.json", ""}, {"bad key", "/v1/evals", "nobody"}, {"no such path", "/nowhere", "a"}, {"key", "/v1/evals", "a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := secured(t, Options{Authenticator: staticKeys{}, MaxConnections: 8, MaxConnectionsPerAddress: 8, DrainTimeout: time.Millisecond})
			for i := range 4 {
				streams(t, l.data, tt.path, tt.key, 50)
				if !await.True(func() bool { return l.Running() <= 8 }) { // those of connections that had to go end
					t.Fatalf("%d requests run", l.Running())
				}
				for j := range 10 {
					got := l.do("POST", "https://"+l.data+"/v1/builds", `{"query": "q"}`, "Authorization", "Bearer b")
					if got.status != 200 {
						t.Fatalf("%d.%d: %d %s", i, j, got.status, got.body)
					}
				}
			}
		})
	}
}

// A tenant has half of the requests that may run, over HTTP/2 as well.
func TestRequestsOfOneTenant(t *testing.T) {
	l := secured(t, Options{Authenticator: staticKeys{}, MaxConnections: 8, MaxConnectionsPerAddress: 8})
	blocked, began := make(chan struct{}), make(chan struct{}, 8)
	wait := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		began <- struct{}{}
		<-blocked
	})
	if err := l.Mount(Route{Method: "GET", Path: "/wait", Action: "wait", Scope: ScopeBuild, Handler: wait}); err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	for range 4 {
		waiting.Go(func() { l.do("GET", "https://"+l.data+"/wait", "", "Authorization", "Bearer a") })
		<-began
	}
	got := l.do("GET", "https://"+l.data+"/wait", "", "Authorization", "Bearer a")
	if got.status != 503 || got.reason() != "busy" || got.header.Get("Retry-After") == "" {
		t.Errorf("the fifth request of a tenant: %d %s", got.status, got.body)
	}
	if got := l.do("GET", "https://"+l.data+"/v1/evals", "", "Authorization", "Bearer b"); got.status != 200 {
		t.Errorf("another tenant: %d %s", got.status, got.body)
	}
	close(blocked)
	waiting.Wait()
	if used := l.requests.used.Load(); used != 0 {
		t.Errorf("%d requests are still counted", used)
	}
}

// A program with a listener of its own has no bounds of connections.
func TestHandlerWithoutListener(t *testing.T) {
	if connOf(context.Background()) != nil {
		t.Error("a connection")
	}
	connOf(context.Background()).know(true)
	connOf(context.Background()).count(1)
}
