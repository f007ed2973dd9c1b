package server

import (
	"bytes"
	"context"
	"encoding/json"
	"github.com/anchor-host/anchor-host/server/internal/jobs"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newServer returns a server with a configuration, and a store in a file.
func newServer(t testing.TB, yaml string, o Options) *Server {
	t.Helper()
	return newServerWith(t, yaml, anchor.Options{}, o)
}

// newServerWith is newServer with further options of the App, such as another store.
func newServerWith(t testing.TB, yaml string, ao anchor.Options, o Options) *Server {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "anchor.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}
	if ao.CacheDir == "" {
		ao.CacheDir = "off"
	}
	if ao.Overrides == nil {
		ao.Overrides = map[string]string{"store.path": filepath.Join(dir, "store.db"), "store.synchronous": "normal"}
	}
	app, err := anchor.Load(path, ao)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(app, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if err := app.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// live is a server that listens.
type live struct {
	*Server
	t           testing.TB
	data, admin string // addresses
	client      *http.Client
	// end ends it as a signal does, and ended is its error.
	end   context.CancelFunc
	ended chan error
	log   *logBuffer
}

// logBuffer collects log lines.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start starts a server on free ports, and ends it with the test.
func start(t testing.TB, yaml string, o Options) *live {
	t.Helper()
	return startWith(t, yaml, anchor.Options{}, o)
}

// startWith is start with further options of the App.
func startWith(t testing.TB, yaml string, ao anchor.Options, o Options) *live {
	t.Helper()
	l := &live{t: t, log: &logBuffer{}, ended: make(chan error, 1)}
	listening := make(chan struct{})
	o.Listen, o.AdminListen = "127.0.0.1:0", "127.0.0.1:0"
	o.Logger = slog.New(slog.NewTextHandler(l.log, nil))
	if o.DrainDelay == 0 {
		o.DrainDelay = -1
	}
	o.OnListen = func(data, admin net.Addr) {
		l.data, l.admin = data.String(), admin.String()
		close(listening)
	}
	l.Server = newServerWith(t, yaml, ao, o)
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	l.client = &http.Client{Transport: transport, Timeout: await.Patience}
	ctx, cancel := context.WithCancel(context.Background())
	l.end = cancel
	go func() { l.ended <- l.Run(ctx) }()
	select {
	case <-listening:
	case err := <-l.ended:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		transport.CloseIdleConnections()
		select {
		case err := <-l.ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(await.Patience):
			t.Error("the server does not end")
		}
	})
	return l
}

// stop ends the server and waits.
func (l *live) stop() error {
	l.end()
	err := <-l.ended
	l.ended <- nil // for the cleanup
	return err
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request. A body that is not empty is JSON, unless the header says otherwise.
func (l *live) do(method, url, body string, header ...string) answer {
	l.t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		l.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := l.client.Do(r)
	if err != nil {
		l.t.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		l.t.Fatalf("%s %s: %v", method, url, err)
	}
	return answer{resp.StatusCode, resp.Header, data}
}

// api sends a request to the API.
func (l *live) api(method, path, body string, header ...string) answer {
	l.t.Helper()
	return l.do(method, "http://"+l.data+path, body, header...)
}

// control sends a request to the admin listener.
func (l *live) control(method, path, body string) answer {
	l.t.Helper()
	return l.do(method, "http://"+l.admin+path, body)
}

// awaitJob asks for an evaluation until it has ended, and returns the last answer.
func (l *live) awaitJob(id string) (got answer, doc jobs.Doc) {
	l.t.Helper()
	ended := await.True(func() bool {
		got, doc = l.api("GET", "/v1/evals/"+id, ""), jobs.Doc{}
		got.into(l.t, &doc)
		return doc.State != jobs.Running
	})
	if !ended {
		l.t.Fatalf("the evaluation does not end: %s", got.body)
	}
	return got, doc
}

// reason returns the reason of an error document.
func (a answer) reason() string {
	var doc struct {
		Error struct{ Reason string }
	}
	_ = json.Unmarshal(a.body, &doc)
	return doc.Error.Reason
}

// into decodes the answer.
func (a answer) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
}
