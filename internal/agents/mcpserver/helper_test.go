package mcpserver

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/server"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newest and before are the versions that begin the two ages of the protocol.
const newest, before = "2026-07-28", "2025-11-25"

// both are the ages of the protocol.
var both = []string{before, newest}

const configuration = `
counting: {tokenizer: words}
builds: {records: {content: true}}
retrievers: {docs: {collection: docs}}
steps: [{name: docs, use: docs, top_k: 50}]
`

// host is an App with its API.
type host struct {
	app *anchor.App
	api *server.Server
}

func newHost(t testing.TB, yaml string, o server.Options) *host {
	t.Helper()
	return newHostWith(t, yaml, anchor.Options{}, o)
}

func newHostWith(t testing.TB, yaml string, ao anchor.Options, o server.Options) *host {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "anchor.yaml")
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	ao.CacheDir, ao.Overrides = "off", map[string]string{"store.path": filepath.Join(dir, "store.db"), "store.synchronous": "normal"}
	app, err := anchor.Load(path, ao)
	if err != nil {
		t.Fatal(err)
	}
	api, err := server.New(app, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		api.Close()
		if err := app.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &host{app, api}
}

// read reads texts into the collection docs.
func (h *host) read(t testing.TB, texts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	var sources []ingest.Source
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sources = append(sources, ingest.Source{Path: path})
	}
	if _, err := h.app.Ingest(t.Context(), sources, ingest.Options{Collection: retrieve.Collection{Tenant: h.app.Status().Tenant, Name: "docs"}}); err != nil {
		t.Fatal(err)
	}
}

// cutText stores a text under a handle, as the cut of a tool's result does.
func (h *host) cutText(t testing.TB, tenant, run, handle, text string) {
	t.Helper()
	s, err := h.app.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := agentstore.Run{Store: s, Tenant: tenant, ID: run}
	if err := r.KeepCuts(t.Context(), map[string]string{handle: text}); err != nil {
		t.Fatal(err)
	}
}

// client connects a client of a version to a server, in this process.
func client(t testing.TB, s *Server, version string) *mcp.ClientSession {
	t.Helper()
	here, there := mcp.NewInMemoryTransports()
	served, err := s.mcp.Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, here, version, func() { _ = served.Wait() })
}

func connect(t testing.TB, transport mcp.Transport, version string, end func()) *mcp.ClientSession {
	t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		end()
	})
	return c
}

// bearer adds a key to requests.
type bearer string

// RoundTrip implements [http.RoundTripper].
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// overHTTP connects a client of a version to the route of a service.
func (h *host) overHTTP(t testing.TB, version, key string) *mcp.ClientSession {
	t.Helper()
	service := httptest.NewServer(h.api.Handler())
	t.Cleanup(service.Close)
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	transport := &mcp.StreamableClientTransport{Endpoint: service.URL + Path, HTTPClient: &http.Client{Transport: bearer(key)}, MaxRetries: -1}
	return connect(t, transport, version, func() {})
}

// tool calls a tool, and decodes its answer.
func tool[T any](t testing.TB, c *mcp.ClientSession, name string, arguments map[string]any) (out T, r *mcp.CallToolResult) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if r.IsError {
		return out, r
	}
	data, err := json.Marshal(r.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out, r
}

// said is the text of an answer.
func said(r *mcp.CallToolResult) string {
	if len(r.Content) == 0 {
		return ""
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		return ""
	}
	return text.Text
}
