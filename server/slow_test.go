package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

// onePlace lets one request run at a time.
type onePlace chan struct{}

func (p onePlace) Admit(ctx context.Context, _ Principal, _ Cost) (func(Usage), error) {
	select {
	case p <- struct{}{}:
		return func(Usage) { <-p }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// byHeader takes the tenant from a header, for tests.
type byHeader struct{}

func (byHeader) Authenticate(r *http.Request) (Principal, error) {
	return Principal{Tenant: r.Header.Get("Tenant"), Scopes: []string{ScopeBuild}}, nil
}

// largeBuild is a request whose answer is larger than what the system keeps of a connection.
func largeBuild() string {
	var b strings.Builder
	b.WriteString(`{"query": "q", "window": {"max_tokens": 1000000}, "counting": {"tokenizer": "words"}, "items": [`)
	for i := range 40 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id": "%d", "source": "retrieval", "content": "%s"}`, i, strings.Repeat("x", 100_000))
	}
	b.WriteString("]}")
	return b.String()
}

// readSlowly sends a request for a build, and does not read the answer. It returns the connection
// when the answer has begun.
func readSlowly(t *testing.T, address, tenant, accept, body string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	_, err = fmt.Fprintf(conn, "POST /v1/builds HTTP/1.1\r\nHost: localhost\r\nTenant: %s\r\nAccept: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", tenant, accept, len(body), body)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(await.Patience))
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// Clients that do not read their answers do not stop others, whatever form the answers have.
func TestSlowReadersHoldNoPlace(t *testing.T) {
	t.Parallel()
	for _, accept := range []string{"application/json", "text/event-stream"} {
		t.Run(accept, func(t *testing.T) {
			l := start(t, "counting: {tokenizer: words}\n", Options{Unwatched: true, Admission: make(onePlace, 1), Authenticator: byHeader{}, ClientTimeout: await.Patience, DrainTimeout: time.Millisecond})
			large := largeBuild()
			for range 4 {
				readSlowly(t, l.data, "slow", accept, large)
			}
			for range 3 {
				if a := l.api("POST", "/v1/builds", `{"query": "q"}`); a.status != http.StatusOK {
					t.Fatalf("%d %s", a.status, a.body)
				}
			}
			if l.answers.Used() == 0 {
				t.Fatal("no answer waits: the clients are not slow enough")
			}
		})
	}
}

// Answers that wait are bounded for each tenant. Other tenants have room, and the tenant has it again
// when its clients are gone.
func TestWaitingAnswersAreBounded(t *testing.T) {
	t.Parallel()
	large := largeBuild()
	l := start(t, "counting: {tokenizer: words}\n", Options{
		Unwatched: true, Authenticator: byHeader{}, ClientTimeout: await.Patience, DrainTimeout: time.Millisecond,
		MaxBody: int64(len(large)), MaxBodies: 5 * int64(len(large)),
	})
	refused := func(tenant, accept string) answer {
		return l.api("POST", "/v1/builds", large, "Tenant", tenant, "Accept", accept)
	}
	slow := readSlowly(t, l.data, "slow", "application/json", large) // its answer has twice the size of the request
	if a := refused("slow", "application/json"); a.status != http.StatusServiceUnavailable || a.reason() != "busy" || a.header.Get("Retry-After") == "" {
		t.Errorf("%d %.300s", a.status, a.body)
	}
	if a := refused("slow", "text/event-stream"); !strings.Contains(string(a.body), "event: error") || !strings.Contains(string(a.body), `"status":503`) {
		t.Errorf("%d %.300s", a.status, a.body)
	}
	if a := refused("other", "application/json"); a.status != http.StatusOK {
		t.Errorf("%d %.300s", a.status, a.body)
	}
	_ = slow.Close()
	empty := func() bool { return l.answers.Used() == 0 }
	if !await.True(empty) {
		t.Error("the answer of a client that is gone still counts")
	}
	if a := refused("slow", "application/json"); a.status != http.StatusOK {
		t.Errorf("when its client is gone: %d %.300s", a.status, a.body)
	}
	if !await.True(empty) {
		t.Error("answers still count that nobody waits for")
	}
}

// At the end of the service a client that sends its body slowly is told so, and holds nothing up.
func TestSlowBodiesAreCut(t *testing.T) {
	l := start(t, "counting: {tokenizer: words}\n", Options{Unwatched: true, ClientTimeout: await.Patience, DrainTimeout: 100 * time.Millisecond})
	conn, err := net.Dial("tcp", l.data)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /v1/builds HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	if !await.True(func() bool { return l.Running() > 0 }) {
		t.Fatal("the request does not run")
	}
	l.end()
	_ = conn.SetReadDeadline(time.Now().Add(await.Patience))
	got, _ := io.ReadAll(conn)
	if !strings.HasPrefix(string(got), "HTTP/1.1 503") || !strings.Contains(string(got), `"draining"`) {
		t.Errorf("answer %q", got)
	}
}
