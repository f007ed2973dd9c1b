package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/server/internal/coding"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// upload sends a header and a part of a body, and leaves the connection open.
func upload(t *testing.T, address, key, header string, body string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(await.Patience))
	_, _ = fmt.Fprintf(conn, "POST /v1/builds HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n%s\r\n%s", key, header, body)
	return conn
}

// until waits for something.
func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	if !await.True(done) {
		t.Fatal(what)
	}
}

// A tenant that sends many large bodies and never ends them leaves room for the bodies of others.
func TestBodiesOfOneTenant(t *testing.T) {
	const size = 1 << 20
	l := start(t, words, Options{Authenticator: staticKeys{}, MaxBody: size, MaxBodies: 4 * size})
	half := strings.Repeat(" ", size/2+1)
	for range 6 {
		upload(t, l.data, "a", fmt.Sprintf("Content-Length: %d\r\n", size), half)
	}
	until(t, "the bodies do not come", func() bool { return l.bodies.Used() > size })
	body := `{"query": "q"}` + strings.Repeat(" ", 200_000)
	for range 20 {
		if got := l.api("POST", "/v1/builds", body, "Authorization", "Bearer b"); got.status != 200 {
			t.Fatalf("another tenant: %d %s", got.status, got.body)
		}
		// The body of the other tenant may still count when its answer is there.
		if used := l.bodies.Used(); used > 2*size+2*int64(len(body)) {
			t.Errorf("a tenant has %d of %d bytes, want half at most", used, 4*size)
		}
	}
}

// Nothing is held before the first byte of a body, whatever its header promises; then no more than a small
// multiple of what came.
func TestPromisesHoldNothing(t *testing.T) {
	l := start(t, words, Options{Authenticator: staticKeys{}})
	streaming := func(window int) string {
		var b bytes.Buffer
		w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, strings.Repeat(" ", 4<<20))
		_ = w.Flush()
		return b.String()
	}
	for _, tt := range []struct {
		name, header, body string
		most               int64
	}{
		{"a length", "Content-Length: 67108864\r\n", "", 0}, {"chunks", "Transfer-Encoding: chunked\r\n", "", 0},
		{"gzip", "Content-Encoding: gzip\r\nContent-Length: 1000\r\n", "", 0}, {"zstd", "Content-Encoding: zstd\r\nContent-Length: 1000\r\n", "", 0},
		{"one byte", "Content-Length: 67108864\r\n", " ", firstBuffer}, {"1 MB", "Content-Length: 67108864\r\n", strings.Repeat(" ", 1_000_000), 2_000_000},
		{"33 MB", "Content-Length: 67108864\r\n", strings.Repeat(" ", 33<<20), 34 << 20},
		{"a byte of gzip", "Content-Encoding: gzip\r\nContent-Length: 1000\r\n", "\x1f", coding.GzipState + firstBuffer},
		{"a small window", "Content-Encoding: zstd\r\nContent-Length: 100000\r\n", streaming(1 << 10)[:20], 100_000},
		{"a window of 1 MiB", "Content-Encoding: zstd\r\nContent-Length: 100000\r\n", streaming(1 << 20)[:20], 3 << 20},
	} {
		conn := upload(t, l.data, "a", tt.header, tt.body)
		until(t, tt.name+": the request does not come", func() bool { return l.Running() == 1 })
		if want := int64(len(tt.body)); want > 100 {
			until(t, tt.name+": the body does not come", func() bool { return l.bodies.Used() >= want })
		}
		time.Sleep(20 * time.Millisecond) // what is held too early would show
		if used := l.bodies.Used(); used > tt.most {
			t.Errorf("%s: %d bytes are held, at most %d may be", tt.name, used, tt.most)
		}
		_ = conn.Close()
		until(t, tt.name+": the request does not end", func() bool { return l.Running() == 0 })
		if used := l.bodies.Used(); used != 0 {
			t.Errorf("%s: %d bytes are still counted", tt.name, used)
		}
	}
}

