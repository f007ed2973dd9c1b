package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

// target is one endpoint with a path for it.
type target struct {
	*endpoint
	base, path string
}

// targets are all endpoints of a server but the profiles.
func (l *live) targets() (list []target) {
	for base, table := range map[string]*table{l.data: l.Server.data, l.admin: l.Server.admin} {
		for path, methods := range table.paths {
			for _, e := range methods {
				if !strings.HasPrefix(path, "/debug/") {
					list = append(list, target{e, base, pathParam.ReplaceAllString(path, "1")})
				}
			}
		}
	}
	if len(list) < 25 {
		l.t.Fatalf("%d endpoints, want all", len(list))
	}
	return list
}

// Every endpoint refuses what is not meant for it, with an error document, and goes on.
func TestHostileRequests(t *testing.T) {
	l := start(t, words, Options{MaxBody: 10_000})
	check := newChecker(t)
	deep := strings.Repeat("[", 9000)
	for _, target := range l.targets() {
		url := "http://" + target.base + target.path
		for _, tt := range []struct {
			name, method, suffix, body string
			header                     []string
			want                       map[bodyKind]int // by the body of the endpoint
		}{
			{"wrong type", target.Method, "", "x", []string{"Content-Type", "text/plain"}, map[bodyKind]int{jsonBody: 415, formBody: 415, noBody: 400}},
			{"charset", target.Method, "", "{}", []string{"Content-Type", "application/json; charset=latin1"}, map[bodyKind]int{jsonBody: 415, formBody: 415, noBody: 400}},
			{"unknown member", target.Method, "", `{"unheard": 1}`, nil, map[bodyKind]int{jsonBody: 422, formBody: 415, noBody: 400}},
			{"too large", target.Method, "", strings.Repeat(" ", 20_000), nil, map[bodyKind]int{jsonBody: 413, formBody: 415, noBody: 400}},
			{"half", target.Method, "", `{"a": [`, nil, map[bodyKind]int{jsonBody: 400, formBody: 415, noBody: 400}},
			{"deep", target.Method, "", deep, nil, map[bodyKind]int{jsonBody: 400, formBody: 415, noBody: 400}},
			{"deep and closed", target.Method, "", deep[:4900] + strings.Repeat("]", 4900), nil, map[bodyKind]int{jsonBody: 422, formBody: 415, noBody: 400}},
			{"bad gzip", target.Method, "", "{}", []string{"Content-Encoding", "gzip"}, map[bodyKind]int{jsonBody: 400, formBody: 415, noBody: 400}},
			{"unknown parameter", target.Method, "?unheard=1", "", nil, map[bodyKind]int{jsonBody: 400, formBody: 400, noBody: 400}},
			{"bad timeout", target.Method, "?timeout=x", "", nil, map[bodyKind]int{jsonBody: 400, formBody: 400, noBody: 400}},
			{"bad query", target.Method, "?a=%zz", "", nil, map[bodyKind]int{jsonBody: 400, formBody: 400, noBody: 400}},
			{"other method", "PATCH", "", "", nil, map[bodyKind]int{jsonBody: 405, formBody: 405, noBody: 405}},
			{"dots", target.Method, "/../../etc", "", nil, map[bodyKind]int{jsonBody: 404, formBody: 404, noBody: 404}},
			{"escaped dots", target.Method, "/%2e%2e/x", "", nil, map[bodyKind]int{jsonBody: 404, formBody: 404, noBody: 404}},
			{"empty segment", target.Method, "//", "", nil, map[bodyKind]int{jsonBody: 404, formBody: 404, noBody: 404}},
			{"null byte", target.Method, "%00", "", nil, nil},
		} {
			got := l.do(tt.method, url+tt.suffix, tt.body, tt.header...)
			name := fmt.Sprintf("%s %s: %s", target.Method, target.path, tt.name)
			if target.body == uploadBody && tt.want != nil {
				tt.want[uploadBody] = tt.want[noBody]
				if tt.suffix == "" && tt.method == target.Method {
					tt.want[uploadBody] = 422 // nothing names what is sent
				}
			}
			if want := tt.want[target.body]; tt.want != nil && got.status != want {
				t.Errorf("%s: status %d, want %d: %.300s", name, got.status, want, got.body)
			}
			if got.status < 400 || got.status >= 500 {
				if tt.want != nil || got.status >= 500 {
					t.Errorf("%s: status %d", name, got.status)
				}
				continue
			}
			if err := check.check("GET", "/livez", got.status, got.body); err != nil { // an error document
				t.Errorf("%s: %v: %.300s", name, err, got.body)
			}
		}
	}
	if used := l.bodies.Used(); used != 0 {
		t.Errorf("%d bytes of bodies are still counted", used)
	}
	if got := l.api("GET", "/livez", ""); got.status != 200 {
		t.Errorf("afterwards: %d", got.status)
	}
}

