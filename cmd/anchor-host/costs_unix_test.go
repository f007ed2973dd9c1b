//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/internal/testkit/modeltest"
	"github.com/anchor-host/anchor-host/usage"
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
		"anchor.yaml": fmt.Sprintf(`counting: {tokenizer: words}
window: {max_tokens: 100}
store: {path: s.db}
plugins: {dir: %[1]q, instances: {asks: {plugin: services, grants: {embed: {embedder: far}, search: {collections: [docs]}, llm: {models: [ranker]}}, limits: {timeout: 1m, tokens: unlimited}}}}
telemetry: {prices: prices.yaml}
models: {ranker: {api: openai, base_url: %[2]q, model: ranker-small, retries: 0}}
embedders: {far: {http: {base_url: %[2]q, model: vectors, retries: 0}}}
collections: {docs: {embedder: far}}
retrievers: {docs: {collection: docs}}
steps: [{name: ask, operation: retrieve, use: asks}]
%[3]s
`, plugins, s.URL, more),
		"prices.yaml": prices(1000, 2000), "d/a.md": "a document about cats",
	}))
	t.Setenv("ANCHOR_HOST_SERVER_ADMIN_LISTEN", "127.0.0.1:0")
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

// A key that has spent what it may in a day is refused until midnight, also after a restart. Others go on.
// The costs are listed by day, tenant, key and model: to each tenant its own, to admin all.
func TestMoneyOfKeys(t *testing.T) {
	today := time.Now().UTC()
	if today.Add(2*time.Minute).Day() != today.Day() {
		t.Skip("the day ends during the test, and with it what was spent")
	}
	pricedSite(t, "server: {keys: keys.yaml, drain_delay: none}", "acme", "initech")
	add := func(args ...string) client {
		t.Helper()
		return client{t, strings.TrimSpace(must(t, "", append([]string{"keys", "add"}, args...)...))}
	}
	small := add("--tenant", "acme", "--scopes", "build", "--quota", "usd_per_day=0.05")
	large, other := add("--tenant", "acme", "--scopes", "build"), add("--tenant", "initech", "--scopes", "build")
	admin := add("--tenant", "initech", "--scopes", "build,admin")
	if code, _, message := run(t, "", "keys", "add", "--tenant", "acme", "--scopes", "build", "--quota", "usd_per_day=much"); code != codeUsage || !strings.Contains(message, "usd_per_day") {
		t.Errorf("a bad limit: code %d: %s", code, message)
	}
	defer http.DefaultClient.CloseIdleConnections()
	for _, wants := range [][]int{{200, 200, 429}, {429}} { // a build costs 0.04
		log, end := serveUntil(t)
		at := log.wait(t, `the API is at (http://\S+), and health`)[1]
		for i, want := range wants {
			status, header, _ := small.build(at)
			if status != want {
				t.Errorf("build %d: status %d, want %d: %s", i, status, want, log)
			}
			if wait, err := strconv.Atoi(header.Get("Retry-After")); status == 429 && (err != nil || wait < 1 || wait > 24*60*60) {
				t.Errorf("Retry-After: %q", header.Get("Retry-After"))
			}
		}
		for _, c := range []client{large, other} {
			if status, _, _ := c.build(at); status != 200 {
				t.Errorf("another key: status %d", status)
			}
		}
		if code := end(); code != codeOK {
			t.Errorf("exit code %d: %s", code, log)
		}
	}
	log, end := serveUntil(t)
	defer end()
	at := log.wait(t, `the API is at (http://\S+), and health`)[1]
	for _, tt := range []struct {
		who    client
		query  string
		status int
		usd    float64
		rows   int
	}{
		{large, "", 200, 0.16, 2}, {other, "", 200, 0.08, 1}, {other, "?tenant=acme", 403, 0, 0}, {other, "?all=true", 403, 0, 0},
		{admin, "?all=true", 200, 0.24, 3}, {admin, "?tenant=acme", 200, 0.16, 2}, {large, "?from=2020-01-01&to=2020-02-01", 200, 0, 0}, {large, "?from=soon", 400, 0, 0},
	} {
		status, _, body := tt.who.ask("GET", at+"/v1/costs"+tt.query, "")
		var doc struct {
			USD   float64
			Costs []usage.Cost
		}
		if err := json.Unmarshal([]byte(body), &doc); err != nil || status != tt.status || math.Abs(doc.USD-tt.usd) > 1e-9 || len(doc.Costs) != tt.rows {
			t.Errorf("%q: status %d, %v: %s", tt.query, status, err, body)
		}
		for _, c := range doc.Costs {
			if c.Model != "ranker-small" || c.Key == "" || c.Calls != 4 || c.InputTokens != 40 || c.Day != today.Format(time.DateOnly) {
				t.Errorf("%+v", c)
			}
		}
	}
}

// A limit in money without prices would never hold, so it is refused at the start.
func TestMoneyNeedsPrices(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\nstore: {path: s.db}\nserver: {keys: keys.yaml}\n"}))
	must(t, "", "keys", "add", "--tenant", "acme", "--scopes", "build", "--quota", "usd_per_day=1")
	for _, args := range [][]string{{"config", "validate"}, {"serve", "--listen", "127.0.0.1:0", "--admin-listen", "none"}} {
		if code, _, message := run(t, "", args...); code != codeInvalid || !strings.Contains(message, "set telemetry.prices in anchor.yaml") {
			t.Errorf("%v: code %d: %s", args, code, message)
		}
	}
}
