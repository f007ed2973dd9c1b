package server

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

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
	if used := l.requests.Used(); used != 0 {
		t.Errorf("%d requests are still counted", used)
	}
}