// raw sends bytes and returns what comes back until the server closes the connection.
func raw(t *testing.T, address, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(await.Patience))
	_, _ = io.WriteString(conn, text)
	data, err := io.ReadAll(conn) // a server that hangs up on what it has not read ends in an error too
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection stayed open for %v", await.Patience)
	}
	return string(data)
}

// Clients that are slow, or say more than they may, lose their connection.
func TestSlowAndLargeClients(t *testing.T) {
	t.Parallel()
	l := start(t, words, Options{ClientTimeout: time.Second, IdleTimeout: time.Second, MaxBody: 10_000})
	many := "GET /livez HTTP/1.1\r\nHost: localhost\r\n"
	for i := range 10_000 {
		many += fmt.Sprintf("X-%d: 1\r\n", i)
	}
	several := "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + strings.Repeat("A: 1\r\n", 300) + "\r\n"
	head := "POST /v1/builds HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	var clients sync.WaitGroup
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"half a header", "POST /v1/builds HTTP/1.1\r\nHost: local", ""},
		{"half a body", head + "Content-Length: 100\r\n\r\n{", " 408 "},
		{"half a chunk", head + "Transfer-Encoding: chunked\r\n\r\n5\r\n{", " 408 "},
		{"no body", head + "Content-Length: 100\r\n\r\n", " 408 "},
		{"a body for nobody", "POST /nowhere HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n", " 404 "},
		{"a large length", head + "Content-Length: 99999999999\r\n\r\n", " 413 "},
		{"an endless body", head + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("ff\r\n"+strings.Repeat(" ", 255)+"\r\n", 100), " 413 "},
		{"10,000 fields", many + "\r\n", " 431 "},
		{"300 fields", several, " 431 "},
		{"no HTTP", "\x16\x03\x01\x02\x00", " 400 "},
		{"two lengths", head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}", " 400 "},
		{"length and chunks", head + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ""},
		{"another host", "GET /v1/evals HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", " 403 "},
		{"a page of another site", strings.Replace(head, "\r\n", "\r\nOrigin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\nConnection: close\r\n", 1) + "Content-Length: 2\r\n\r\n{}", " 403 "},
	} {
		clients.Go(func() {
			line, _, _ := strings.Cut(raw(t, l.data, tt.text), "\r\n")
			for try := 0; line == "" && tt.want != "" && try < 20; try++ { // the machine was too slow for the time limits
				line, _, _ = strings.Cut(raw(t, l.data, tt.text), "\r\n")
			}
			if !strings.Contains(line, tt.want) {
				t.Errorf("%s: %q, want%s", tt.name, line, tt.want)
			}
		})
	}
	clients.Wait()
	if used := l.bodies.Used(); used != 0 {
		t.Errorf("%d bytes of bodies are still counted", used)
	}
}

// A client that sends a byte now and then is cut off in time, and others are served meanwhile.
func TestSlowLoris(t *testing.T) {
	t.Parallel()
	l := start(t, words, Options{ClientTimeout: time.Second})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			conn, err := net.Dial("tcp", l.data)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "POST /v1/builds HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
			for end := time.Now().Add(await.Patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				if _, err := io.WriteString(conn, " "); err != nil {
					return
				}
			}
			t.Error("the connection is still open")
		})
	}
	for range 20 {
		if got := l.api("POST", "/v1/builds", `{"query": "q", "counting": {"tokenizer": "words"}}`); got.status != 200 {
			t.Errorf("beside slow clients: %d", got.status)
		}
	}
	wg.Wait()
}

// A client that does not read an answer is cut off, also in a stream.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	prompts := strings.Repeat(", {content: "+strings.Repeat("x", 200_000)+"}", 18)
	sent := make(chan int64, 1)
	l := start(t, "counting: {tokenizer: words}\npipelines: {p: {window: {system_prompts: ["+prompts[2:]+"]}}}\n", Options{
		ClientTimeout: time.Second, Authenticator: byHeader{}, Observers: []Observer{{
			OnRequest: func(ctx context.Context, _ *RequestInfo) (context.Context, func(*RequestInfo, Usage, error)) {
				return ctx, func(_ *RequestInfo, u Usage, _ error) { sent <- u.Bytes }
			},
		}},
	})
	for _, accept := range []string{"application/json", "text/event-stream"} {
		l.api("POST", "/v1/builds", `{"query": "q", "pipeline": "p"}`, "Accept", accept)
		whole := <-sent
		conn := readSlowly(t, l.data, "slow", accept, `{"query": "q", "pipeline": "p"}`)
		select {
		case some := <-sent:
			if some >= whole {
				t.Errorf("%s: all %d bytes of the answer went out, want that the client is cut off before", accept, whole)
			}
		case <-time.After(await.Patience):
			t.Fatalf("%s: the request still runs", accept)
		}
		_ = conn.Close()
	}
}

