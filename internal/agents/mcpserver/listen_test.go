package mcpserver

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/server"
)

// A client that waits for changes does not hold its place longer than any other request may.
func TestListeningEnds(t *testing.T) {
	var status int
	var data []byte
	if !await.Enough(300*time.Millisecond, func(limit time.Duration) bool { // to begin
		status, data = listens(t, limit)
		return status == http.StatusOK && strings.Contains(string(data), "complete")
	}) {
		t.Errorf("%d %s", status, data)
	}
}

// listens returns what a client gets that waits for changes of a server whose requests end after limit.
func listens(t *testing.T, limit time.Duration) (status int, data []byte) {
	t.Helper()
	h := newHost(t, configuration, server.Options{MaxTimeout: limit})
	if err := Mount(h.api, Options{}); err != nil {
		t.Fatal(err)
	}
	service := httptest.NewServer(h.api.Handler())
	defer service.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	body := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true}}}`
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", service.URL+Path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": newest, "Mcp-Method": "subscriptions/listen"} {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if data, err = io.ReadAll(answer.Body); err != nil {
		t.Fatalf("%d %s %v", answer.StatusCode, data, err)
	}
	return answer.StatusCode, data
}
