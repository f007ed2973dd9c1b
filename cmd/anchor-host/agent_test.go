package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/agentdemo"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
	"github.com/anchor-host/anchor-host/pipeline"
)

// agentFlags returns the flags of a command that has the plugins of an agent and a store of its own.
func agentFlags(t *testing.T) []string {
	t.Helper()
	return []string{"--plugins", testbuild.Examples(t, "crm-snapshot", "turn-summary"), "--cache-dir", testbuild.CacheDir(t), "--store", filepath.Join(t.TempDir(), "store.db")}
}

// The demo of an agent: the budget holds, pairs stay together, write-backs last, truncation does not,
// and a provider that fails changes nothing. These are the fewest turns in which every provider has
// something to do; `make demo-assemble` takes all of them.
func TestDemoAgent(t *testing.T) {
	t.Parallel()
	flags, turns := agentFlags(t), 36
	if os.Getenv("ANCHOR_THOROUGH") != "" {
		turns = agentdemo.Turns
	}
	var table strings.Builder
	err := agentdemo.Run(t.Context(), &table, agentdemo.Options{
		Config: "../../testdata/demo/agent.yaml", Broken: "../../testdata/demo/agent-broken.yaml",
		Observing: "../../testdata/demo/agent-observing.yaml", Flags: flags, Turns: turns,
		Command: func(ctx context.Context, stdin string, args ...string) (int, string, string) {
			return runContext(ctx, stdin, args...)
		},
	})
	if err != nil {
		t.Errorf("%v\n%s", err, table.String())
	}
	if n := strings.Count(table.String(), "\n"); n < turns+2 {
		t.Errorf("the table has %d lines, want one for each of %d turns:\n%s", n, turns, table.String())
	}
}

// The account of a customer is fetched before every model call, by a plugin that
// may reach the server and nothing else.
func TestCRMSnapshot(t *testing.T) {
	t.Parallel()
	flags := agentFlags(t)
	visits := 0
	mux := http.NewServeMux()
	mux.HandleFunc("GET /accounts/a-42", func(w http.ResponseWriter, _ *http.Request) {
		visits++
		_, _ = fmt.Fprintf(w, `{"name": "Ann", "visit": %d}`, visits)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	config := func(grants string) string {
		return filepath.Join(write(t, map[string]string{"anchor.yaml": fmt.Sprintf(`
counting: {tokenizer: words}
plugins:
  instances:
    crm: {plugin: crm-snapshot, settings: {base_url: %q}, grants: {%s}}
agent: {providers: [{use: crm, priority: 5}]}
`, server.URL, grants)}), "anchor.yaml")
	}
	granted := config("http: {hosts: ['http://127.0.0.1:*'], private: true}")
	input := `{"state": {"data": {"account_id": "a-42"}}, "messages": [
	  {"role": "system", "content": "be kind"}, {"role": "user", "content": "who am I?"}]}`
	for visit := 1; visit <= 2; visit++ {
		args := append([]string{"assemble", "-c", granted, "--run", "r", "--strict"}, flags...)
		code, stdout, stderr := run(t, input, args...)
		if code != codeOK {
			t.Fatalf("code %d: %s", code, stderr)
		}
		var list []pipeline.Message
		if err := json.Unmarshal([]byte(stdout), &list); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("The customer's account in the CRM, as of now:\n{\"name\":\"Ann\",\"visit\":%d}", visit)
		if len(list) != 2+visit || list[1].Text() != want || list[1].Role != pipeline.RoleSystem {
			t.Errorf("visit %d: %s\nwant %q after the instructions", visit, stdout, want)
		}
		input = `[{"role": "user", "content": "and now?"}]` // the state is in the store
	}
	for name, tt := range map[string]struct{ grants, want string }{
		"not granted":  {"", "denied"},
		"another host": {"http: {hosts: ['http://localhost:*'], private: true}", "denied"},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"assemble", "-c", config(tt.grants), "--run", "r", "--strict"}, flags...)
			code, stdout, stderr := run(t, "", args...)
			if code != codeDegraded || !strings.Contains(stderr, `anchor-host: provider "crm": plugin "crm": provide: `+tt.want) {
				t.Errorf("code %d, want %d: %s", code, codeDegraded, stderr)
			}
			if strings.Contains(stdout, "Ann") {
				t.Errorf("an account without a grant: %s", stdout)
			}
		})
	}
	args := append([]string{"assemble", "-c", config("http: {hosts: ['http://127.0.0.1:*']}"), "--run", "r"}, flags...)
	if code, _, stderr := run(t, "", args...); code != codeInvalid || !strings.Contains(stderr, "set grants.http.private: true") {
		t.Errorf("a private address without private: code %d, want %d: %s", code, codeInvalid, stderr)
	}
	if visits != 2 {
		t.Errorf("the server was asked %d times, want 2", visits)
	}
}