// Bodies of all sizes and codings arrive as they were sent.
func TestBodiesArrive(t *testing.T) {
	l := start(t, words, Options{MaxBody: 5 << 20})
	var got []byte
	if err := l.Mount(Route{Method: "POST", Path: "/body", Action: "body", Scope: ScopeBuild, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, _ = io.ReadAll(r.Body) })}); err != nil {
		t.Fatal(err)
	}
	pattern := make([]byte, 5<<20)
	for i := range pattern {
		pattern[i] = byte(i * i >> 8)
	}
	codings := map[string]func([]byte) []byte{
		"identity": func(b []byte) []byte { return b },
		"gzip": func(b []byte) []byte {
			var out bytes.Buffer
			w := gzip.NewWriter(&out)
			_, _ = w.Write(b)
			_ = w.Close()
			return out.Bytes()
		},
		"zstd": func(b []byte) []byte {
			var out bytes.Buffer
			w, _ := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
			_, _ = w.ReadFrom(io.LimitReader(bytes.NewReader(b), int64(len(b))))
			_ = w.Close()
			return out.Bytes()
		},
		"x-gzip": nil,
	}
	codings["x-gzip"] = codings["gzip"]
	for coding, code := range codings {
		for _, size := range []int{1, 2, 1000, firstBuffer - 1, firstBuffer, firstBuffer + 1, maxStated - 1, maxStated, maxStated + 1, 3*maxStated + 7, 1 << 20, 3<<20 + 5, 5<<20 - 1, 5 << 20} {
			for _, stated := range []bool{true, false} {
				data := code(pattern[:size])
				r, err := http.NewRequest("POST", "http://"+l.data+"/body", bytes.NewReader(data))
				if err != nil {
					t.Fatal(err)
				}
				if r.Header.Set("Content-Encoding", coding); !stated {
					r.ContentLength, r.Body = -1, io.NopCloser(bytes.NewReader(data))
				}
				resp, err := l.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				large := len(data) > 5<<20 // what does not compress
				if !large && (resp.StatusCode != 200 || !bytes.Equal(got, pattern[:size])) || large && resp.StatusCode != 413 {
					t.Errorf("%s, %d bytes, stated %v: status %d, %d bytes arrive", coding, size, stated, resp.StatusCode, len(got))
				}
			}
		}
	}
	if got := l.do("POST", "http://"+l.data+"/body", string(pattern)+"x"); got.status != 413 {
		t.Errorf("a byte too many: %d", got.status)
	}
	if used := l.bodies.Used(); used != 0 {
		t.Errorf("%d bytes are still counted", used)
	}
}

