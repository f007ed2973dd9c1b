//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/await"
	"github.com/anchor-host/anchor-host/internal/modeltest"
)

// pricedSite is a folder with a configuration whose builds ask a model twice: each time 10 tokens in, 5 out.
func pricedSite(t *testing.T, more string, tenants ...string) {
	t.Helper()
	plugins, err := filepath.Abs(fixtureDir)
	if err != nil {
		t.Fatal(err)
	}
	s := modeltest.New(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: "an answer"} })
	t.Chdir(write(t, map[string]string{
		"anchor.yaml": fmt.Sprintf(`tokenizer: words
max_tokens: 100
store: {path: s.db}
plugins: {dir: %[1]q}
telemetry: {prices: prices.yaml}
models: {ranker: {api: openai, base_url: %[2]q, model: ranker-small, retries: 0}}
embedders: {far: {http: {base_url: %[2]q, model: vectors, retries: 0}}}
collections: {docs: {embedder: far}}
retrievers: {docs: {collection: docs}}
instances: {asks: {plugin: services, grants: {embed: {embedder: far}, search: {collections: [docs]}, llm: {models: [ranker]}}, limits: {timeout: 1m, tokens: unlimited}}}
steps: [{name: ask, operation: retrieve, instance: asks}]
%[3]s
`, plugins, s.URL, more),
		"prices.yaml": prices(1000, 2000), "d/a.md": "a document about cats",
	}))
	t.Setenv("ANCHOR_HOST_ADMIN_LISTEN", "127.0.0.1:0")
	for _, tenant := range tenants {
		must(t, "", "ingest", "d", "--collection", "docs", "--tenant", tenant)
	}
}

func prices(in, out int) string {
	return fmt.Sprintf("date: 2026-11-27\nsource: a test\nmodels: {ranker-small: {input: %d, output: %d}}\n", in, out)
}

// client asks a service.
type client struct {
	t   *testing.T
	key string
}

// ask returns the status, the header and the body of an answer.
func (c client) ask(method, address, body string) (int, http.Header, string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// build asks for a build, and returns the status and what it cost.
func (c client) build(api string) (status int, header http.Header, usd float64) {
	c.t.Helper()
	status, header, body := c.ask("POST", api+"/v1/builds", `{"query": "q"}`)
	var d struct {
		Diagnostics struct {
			CostUSD float64 `json:"cost_usd"`
		} `json:"diagnostics"`
	}
	if err := json.Unmarshal([]byte(body), &d); err != nil {
		c.t.Fatalf("%v: %s", err, body)
	}
	return status, header, d.Diagnostics.CostUSD
}

// A change of the file of prices counts without a restart, and the metrics of costs and of tokens name the
// same model.
func TestPricesAreWatched(t *testing.T) {
	pricedSite(t, "server: {drain_delay: none}", "default")
	log, end := serveUntil(t)
	defer end()
	defer http.DefaultClient.CloseIdleConnections()
	at := log.wait(t, `the API is at (http://\S+), and health and reload at (http://[^; ]+)`)
	c := client{t: t}
	if status, _, usd := c.build(at[1]); status != 200 || usd != 0.04 {
		t.Fatalf("status %d, cost %v: %s", status, usd, log)
	}
	if err := os.WriteFile("prices.yaml", []byte(prices(2000, 4000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if !await.True(func() bool {
		_, _, usd := c.build(at[1])
		return usd == 0.08
	}) {
		t.Errorf("the new price does not count: %s", log)
	}
	if err := os.WriteFile("prices.yaml", []byte("models: {"), 0o600); err != nil {
		t.Fatal(err)
	}
	log.wait(t, "configuration is not reloaded.*telemetry.prices")
	if _, _, usd := c.build(at[1]); usd != 0.08 {
		t.Errorf("with a broken file the cost is %v", usd)
	}
	_, _, metrics := c.ask("GET", at[2]+"/metrics", "")
	for _, want := range []string{`anchor_model_cost_usd_total{model="ranker-small"`, `gen_ai_client_inference_usage_input_tokens_total{gen_ai_provider_name="openai",gen_ai_request_model="ranker-small"}`} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s", want)
		}
	}
}
