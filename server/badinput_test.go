package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// every is all scopes.
var every = []string{ScopeBuild, ScopeMemoryRead, ScopeMemoryWrite, ScopeCollections, ScopeCollectionsWrite, ScopeAdmin, ScopeContent}

// badKeys knows a key with all scopes for each of two tenants, and keys with one scope less or one
// scope alone: "all but SCOPE" and "only SCOPE".
type badKeys struct{}

func (badKeys) Authenticate(r *http.Request) (Principal, error) {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch tenant, _, _ := strings.Cut(key, " "); tenant {
	case "owner", "other":
		return Principal{KeyID: tenant, Tenant: tenant, Scopes: every}, nil
	case "all":
		_, scopes, _ := strings.Cut(key, "but ") // one, or the two of which an endpoint needs one
		return Principal{KeyID: "k", Tenant: "owner", Scopes: slices.DeleteFunc(slices.Clone(every), func(s string) bool { return slices.Contains(strings.Fields(scopes), s) })}, nil
	case "only":
		return Principal{KeyID: "k", Tenant: "owner", Scopes: []string{strings.TrimPrefix(key, "only ")}}, nil
	case "expired", "revoked":
		return Principal{}, &Refusal{Status: 401, Reason: tenant + "_key", Message: "the key is " + tenant, Header: http.Header{"Www-Authenticate": {"Bearer"}}}
	}
	return Principal{}, errors.New("no such key")
}

// badInput is one way to send what an endpoint is not meant for.
type badInput struct {
	name string
	// send writes a request for a path, and more, until it fails.
	send func(c net.Conn, method, path string)
	// silent accepts that the server ends the connection without an answer.
	silent bool
	// passes accepts that the request succeeds: it is odd, and not wrong for every endpoint.
	passes bool
}

// head is the start of a request of the owner.
func head(method, path string, fields ...string) string {
	text := method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer owner\r\nConnection: close\r\n"
	for _, f := range fields {
		text += f + "\r\n"
	}
	return text + "\r\n"
}

const isJSON = "Content-Type: application/json"

// sendsBody sends a whole body.
func sendsBody(contentType, body string) func(net.Conn, string, string) {
	return func(c net.Conn, method, path string) {
		_, _ = io.WriteString(c, head(method, path, "Content-Type: "+contentType, fmt.Sprintf("Content-Length: %d", len(body)))+body)
	}
}

// sendsPath sends a request for an odd path below that of the endpoint.
func sendsPath(of func(path string) string) func(net.Conn, string, string) {
	return func(c net.Conn, method, path string) { _, _ = io.WriteString(c, head(method, of(path))) }
}