// More bodies than may be in memory are refused, and the memory is given back.
func TestBodiesInMemory(t *testing.T) {
	l := start(t, words, Options{MaxBody: 100_000, MaxBodies: 200_000, ClientTimeout: await.Patience})
	half := "POST /v1/builds HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99000\r\n\r\n" + strings.Repeat(" ", 98_000)
	conn, err := net.Dial("tcp", l.data)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, half)
	if !await.True(func() bool { return l.bodies.Used() >= 98_000 }) {
		t.Fatalf("%d bytes of the body are counted, want 98,000", l.bodies.Used())
	}
	doc := `{"query": "q", "counting": {"tokenizer": "words"}}` + strings.Repeat(" ", 80_000)
	if got := l.api("POST", "/v1/builds", doc); got.status != 503 || got.reason() != "busy" || got.header.Get("Retry-After") == "" {
		t.Errorf("beside a large body: %d %s", got.status, got.body)
	}
	_ = conn.Close()
	if !await.True(func() bool { return l.bodies.Used() == 0 }) {
		t.Fatalf("%d bytes of the body still count when its client is gone", l.bodies.Used())
	}
	if got := l.api("POST", "/v1/builds", doc); got.status != 200 {
		t.Errorf("afterwards: %d %s", got.status, got.body)
	}
}

// What the values of a request take counts as its bytes do, before it is taken: a short body may have
// many. A request alone is served, however many it has.
func TestValuesInMemory(t *testing.T) {
	l := start(t, words, Options{MaxBody: 1_000_000, MaxBodies: 8_000_000})
	numbers := strings.Repeat("1,", 20_000) + "1" // 40 kB, which take 5 MB
	others := int64(3_000_000)
	for path, doc := range map[string]string{
		"/v1/builds":        `{"query": {"query_str": "q", "metadata": {"a": [` + numbers + `]}}, "counting": {"tokenizer": "words"}}`,
		"/v1/assemble":      `{"state": {"data": {"a": [` + numbers + `]}}}`,
		"/v1/memory/facts":  `{"content": "x", "metadata": {"a": [` + numbers + `]}}`,
		"/v1/memory/search": `{"query": "q", "tags": [` + numbers + `]}`,
	} {
		if got := l.api("POST", path, doc); got.status == 503 {
			t.Errorf("%s alone: %d %.200s", path, got.status, got.body)
		}
		if !await.True(func() bool { return l.bodies.Used() == 0 }) || !l.bodies.Take("", others) {
			t.Fatalf("%s: %d bytes count after the request", path, l.bodies.Used())
		}
		if got := l.api("POST", path, doc); got.status != 503 || got.reason() != "busy" || got.header.Get("Retry-After") == "" {
			t.Errorf("%s beside other requests of the tenant: %d %.200s", path, got.status, got.body)
		}
		await.True(func() bool { return l.bodies.Used() == others })
		text := strings.Replace(doc, numbers, strings.Repeat(" ", len(numbers)), 1)
		if got := l.api("POST", path, text); got.status == 503 {
			t.Errorf("%s with as many bytes and few values: %d %.200s", path, got.status, got.body)
		}
		l.bodies.Give("", others)
		if !await.True(func() bool { return l.bodies.Used() == 0 }) {
			t.Errorf("%s: %d bytes count after all requests", path, l.bodies.Used())
		}
	}
}

// startSlow starts a server with an endpoint /slow, whose requests run until they are cancelled. A
// channel has a value when one has begun, the other what its observers are told at its end.
func startSlow(t *testing.T, longest time.Duration) (l *live, begun chan struct{}, ended chan error) {
	t.Helper()
	begun, ended = make(chan struct{}, 1), make(chan error, 1)
	l = start(t, words, Options{MaxTimeout: longest, Observers: []Observer{{
		OnRequest: func(ctx context.Context, _ *RequestInfo) (context.Context, func(*RequestInfo, Usage, error)) {
			return ctx, func(r *RequestInfo, u Usage, err error) {
				if r.Action == "slow" {
					ended <- fmt.Errorf("%d: %w", u.Status, err)
				}
			}
		},
	}}})
	err := l.Server.data.add(endpoint{Route: Route{Method: "POST", Path: "/slow", Action: "slow", Scope: ScopeBuild}, body: jsonBody, serve: func(c *call) (any, error) {
		begun <- struct{}{}
		<-c.ctx.Done()
		return nil, c.ctx.Err()
	}})
	if err != nil {
		t.Fatal(err)
	}
	return l, begun, ended
}

