package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/server/keys"
)

// pipe serves one client that writes whatever it likes.
type pipe struct {
	in   *io.PipeWriter
	out  *bufio.Reader
	done chan error
}

func newPipe(t testing.TB, s *Server) *pipe {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	p := &pipe{toServer, bufio.NewReader(fromServer), make(chan error, 1)}
	go func() {
		p.done <- s.Serve(t.Context(), in, out)
		_ = out.Close()
	}()
	t.Cleanup(func() {
		_ = toServer.Close()
		_, _ = io.Copy(io.Discard, p.out)
	})
	return p
}

// say writes a line; the server may end while it reads.
func (p *pipe) say(line string) { _, _ = io.WriteString(p.in, line+"\n") }

// answers returns the answer with an ID. Others are passed over.
func (p *pipe) answer(t *testing.T, id int) (result, problem json.RawMessage) {
	t.Helper()
	for {
		line, err := p.out.ReadBytes('\n')
		if err != nil {
			t.Fatalf("no answer to %d: %v", id, err)
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if string(m.ID) == strconv.Itoa(id) {
			return m.Result, m.Error
		}
	}
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

func newServed(t testing.TB) (*host, *Server) {
	t.Helper()
	h := newHost(t, configuration, server.Options{})
	s, err := New(Options{API: h.api.Handler()})
	if err != nil {
		t.Fatal(err)
	}
	return h, s
}

// Messages in the wrong order, of the wrong type and about nothing leave the server working.
func TestMessagesOutOfOrder(t *testing.T) {
	for name, lines := range map[string][]string{
		"notifications before initialize": {
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, `{"jsonrpc":"2.0","method":"notifications/no-such"}`,
		},
		"answers to no question":  {`{"jsonrpc":"2.0","id":77,"result":{}}`, `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`},
		"requests before the end": {`{"jsonrpc":"2.0","id":50,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":51,"method":"no/such"}`, `{"jsonrpc":"2.0","id":52,"method":"tools/call","params":7}`},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := newServed(t)
			p := newPipe(t, s)
			for _, line := range lines {
				p.say(line)
			}
			p.say(hello)
			if _, problem := p.answer(t, 1); problem != nil {
				t.Fatalf("initialize: %s", problem)
			}
			p.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			p.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			p.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"recall","arguments":[]}}`)
			p.answer(t, 2)
			p.say(`{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"bad cursor"}}`)
			p.answer(t, 3)
			p.say(`{"jsonrpc":"2.0","id":4,"method":"tools/list"}`)
			if result, problem := p.answer(t, 4); problem != nil || !strings.Contains(string(result), "save_fact") {
				t.Errorf("tools/list: %s %s", result, problem)
			}
		})
	}
}

// What is no message ends the session with an error, in bounded memory.
func TestGarbageEndsTheSession(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "{{{{\n", "no message": "[1,2]\n", "an endless line": `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", maxMessage+1), "deep": strings.Repeat("[", 100_000) + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, s := newServed(t)
			p := newPipe(t, s)
			go func() {
				_, _ = io.WriteString(p.in, text)
				_ = p.in.Close()
			}()
			_, _ = io.Copy(io.Discard, p.out)
			if err := <-p.done; err == nil || len(err.Error()) > 1000 {
				t.Errorf("%v", err)
			}
		})
	}
}

