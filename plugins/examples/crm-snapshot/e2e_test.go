package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/pipeline/providers"
)

func TestMain(m *testing.M) {
	testbuild.SetConfigDir()
	os.Exit(m.Run())
}

// guest builds the plugin with stock Go, as the README says.
func guest(t *testing.T) *spec.Spec {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and compiles a guest")
	}
	spec, err := spec.ReadFile(filepath.Join(testbuild.Examples(t, "crm-snapshot")+"/crm-snapshot", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// accounts is a CRM that knows the account a-42 and is down for another.
func accounts(t *testing.T) (url string, served *atomic.Int64) {
	t.Helper()
	served = new(atomic.Int64)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /accounts/{id}", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
		case r.PathValue("id") == "a-42":
			_, _ = fmt.Fprintf(w, "{\n  \"name\": \"Ann\",\n  \"visit\": %d\n}\n", served.Add(1))
		case r.PathValue("id") == "down":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			http.NotFound(w, r)
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL, served
}

// loop is a provider chain with the built-in providers and the plugin.
func loop(t *testing.T, h *host.Host, spec *spec.Spec, cfg host.PluginConfig) *agent.Chain {
	t.Helper()
	plugin, err := h.Load(t.Context(), spec, cfg)
	if err != nil {
		t.Fatal(err)
	}
	provider, err := steps.Provider(plugin, steps.Options{})
	if err != nil {
		t.Fatal(err)
	}
	counter, err := agent.NewCounter(agent.CounterConfig{Tokenizer: pipeline.WordTokenizer()})
	if err != nil {
		t.Fatal(err)
	}
	chain, err := providers.New(providers.Config{
		Extra: []agent.Provider{provider}, Counter: counter, Plan: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	if names := chain.Names(); !slices.Equal(names, []string{cfg.Name, "observation", "compaction", "truncation"}) {
		t.Fatalf("providers %v", names)
	}
	return chain
}

func TestEndToEnd(t *testing.T) {
	url, served := accounts(t)
	spec := guest(t)
	h, err := host.New(host.Config{CacheDir: testbuild.CacheDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	granted := host.PluginConfig{
		Name: "crm", Settings: map[string]any{"base_url": url}, Config: map[string]string{"token": "secret"},
		Grants: host.Grants{HTTP: &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*"}, Private: true}},
	}
	chain := loop(t, h, spec, granted)

	t.Run("each call sees the account as it is then", func(t *testing.T) {
		state := stateOf("a-42")
		for visit := 1; visit <= 4; visit++ {
			phase := agent.PhaseLLM
			if visit == 4 {
				phase = agent.PhaseSynthesize
			}
			a, err := chain.Assemble(t.Context(), state, state.Messages, agent.Budget{MaxTokens: 1000, Phase: phase})
			if err != nil {
				t.Fatal(err)
			}
			snapshot := fmt.Sprintf("The customer's account in the CRM, as of now:\n{\"name\":\"Ann\",\"visit\":%d}", visit)
			want := []string{"system: Be brief.", "system: " + snapshot,
				"system: " + providers.DefaultObservationHeader + "\n\n- Ann called.", "user: Which plan am I on?"}
			if got := lines(a.Messages); !slices.Equal(got, want) {
				t.Errorf("messages %q, want %q", got, want)
			}
			d := a.Diagnostics.Providers[0]
			if d.Outcome != agent.ProviderChanged || d.EstimatedTokens == nil || *d.EstimatedTokens != 200 {
				t.Errorf("diagnostics %+v", d)
			}
			if len(state.Messages) != 3 || !strings.HasPrefix(state.Messages[1].Text(), providers.DefaultObservationHeader) {
				t.Errorf("state %q, want the observations written back and nothing else", lines(state.Messages))
			}
		}
		if n := served.Load(); n != 4 {
			t.Errorf("%d records served, want 4", n)
		}
	})

	without := []string{"system: Be brief.", "user: Which plan am I on?"}
	for name, c := range map[string]struct {
		account, reason, message string
		change                   func(*host.PluginConfig)
	}{
		"no record":   {account: "unknown"},
		"no account":  {},
		"down":        {account: "down", reason: "guest_error", message: "look up account: status 503"},
		"no token":    {account: "a-42", reason: "guest_error", message: "look up account: status 401", change: func(c *host.PluginConfig) { c.Config = nil }},
		"not granted": {account: "a-42", reason: "denied", message: "http is not permitted", change: func(c *host.PluginConfig) { c.Grants.HTTP = nil }},
		"private refused": {account: "a-42", reason: "denied", message: "http to private address 127.0.0.1 is not permitted",
			change: func(c *host.PluginConfig) { c.Grants.HTTP = &host.HTTPGrant{Hosts: []string{"http://127.0.0.1:*"}} }},
	} {
		t.Run(name, func(t *testing.T) {
			chain := chain
			if c.change != nil {
				cfg := granted
				cfg.Name = strings.ReplaceAll(name, " ", "-")
				c.change(&cfg)
				chain = loop(t, h, spec, cfg)
			}
			state := stateOf(c.account)
			state.Observations = nil
			a, err := chain.Assemble(t.Context(), state, state.Messages, agent.Budget{MaxTokens: 1000})
			if err != nil {
				t.Fatal(err)
			}
			if got := lines(a.Messages); !slices.Equal(got, without) {
				t.Errorf("messages %q", got)
			}
			d := a.Diagnostics.Providers[0]
			if d.Reason != c.reason || !strings.Contains(d.Message, c.message) || (d.Outcome == agent.ProviderFailed) != (c.reason != "") {
				t.Errorf("diagnostics %+v", d)
			}
		})
	}
}

func stateOf(account string) *agent.State {
	s := &agent.State{
		Messages: []pipeline.Message{
			message.New(pipeline.RoleSystem, "Be brief."), message.New(pipeline.RoleUser, "Which plan am I on?"),
		},
		Observations: []string{"Ann called."},
	}
	if account != "" {
		s.Data = map[string]any{"account_id": account}
	}
	return s
}

func lines(messages []pipeline.Message) (out []string) {
	for _, m := range messages {
		out = append(out, string(m.Role)+": "+m.Text())
	}
	return out
}