// drip sends a text byte by byte until the server has had enough.
func drip(c net.Conn, text string) {
	for i := 0; ; i++ {
		if _, err := c.Write([]byte{text[i%len(text)]}); err != nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}

var badInputs = []badInput{
	{name: "wrong type of body", send: sendsBody("text/plain", "x")},
	{name: "unknown member", send: sendsBody("application/json", `{"unheard": 1}`)},
	{name: "number for a text", send: sendsBody("application/json", `{"query": 7, "content": 7, "turns": 7, "kind": 7}`)},
	{name: "JSON nested 100,000 deep", send: sendsBody("application/json", strings.Repeat("[", 100_000)+strings.Repeat("]", 100_000))},
	{name: "objects nested 100,000 deep, open", send: sendsBody("application/json", strings.Repeat(`{"a":`, 100_000))},
	{name: "no UTF-8", send: sendsBody("application/json", "{\"query\": \"\xff\xfe\"")},
	{name: "body of 100 MB", silent: true, send: func(c net.Conn, method, path string) {
		_, _ = io.WriteString(c, head(method, path, isJSON, "Content-Length: 104857600"))
		for range 1600 {
			if _, err := c.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}},
	{name: "100 MB in chunks", silent: true, send: func(c net.Conn, method, path string) {
		_, _ = io.WriteString(c, head(method, path, isJSON, "Transfer-Encoding: chunked"))
		chunk := "10000\r\n" + strings.Repeat(" ", 64<<10) + "\r\n"
		for range 1600 {
			if _, err := io.WriteString(c, chunk); err != nil {
				return
			}
		}
	}},
	{name: "10,000 header fields", silent: true, send: func(c net.Conn, method, path string) {
		_, _ = io.WriteString(c, strings.TrimSuffix(head(method, path), "\r\n"))
		for i := range 10_000 {
			if _, err := fmt.Fprintf(c, "X-%d: 1\r\n", i); err != nil {
				return
			}
		}
		_, _ = io.WriteString(c, "\r\n")
	}},
	{name: "slow header", silent: true, send: func(c net.Conn, method, path string) { drip(c, strings.TrimSuffix(head(method, path), "\r\n\r\n")) }},
	{name: "slow body", silent: true, send: func(c net.Conn, method, path string) {
		_, _ = io.WriteString(c, head(method, path, isJSON, "Content-Length: 100000"))
		drip(c, " ")
	}},
	{name: "half a body", silent: true, send: func(c net.Conn, method, path string) {
		_, _ = io.WriteString(c, head(method, path, isJSON, "Content-Length: 100")+`{"query": `)
		_ = c.(*net.TCPConn).CloseWrite()
	}},
	{name: "dots in the path", send: sendsPath(func(p string) string { return p + "/%2e%2e/%2e%2e/etc/passwd" })},
	{name: "empty segments", send: sendsPath(func(p string) string { return "/" + p })},
	{name: "NUL in the path", passes: true, send: sendsPath(func(p string) string { return p + "%00" })},
	{name: "slash in a segment", passes: true, send: sendsPath(func(p string) string { return p + "%2f..%2f" })},
	{name: "raw control character", silent: true, send: sendsPath(func(p string) string { return p + "\x01" })},
	{name: "very long path", silent: true, send: sendsPath(func(p string) string { return p + strings.Repeat("/a", 30_000) })},
	{name: "very long segment", silent: true, send: sendsPath(func(p string) string { return p + strings.Repeat("a", 20_000) }), passes: true},
	{name: "very long query", silent: true, send: sendsPath(func(p string) string { return p + "?a=" + strings.Repeat("a", 20_000) })},
	{name: "cancelled", silent: true, passes: true, send: func(c net.Conn, method, path string) {
		_, _ = io.WriteString(c, head(method, path, isJSON, "Content-Length: 16")+`{"query": "abc`)
		_ = c.(*net.TCPConn).SetLinger(0)
		_ = c.Close()
	}},
}

// Whatever is sent to whichever endpoint, the answer is an error document, or the connection ends. The
// server never fails by it, holds little memory, and has nothing left afterwards.
func TestBadInput(t *testing.T) {
	l := start(t, words, Options{Authenticator: badKeys{}, MaxBody: 1 << 20, ClientTimeout: time.Second, IdleTimeout: time.Second})
	check := newChecker(t)
	if a := l.as("owner", "GET", l.data, "/v1/memory/facts"); a.status != 200 { // opens the store
		t.Fatalf("%d %s", a.status, a.body)
	}
	before := runtime.NumGoroutine()
	peak := l.watchMemory()
	var checking sync.Mutex          // the checker is for one goroutine
	limit := make(chan struct{}, 96) // many of them wait for the time limits of the service
	var all sync.WaitGroup
	sent := 0
	for _, target := range l.targets() {
		for _, in := range badInputs {
			sent++
			limit <- struct{}{}
			all.Go(func() {
				defer func() { <-limit }()
				status, body := throw(t, target, in)
				for try := 0; status == 0 && !in.silent && try < 20; try++ { // the machine was too slow for the time limits
					status, body = throw(t, target, in)
				}
				name := fmt.Sprintf("%s %s: %s", target.Method, target.path, in.name)
				switch {
				case status == 0 && in.silent, status < 400 && status != 0 && in.passes, status == 400 && strings.HasPrefix(body, "400 Bad Request"):
					return // net/http answers what is no HTTP itself
				case status == 431 && strings.HasPrefix(body, "431"):
					return
				case status < 400 || status >= 500:
					t.Errorf("%s: status %d: %.300s", name, status, body)
					return
				}
				checking.Lock()
				defer checking.Unlock()
				if err := check.check("GET", "/livez", status, []byte(body)); err != nil {
					t.Errorf("%s: status %d without an error document: %v: %.300s", name, status, err, body)
				}
			})
		}
	}
	all.Wait()
	used := peak()
	t.Logf("%d requests; the heap had at most %d MiB", sent, used>>20)
	if used > 256<<20 {
		t.Errorf("the heap had %d MiB", used>>20)
	}
	l.settles(t, before)
	if a := l.as("owner", "GET", l.data, "/v1/memory/facts"); a.status != 200 {
		t.Errorf("afterwards: %d %s", a.status, a.body)
	}
	if log := l.log.String(); strings.Contains(log, "panic") {
		t.Errorf("log: %s", log)
	}
}

// as sends a request without a body.
func (l *live) as(key, method, base, path string) answer {
	l.t.Helper()
	return l.do(method, "http://"+base+path, "", "Authorization", "Bearer "+key)
}

// throw sends a bad input, and returns the answer: 0 if there is none.
func throw(t *testing.T, to target, in badInput) (status int, body string) {
	conn, err := net.Dial("tcp", to.base)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(await.Patience))
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		in.send(conn, to.Method, to.path)
	}()
	defer func() { conn.Close(); <-sent }()
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: to.Method})
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		t.Errorf("%s %s: %s: the connection is still open", to.Method, to.path, in.name)
	}
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body) // the connection may end with a reset
	return resp.StatusCode, string(data)
}