// A client that goes away, and one that never reads, leave nothing behind. (goleak looks.)
func TestClientsGoAway(t *testing.T) {
	_, s := newServed(t)
	p := newPipe(t, s)
	p.say(hello)
	p.say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"build_context","arguments":{"query":"x"}}}`)
	_ = p.in.Close()
	_, _ = io.Copy(io.Discard, p.out)
	if err := <-p.done; err != nil {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	in, _ := io.Pipe()
	done := make(chan error)
	go func() { done <- s.Serve(ctx, in, discard{}) }()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("%v", err)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

// A key has its tenant, its scopes and its quota, and none gets nothing. A tenant does not see what another saved.
func TestKeysHold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.yaml")
	tokens := map[string]keys.Token{}
	err := keys.Edit(t.Context(), path, func(f *keys.File) error {
		for name, scopes := range map[string][]string{
			"ann": {"build", "memory:read", "memory:write", "collections"}, "bob": {"build", "memory:read", "memory:write", "collections"}, "builder": {"build"}, "reader": {"memory:read"},
		} {
			tokens[name] = keys.NewToken()
			f.Keys = append(f.Keys, keys.Key{ID: tokens[name].ID, SHA256: tokens[name].Digest(), Tenant: name, Scopes: scopes})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	store, err := keys.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range both {
		t.Run(version, func(t *testing.T) {
			h := newHost(t, configuration, server.Options{Authenticator: store})
			if err := Mount(h.api, Options{}); err != nil {
				t.Fatal(err)
			}
			ann, bob, builder := h.overHTTP(t, version, tokens["ann"].String()), h.overHTTP(t, version, tokens["bob"].String()), h.overHTTP(t, version, tokens["builder"].String())
			saved, r := tool[saveOut](t, ann, "save_fact", map[string]any{"text": "Ann keeps her key under the mat."})
			if r.IsError {
				t.Fatal(said(r))
			}
			if _, r := tool[recallOut](t, bob, "recall", map[string]any{"handle": saved.Handle}); !r.IsError {
				t.Errorf("bob reads the fact of ann")
			}
			if found, r := tool[previewsOut](t, bob, "search_memory", map[string]any{"query": "key under the mat"}); r.IsError || len(found.Results) > 0 {
				t.Errorf("bob finds %+v", found)
			}
			for name, arguments := range map[string]map[string]any{"save_fact": {"text": "x y"}, "search_memory": {"query": "x"}, "search": {"query": "x"}, "recall": {"handle": saved.Handle}} {
				if _, r := tool[any](t, builder, name, arguments); !r.IsError || !strings.Contains(said(r), "scope") {
					t.Errorf("a key for builds calls %s: %s", name, said(r))
				}
			}
			service := httptest.NewServer(h.api.Handler())
			defer service.Close()
			defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
			for key, status := range map[string]int{"": 401, "wrong": 401, tokens["reader"].String(): 403} {
				r, err := http.NewRequestWithContext(t.Context(), "POST", service.URL+Path, strings.NewReader(hello))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/json")
				r.Header.Set("Accept", "application/json, text/event-stream")
				r.Header.Set(remoteHeader, "10.0.0.1:1")
				answer, err := bearer(key).RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = answer.Body.Close()
				if answer.StatusCode != status {
					t.Errorf("key %q gets %d, want %d", key, answer.StatusCode, status)
				}
			}
		})
	}
}

// counted counts what an admission is asked.
type counted struct{ entered, admitted atomic.Int64 }

// Enter implements [server.Admission].
func (c *counted) Enter(server.Principal, server.Cost) error {
	c.entered.Add(1)
	return nil
}

// Admit implements [server.Admission].
func (c *counted) Admit(context.Context, server.Principal, server.Cost) (func(server.Usage), error) {
	c.admitted.Add(1)
	return func(server.Usage) {}, nil
}

// A call of a tool is one request of the quota, and what it asks of the API is admitted as such.
func TestACallIsCountedOnce(t *testing.T) {
	a := &counted{}
	h := newHost(t, configuration, server.Options{Admission: a})
	h.read(t, map[string]string{"a.md": "Tokens last one hour."})
	if err := Mount(h.api, Options{}); err != nil {
		t.Fatal(err)
	}
	c := h.overHTTP(t, newest, "")
	for name, arguments := range map[string]map[string]any{"search": {"query": "tokens"}, "search_memory": {"query": "x"}, "build_context": {"query": "tokens"}} {
		entered, admitted := a.entered.Load(), a.admitted.Load()
		if _, r := tool[any](t, c, name, arguments); r.IsError {
			t.Error(said(r))
		}
		if n, m := a.entered.Load()-entered, a.admitted.Load()-admitted; n != 1 || m < 2 {
			t.Errorf("%s counts as %d requests, and %d were admitted", name, n, m)
		}
	}
}

// A page of another site cannot use a service without keys.
func TestOtherSitesAreRefused(t *testing.T) {
	h := newHost(t, configuration, server.Options{})
	if err := Mount(h.api, Options{}); err != nil {
		t.Fatal(err)
	}
	service := httptest.NewServer(h.api.Handler())
	defer service.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for name, change := range map[string]func(*http.Request){
		"origin": func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"name":   func(r *http.Request) { r.Host = "evil.example" },
	} {
		r, err := http.NewRequestWithContext(t.Context(), "POST", service.URL+Path, strings.NewReader(hello))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		change(r)
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d", name, answer.StatusCode)
		}
	}
}

// A slow API, and one that answers too much, end with the request.
func TestSlowAndHugeAnswers(t *testing.T) {
	block := make(chan struct{})
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "huge") {
			for range 40 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
			return
		}
		close(block)
		<-r.Context().Done()
	})
	s, err := New(Options{API: api})
	if err != nil {
		t.Fatal(err)
	}
	c := client(t, s, newest)
	if _, r := tool[recallOut](t, c, "recall", map[string]any{"handle": "huge"}); !r.IsError || !strings.Contains(said(r), "more than") {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var wait sync.WaitGroup
	wait.Go(func() {
		<-block
		cancel()
	})
	if _, err := s.recall(ctx, caller{header: http.Header{}}, recallIn{Handle: "slow"}); err == nil {
		t.Error("no error")
	}
	wait.Wait()
}

// BenchmarkToolsList is the cost of a list in the process, and BenchmarkSearchMemory that of a search over HTTP, with
// and without the protocol around it.
func BenchmarkToolsList(b *testing.B) {
	_, s := newServed(b)
	p := newPipe(b, s)
	p.say(hello)
	if _, err := p.out.ReadBytes('\n'); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p.say(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		if _, err := p.out.ReadBytes('\n'); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSearchMemory(b *testing.B) {
	h := newHost(b, configuration, server.Options{})
	if err := Mount(h.api, Options{}); err != nil {
		b.Fatal(err)
	}
	c := h.overHTTP(b, newest, "")
	for i := range 1000 {
		tool[saveOut](b, c, "save_fact", map[string]any{"text": "Fact number " + strconv.Itoa(i) + " is about tea and trains."})
	}
	service := httptest.NewServer(h.api.Handler())
	defer service.Close()
	b.Run("api", func(b *testing.B) {
		for b.Loop() {
			r, err := http.Post(service.URL+"/v1/memory/search", "application/json", strings.NewReader(`{"query": "tea 77", "top_k": 5}`))
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
		}
	})
	b.Run("mcp", func(b *testing.B) {
		for b.Loop() {
			tool[previewsOut](b, c, "search_memory", map[string]any{"query": "tea 77"})
		}
	})
}

// FuzzHandles reads handles of all kinds: an error, or a text, and no panic.
func FuzzHandles(f *testing.F) {
	for _, h := range []string{"anchor://fact/a", "anchor://chunk/docs/a%2Fb%231?d=x&q=y", "anchor://frame/r/1", "cut-1", "anchor://builds", "anchor://%"} {
		f.Add(h)
	}
	s, err := New(Options{API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.EscapedPath(), "//") || strings.Contains(r.URL.EscapedPath(), "/../") {
			w.WriteHeader(404)
			return
		}
		_, _ = w.Write([]byte(`{"text":"x","content":"x","frames":[{"frame_id":1}],"items":[{"id":"a"}]}`))
	})})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, handle string) {
		_, _ = s.recall(t.Context(), caller{header: http.Header{}}, recallIn{Handle: handle})
	})
}
