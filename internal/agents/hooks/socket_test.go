package hooks

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSocketOfAHost(t *testing.T) {
	dir, err := os.MkdirTemp("", "h") //nolint:usetesting // a socket has a short path
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := SocketPath(filepath.Join(dir, "store.db"))
	r := Request{Client: Claude, Body: []byte(`{"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/é"}`)}
	if _, _, err := Ask(t.Context(), socket, r); !NoHost(err) {
		t.Fatalf("no host: %v", err)
	}
	// What a host leaves behind that was killed.
	left, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	left.Close()
	if _, _, err := Ask(t.Context(), socket, r); !NoHost(err) {
		t.Errorf("a host that was killed: %v", err)
	}
	h := handlerOf(&stub{items: []Item{{Kind: "fact", Handle: "f\n", Where: "é", Text: "x"}}})
	answers := HTTP(func(*http.Request) (*Handler, error) { return h, nil }, false)
	closed, err := Listen(t.Context(), socket, answers, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v %v", info.Mode(), err)
	}
	answer, report, err := Ask(t.Context(), socket, r)
	if err != nil || !strings.Contains(contextOf(t, answer), "- x [f") || len(report.Added) != 1 || report.Via != "host" {
		t.Errorf("%s %+v %v", answer, report, err)
	}
	if _, err := Listen(t.Context(), socket, answers, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "another host") {
		t.Errorf("a second host: %v", err)
	}
	closed()
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(t.Context(), socket, answers, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "no socket") {
		t.Errorf("a file in the place of the socket: %v", err)
	}
	if SocketPath("postgres://h/d") != "" || SocketPath(strings.Repeat("d/", 60)+"s") != "" {
		t.Error("a socket where none can be")
	}
}

func TestHTTP(t *testing.T) {
	h := handlerOf(&stub{items: []Item{{Kind: "fact", Handle: "f", Text: "x"}}})
	mux := http.NewServeMux()
	mux.Handle("POST /v1/hooks/{client}", HTTP(func(r *http.Request) (*Handler, error) {
		if r.Header.Get("broken") != "" {
			return nil, errors.New("no store")
		}
		return h, nil
	}, true))
	for _, tt := range []struct {
		path, body, header string
		status             int
		want               string
	}{
		{"/v1/hooks/claude", `{"hook_event_name": "SessionStart", "session_id": "s", "cwd": "/"}`, "", 200, "- x [f]"},
		{"/v1/hooks/copilot?event=sessionStart", `{"sessionId": "s"}`, "", 200, `"additionalContext"`},
		{"/v1/hooks/other", `{}`, "", 200, "{}"},
		{"/v1/hooks/claude", `no`, "", 200, "{}"},
		{"/v1/hooks/claude", `{}`, "broken", 503, "no store"},
	} {
		req := httptest.NewRequest("POST", tt.path, strings.NewReader(tt.body))
		if tt.header != "" {
			req.Header.Set(tt.header, "1")
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, req)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, w.Code, w.Body)
		}
	}
}
