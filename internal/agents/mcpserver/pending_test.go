package mcpserver

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// closable is a buffer with an end.
type closable struct{ bytes.Buffer }

// Close implements [io.Closer].
func (*closable) Close() error { return nil }

// serveAll serves a client that writes its messages and closes its end at once.
func serveAll(t *testing.T, api http.HandlerFunc, messages ...string) string {
	t.Helper()
	s, err := New(Options{API: api})
	if err != nil {
		t.Fatal(err)
	}
	var out closable
	in := `{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
` + strings.Join(messages, "\n")
	if err := s.Serve(t.Context(), io.NopCloser(strings.NewReader(in)), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const slowCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search_memory","arguments":{"query":"x"}}}`

// What was asked before the end of the input is answered, however long a tool takes.
func TestAnswersAfterTheEnd(t *testing.T) {
	api := func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(200 * time.Millisecond)
		_, _ = w.Write([]byte(`{"facts":[]}`))
	}
	for name, end := range map[string]string{"a line": "\n", "no end of the line": ""} {
		out := serveAll(t, api, slowCall, `{"jsonrpc":"2.0","id":8,"method":"ping"}`+end)
		for _, id := range []string{`"id":"first"`, `"id":7`, `"id":8`} {
			if !strings.Contains(out, id) {
				t.Errorf("%s: no answer to %s: %s", name, id, out)
			}
		}
	}
}

// A request that is never answered, or that the client cancelled, does not keep the server.
func TestTheEndIsBounded(t *testing.T) {
	defer func(d time.Duration) { lastAnswers = d }(lastAnswers)
	lastAnswers = 300 * time.Millisecond
	api := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	serveAll(t, api, slowCall)
	lastAnswers = time.Hour
	serveAll(t, api, slowCall, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`+"\n")
}

func FuzzPending(f *testing.F) {
	f.Add("{\"id\":1,\"method\":\"a\"}\n[{\"id\":{}},7]\n", true)
	f.Fuzz(func(_ *testing.T, text string, client bool) {
		p := newPending()
		(&lines{}).feed([]byte(text), func(line []byte) { p.saw(line, client) })
	})
}