// A body of max_body takes less than three times its size, and several at the same time little more than
// they have: they are joined one at a time.
func TestMemoryOfBodies(t *testing.T) {
	const size = 32 << 20
	l := start(t, words, Options{MaxBody: size, MaxBodies: 4 * size})
	if err := l.Mount(Route{Method: "POST", Path: "/body", Action: "body", Scope: ScopeBuild, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	body := strings.Repeat("x", size)
	if got := l.do("POST", "http://"+l.data+"/body", body); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	runtime.ReadMemStats(&after)
	if took := int64(after.TotalAlloc-before.TotalAlloc) - size; took > 5*size/2 { // without the body of the test
		t.Errorf("a body of %d MiB takes %d MiB", size>>20, took>>20)
	}
}

// A body that stops is refused after the time in which the next bytes should have come, however many came
// before; one that comes at the least rate arrives.
func TestPaceOfBodies(t *testing.T) {
	l := start(t, words, Options{MinRate: 10_000, ClientTimeout: time.Minute})
	l.paceTime = 100 * time.Millisecond // 1000 bytes
	for name, header := range map[string]string{"length": "Content-Length: 2000000\r\n", "gzip": "Content-Encoding: gzip\r\nContent-Length: 1000\r\n", "zstd": "Content-Encoding: zstd\r\nContent-Length: 1000\r\n"} {
		body := strings.Repeat(" ", 1_000_000)
		if name != "length" {
			body = "\x1f\x8b"
		}
		got, _ := io.ReadAll(upload(t, l.data, "", header, body))
		if !strings.HasPrefix(string(got), "HTTP/1.1 408 ") || !strings.Contains(string(got), "less than 10000 bytes of the body came within a second") {
			t.Errorf("%s: %.300s", name, got)
		}
	}
	for _, line := range []string{"GET /v1/evals", "POST /nowhere"} {
		got := raw(t, l.data, line+" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
		if !strings.HasPrefix(got, "HTTP/1.1 4") {
			t.Errorf("%s with a body that does not come: %.100s", line, got)
		}
	}
	l.paceTime = 20 * time.Second
	doc := `{"query": "q"}` + strings.Repeat(" ", 30_000)
	conn := upload(t, l.data, "", fmt.Sprintf("Connection: close\r\nContent-Length: %d\r\n", len(doc)), "")
	for i := 0; i < len(doc); i += 3000 {
		_, _ = io.WriteString(conn, doc[i:min(i+3000, len(doc))])
		time.Sleep(10 * time.Millisecond)
	}
	if got, _ := io.ReadAll(conn); !strings.HasPrefix(string(got), "HTTP/1.1 200 ") {
		t.Errorf("a slow body: %.300s", got)
	}
}

// A request whose body does not come ends at its deadline.
func TestDeadlineOfBodies(t *testing.T) {
	l := start(t, words, Options{})
	for _, header := range []string{"Content-Length: 100\r\n", "Content-Encoding: gzip\r\nContent-Length: 100\r\n", "Transfer-Encoding: chunked\r\n"} {
		began := time.Now()
		got, _ := io.ReadAll(upload(t, l.data, "", "X-Request-Timeout: 100ms\r\n"+header, ""))
		if !strings.HasPrefix(string(got), "HTTP/1.1 504 ") || time.Since(began) > await.Patience {
			t.Errorf("%s: %.300s after %v", header, got, time.Since(began))
		}
	}
}

// entrance refuses requests before their body, and counts those that get a place.
type entrance struct {
	countingAdmission
	entered []Cost
	full    bool
}

func (e *entrance) Enter(p Principal, c Cost) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.entered = append(e.entered, c)
	if e.full {
		return &Refusal{Status: http.StatusTooManyRequests, Reason: "quota_exceeded", Message: "too many requests"}
	}
	if p.Tenant == "tenant-b" {
		return errors.New("secret detail")
	}
	return nil
}

// A request counts before its body is read, and gets a place after that.
func TestRequestsCountBeforeTheirBody(t *testing.T) {
	e := &entrance{}
	l := start(t, words, Options{Authenticator: staticKeys{}, Admission: e})
	count := func() (entered, admitted int) {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.entered), len(e.admitted)
	}
	conn := upload(t, l.data, "a", "Content-Length: 100\r\n", "{")
	until(t, "the request does not count", func() bool { n, _ := count(); return n == 1 })
	if _, n := count(); n != 0 || e.entered[0].Bytes != 0 || e.entered[0].Action != "build" {
		t.Errorf("%d requests have a place; %+v", n, e.entered[0])
	}
	_ = conn.Close()
	until(t, "the request does not end", func() bool { return l.Running() == 0 })
	if got := l.api("POST", "/v1/builds", `{"query": "q"}`, "Authorization", "Bearer b"); got.status != 503 || strings.Contains(string(got.body), "secret detail") {
		t.Errorf("%d %s", got.status, got.body)
	}
	e.full = true
	got, _ := io.ReadAll(upload(t, l.data, "a", "Content-Length: 100\r\n", "")) // which waits for no body
	if !strings.HasPrefix(string(got), "HTTP/1.1 429 ") {
		t.Errorf("%.300s", got)
	}
	if _, n := count(); n != 0 {
		t.Errorf("%d requests have a place", n)
	}
}

// Forms that are made to cost much are refused, and cost a small multiple of their size.
func TestHostileForms(t *testing.T) {
	const size = 8 << 20
	l := start(t, words, Options{MaxBody: size})
	part := func(header, data string) string { return "--b\r\n" + header + "\r\n\r\n" + data + "\r\n" }
	named := func(name string) string { return `Content-Disposition: form-data; name="` + name + `"` }
	fill := func(one string) string { return strings.Repeat(one, (size-1000)/len(one)) }
	send := func(body string) (answer, time.Duration) {
		began := time.Now()
		got := l.api("POST", "/v1/evals", body, "Content-Type", "multipart/form-data; boundary=b")
		return got, time.Since(began)
	}
	noEnd := part(named("corpus"), fill("x"))
	plain := time.Hour
	for range 3 {
		_, took := send(noEnd)
		plain = min(plain, took)
	}
	for name, body := range map[string]string{
		"many parts":           fill(part(named("corpus"), "")),
		"parts without a name": fill(part("A: b", "")),
		"a large header":       part(named("corpus")+"\r\nA: "+fill("x"), "") + "--b--",
		"many fields":          part(named("corpus")+fill("\r\na: b"), "") + "--b--",
		"long fields":          part(named("corpus")+fill("\r\nContent-Disposition: form-data; name=\"corpus\""), "") + "--b--",
		"many parameters":      part(named("corpus")+fill("; a=b"), "") + "--b--",
		"continuations":        part(`Content-Disposition: form-data; name="corpus"`+fill(`; a*1=b`), "") + "--b--",
		"a large name":         part(named(fill("x")), "") + "--b--",
		"near boundaries":      part(named("corpus"), fill("\r\n--")) + "--b--",
		"near boundaries, too": part(named("corpus"), fill("\r\n--a")) + "--b--",
		"a preamble":           fill("-\n") + part(named("corpus"), "") + "--b--",
		"no end":               noEnd,
		"spaces":               part(named("corpus"), "") + "--b" + fill(" "),
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		got, took := send(body)
		runtime.ReadMemStats(&after)
		if got.status < 400 || got.status >= 500 || len(got.body) > 10_000 {
			t.Errorf("%s: %d %.300s", name, got.status, got.body)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 10*size {
			t.Errorf("%s: %d MB of memory for %d MB", name, allocated>>20, len(body)>>20)
		}
		for try := 0; took > 50*plain && try < 5; try++ { // what else the machine does may hit one request alone
			_, again := send(body)
			took = min(took, again)
		}
		if took > 50*plain {
			t.Errorf("%s: %v for %d MB, and %v for a plain text of this size", name, took, len(body)>>20, plain)
		}
	}
	if used := l.bodies.Used(); used != 0 {
		t.Errorf("%d bytes are still counted", used)
	}
}

// The parts of a form are what was sent, and their memory counts as long as the evaluation runs.
func TestPartsOfForms(t *testing.T) {
	parts := map[string]string{"corpus": strings.Repeat("c", 3000), "queries": "", "qrels": strings.Repeat("\r\n--", 900), "options": "{}"}
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, data := range parts {
		p, _ := w.CreateFormFile(name, name)
		_, _ = io.WriteString(p, data)
	}
	_ = w.Close()
	s := newServer(t, words, Options{})
	c := &call{s: s, r: &http.Request{Header: http.Header{"Content-Type": {w.FormDataContentType()}}}, body: b.Bytes()}
	got, err := c.form("corpus", "queries", "qrels", "options")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range parts {
		if got[name] == nil || string(got[name]) != data {
			t.Errorf("%s: %d bytes", name, len(got[name]))
		}
	}
	if c.body != nil || s.bodies.Used() != 0 {
		t.Errorf("%d bytes of a body, %d counted", len(c.body), s.bodies.Used())
	}
}

// An answer has to be taken in the end, however slowly it is read.
func TestAnswersEnd(t *testing.T) {
	l := start(t, words, Options{ClientTimeout: time.Second, MaxTimeout: 400 * time.Millisecond})
	large := make([]byte, 64<<20)
	if err := l.Mount(Route{Method: "GET", Path: "/large", Action: "large", Scope: ScopeNone, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(large) })}); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", l.data)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
	var reading sync.WaitGroup
	var read atomic.Int64
	reading.Go(func() { // each piece in time, all of them not
		for piece := make([]byte, 128<<10); ; time.Sleep(20 * time.Millisecond) {
			n, err := io.ReadFull(conn, piece)
			if read.Add(int64(n)); err != nil {
				return
			}
		}
	})
	until(t, "the request does not come", func() bool { return l.Running() == 1 })
	until(t, "the answer does not end", func() bool { return l.Running() == 0 })
	if n := read.Load(); n > int64(len(large)/2) { // which takes 10 seconds at this speed
		t.Errorf("the answer ends when %d bytes of it are read", n)
	}
	_ = conn.Close()
	reading.Wait()
}
