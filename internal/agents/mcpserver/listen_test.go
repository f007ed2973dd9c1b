package mcpserver

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/server"
)

// A client that waits for changes does not hold its place longer than any other request may.
func TestListeningEnds(t *testing.T) {
	h := newHost(t, configuration, server.Options{MaxTimeout: 300 * time.Millisecond})
	if err := Mount(h.api, Options{}); err != nil {
		t.Fatal(err)
	}
	service := httptest.NewServer(h.api.Handler())
	defer service.Close()
	defer http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	body := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"toolsListChanged":true}}}`
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
	data, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if ctx.Err() != nil {
		t.Fatalf("%s %v", data, err)
	}
	if answer.StatusCode != http.StatusOK || !strings.Contains(string(data), "complete") || err != nil {
		t.Errorf("%d %s %v", answer.StatusCode, data, err)
	}
}