// A client that waits only so long gets 504.
func TestTimeoutsOfRequests(t *testing.T) {
	t.Parallel()
	l, begun, ended := startSlow(t, 300*time.Millisecond)
	for _, tt := range []struct {
		path   string
		header []string
	}{
		{"/slow?timeout=50ms", nil}, {"/slow", []string{"X-Request-Timeout", "50ms"}}, {"/slow?timeout=1h", []string{"X-Request-Timeout", "50ms"}}, {"/slow?timeout=1h", nil},
	} {
		got := l.api("POST", tt.path, "{}", tt.header...)
		if got.status != 504 || got.reason() != "timeout" {
			t.Errorf("%s %v: %d %s, want 504 and timeout", tt.path, tt.header, got.status, got.body)
		}
		if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: the observer is told %v, want that the time is over", tt.path, err)
		}
		<-begun
	}
}

// A client that goes away cancels its build.
func TestCancelledRequests(t *testing.T) {
	l, begun, ended := startSlow(t, time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, "POST", "http://"+l.data+"/slow", strings.NewReader("{}"))
	r.Header.Set("Content-Type", "application/json")
	go func() {
		<-begun
		cancel()
	}()
	if resp, err := l.client.Do(r); err == nil {
		resp.Body.Close()
		t.Error("a cancelled request has an answer")
	}
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "499") {
			t.Errorf("client gone: %v", err)
		}
	case <-time.After(await.Patience):
		t.Error("the request runs on though its client is gone")
	}
}

// A request that panics answers 500, and the server goes on.
func TestPanic(t *testing.T) {
	l := start(t, words, Options{})
	if err := l.Mount(Route{Method: "GET", Path: "/panic", Action: "panic", Scope: ScopeNone, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("secret") })}); err != nil {
		t.Fatal(err)
	}
	got := l.api("GET", "/panic", "")
	if got.status != 500 || strings.Contains(string(got.body), "secret") {
		t.Errorf("%d %s", got.status, got.body)
	}
	if log := l.log.String(); !strings.Contains(log, "secret") || !strings.Contains(log, "hostile_test.go") {
		t.Errorf("log: %s", log)
	}
}

// The limits of answers hold in streams: events come in order, and a broken build ends with an
// error of the status that it would have had.
func TestStream(t *testing.T) {
	l := start(t, words+"steps: [{name: s, use: sort}]\npipelines: {p: {steps: [{name: one, use: sort}, {name: two, use: top_k, top_k: 1}]}}\n", Options{})
	events := func(doc string) (list []string, last string, status int) {
		got := l.api("POST", "/v1/builds", doc, "Accept", "text/event-stream, application/json;q=0.5")
		scan := bufio.NewScanner(strings.NewReader(string(got.body)))
		scan.Buffer(nil, 1<<20)
		for scan.Scan() {
			if name, ok := strings.CutPrefix(scan.Text(), "event: "); ok {
				list = append(list, name)
			}
			if data, ok := strings.CutPrefix(scan.Text(), "data: "); ok {
				if last = data; !json.Valid([]byte(data)) {
					t.Errorf("data of an event is no JSON: %s", data)
				}
			}
		}
		return list, last, got.status
	}
	list, last, status := events(`{"query": "q", "pipeline": "p", "items": [{"content": "a\nb", "source": "retrieval"}]}`)
	want := "build.started step.started step.finished step.started step.finished step.started step.finished result"
	if strings.Join(list, " ") != want || status != 200 || !strings.Contains(last, `"a\nb"`) {
		t.Errorf("events %v, last %s", list, last)
	}
	if list, _, status := events(`{"query": 7}`); status != 422 || list != nil {
		t.Errorf("a refused request: %d %v", status, list)
	}
	list, last, status = events(`{"query": "q", "counting": {"tokenizer": "words"}, "window": {"max_tokens": 3, "answer": 5, "include_query": false}}`)
	if status == 200 && list[len(list)-1] != "error" {
		t.Errorf("a build without room: %d %v %s", status, list, last)
	}
}