// watchMemory watches the heap. The function that it returns ends that, and returns the largest size.
func (l *live) watchMemory() (peak func() uint64) {
	var most atomic.Uint64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapInuse))
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return func() uint64 {
		close(done)
		<-ended
		return most.Load()
	}
}

// settles waits until nothing of the requests is left.
func (l *live) settles(t *testing.T, goroutines int) {
	t.Helper()
	l.client.CloseIdleConnections()
	var running, now int
	var bodies int64
	if !await.True(func() bool {
		running, bodies, now = int(l.Running()), l.bodies.Used(), runtime.NumGoroutine()
		return running == 0 && bodies == 0 && now <= goroutines+2
	}) {
		t.Fatalf("%d requests, %d bytes of bodies and %d goroutines (before: %d) are left", running, bodies, now, goroutines)
	}
}

// Each endpoint refuses each wrong key in the same way. With -v the test prints the table.
func TestBadKeys(t *testing.T) {
	l := start(t, words, Options{Authenticator: badKeys{}})
	check := newChecker(t)
	targets := l.targets()
	slices.SortFunc(targets, func(a, b target) int { return strings.Compare(a.Path+" "+a.Method+a.base, b.Path+" "+b.Method+b.base) })
	table := fmt.Sprintf("%-48s%-16s%8s%8s%8s%8s%10s%8s\n", "endpoint", "scope", "none", "wrong", "expired", "revoked", "all but", "other")
	for _, to := range targets {
		row := fmt.Sprintf("%-48s%-16s", to.Method+" "+to.Path, to.Scope)
		other := ScopeContent
		if to.Scope == other {
			other = ScopeBuild
		}
		for i, key := range []string{"", "nonsense", "expired", "revoked", strings.TrimSpace("all but " + to.Scope + " " + to.other), "only " + other} {
			want := 401
			switch {
			case to.Scope == ScopeNone:
				want = 200
			case i >= 4:
				want = 403
			}
			got := l.as(key, to.Method, to.base, to.path)
			row += fmt.Sprintf("%8d", got.status)
			if got.status != want {
				t.Errorf("%s %s with the key %q: %d %s, want %d", to.Method, to.path, key, got.status, got.body, want)
			} else if want != 200 && check.check("GET", "/livez", got.status, got.body) != nil {
				t.Errorf("%s %s with the key %q: no error document: %s", to.Method, to.path, key, got.body)
			}
		}
		table += row + "\n"
	}
	t.Log("all endpoints x wrong keys\n" + table)
}

// With the key of another tenant no endpoint shows or changes what its ids name.
func TestKeyOfAnotherTenant(t *testing.T) {
	const secret = "a secret of the owner"
	l := start(t, words, Options{Authenticator: badKeys{}})
	for path, doc := range map[string]string{
		"/v1/memory/facts": `{"id": "1", "content": "` + secret + `"}`, "/v1/conversations/1/turns": `{"turns": [{"role": "user", "content": "` + secret + `"}]}`,
		"/v1/runs/1/frames": `{"kind": "tool_call", "summary": "` + secret + `"}`,
	} {
		if got := l.api("POST", path, doc, "Authorization", "Bearer owner"); got.status != 201 {
			t.Fatalf("%s: %d %s", path, got.status, got.body)
		}
	}
	source := ingest.Source{Path: "d.md", Reader: strings.NewReader(secret)}
	if _, err := l.app.Ingest(t.Context(), []ingest.Source{source}, ingest.Options{Collection: retrieve.Collection{Tenant: "owner", Name: "1"}}); err != nil {
		t.Fatal(err)
	}
	shown := func(key string) (list []string) {
		for _, to := range l.targets() {
			if to.Method == "GET" && to.base == l.data && strings.Contains(string(l.as(key, "GET", to.base, to.path).body), secret) {
				list = append(list, to.Path)
			}
		}
		slices.Sort(list)
		return list
	}
	before := shown("owner")
	if len(before) < 4 {
		t.Fatalf("the owner sees his texts at %v only", before)
	}
	for _, to := range l.targets() {
		if to.base != l.data || to.Action == "startEval" {
			continue
		}
		for _, body := range []string{"", `{"query": "secret", "content": "x", "kind": "x", "summary": "x", "turns": []}`, `{"query": "secret"}`} {
			got := l.do(to.Method, "http://"+to.base+to.path, body, "Authorization", "Bearer other")
			if strings.Contains(string(got.body), secret) || got.status >= 500 {
				t.Errorf("%s %s with %s: %d %s", to.Method, to.path, body, got.status, got.body)
			}
		}
	}
	if list := shown("other"); list != nil {
		t.Errorf("another tenant sees the texts at %v", list)
	}
	if after := shown("owner"); !slices.Equal(after, before) {
		t.Errorf("the owner sees his texts at %v, before: %v", after, before)
	}
}
