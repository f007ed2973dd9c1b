package anchor

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/modeltest"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/store"
)

// loadFacts loads a configuration with facts, models and an embedder of a fake server.
func loadFacts(t *testing.T, s *modeltest.Server, facts string) (app *App, log *strings.Builder) {
	t.Helper()
	dir := t.TempDir()
	log = new(strings.Builder)
	text := fmt.Sprintf("counting: {tokenizer: words}\nstore: {path: %s}\nmemory: {facts: %s}\nmodels:\n  small: {api: openai, base_url: %q, model: m, retries: 0, max_calls_per_build: 3}\nembedders:\n  vectors: {http: {base_url: %q, model: e, retries: 0}}\n",
		filepath.Join(dir, "store.db"), facts, s.URL, s.URL)
	app, err := Load(write(t, dir, text), Options{CacheDir: "off", Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(t.Context()) })
	return app, log
}

func say(t *testing.T, app *App, texts ...string) {
	t.Helper()
	talk, err := app.Conversation(t.Context(), "", "c")
	for _, text := range texts {
		if err == nil {
			_, err = talk.Add(t.Context(), pipeline.Turn{Role: pipeline.RoleUser, Content: text})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func listFacts(t *testing.T, app *App) []memory.Entry {
	t.Helper()
	m, err := app.Facts(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	list, err := m.List(t.Context(), memory.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A model takes facts from a conversation and merges facts. What it used is told.
func TestModelsMakeFacts(t *testing.T) {
	answer := `{"add":[{"content":"Ann lives in Oslo.","tags":["home"]},{"content":"Ann has a home in Oslo.","tags":[]}],"update":[],"remove":[]}`
	s := modeltest.New(t, func(modeltest.Request) modeltest.Answer { return modeltest.Answer{Text: answer} })
	app, _ := loadFacts(t, s, "{user: ann, extract: {model: small}, consolidate: {model: small}}")
	say(t, app, "I live in Oslo.")
	p, err := app.Promote(t.Context(), "c", PromoteOptions{})
	if err != nil || len(p.Added) != 2 || p.Added[0].UserID != "ann" || len(p.Services) != 1 || p.Services[0].Name != "small" || p.Services[0].Calls != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	answer = `{"update":[{"id":"1","content":"Ann lives in Oslo, Norway."}],"remove":["2"]}`
	p, err = app.Consolidate(t.Context(), "", memory.Filter{})
	if err != nil || len(p.Updated) != 1 || p.Removed != 1 || len(p.Services) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if list := listFacts(t, app); len(list) != 1 || list[0].Content != "Ann lives in Oslo, Norway." {
		t.Errorf("facts %+v", list)
	}
}

// A model that lies, or that does not work, changes nothing, within its budget. The turns are
// promoted once it answers.
func TestModelsThatFailChangeNothing(t *testing.T) {
	for name, wrong := range map[string]modeltest.Answer{
		"an unknown id": {Text: `{"add":[{"content":"x","tags":[]}],"update":[],"remove":["7"]}`},
		"no JSON":       {Text: "I found no facts."},
		"no server":     {Status: 503, Raw: "{}"},
	} {
		answer := wrong
		s := modeltest.New(t, func(modeltest.Request) modeltest.Answer { return answer })
		app, _ := loadFacts(t, s, "{extract: {model: small}}")
		say(t, app, "a", "b", "c", "d", "e", "f", "g", "h")
		p, err := app.Promote(t.Context(), "c", PromoteOptions{})
		if n := len(s.Requests()); err == nil || len(p.Added)+p.Removed > 0 || len(listFacts(t, app)) > 0 || n > 3 || name == "no server" && n != 1 {
			t.Errorf("%s: %+v, %v after %d requests", name, p, err, n)
		}
		answer = modeltest.Answer{Text: `{"add":[{"content":"y","tags":[]}],"update":[],"remove":[]}`}
		if p, err = app.Promote(t.Context(), "c", PromoteOptions{}); err != nil || p.Turns != 8 || len(listFacts(t, app)) != 1 {
			t.Errorf("%s, later: %+v, %v", name, p, err)
		}
	}
}

// A build finds facts with the embedder of the configuration, and without it when it fails.
func TestBuildsFindFactsByVectors(t *testing.T) {
	s := modeltest.New(t, nil)
	app, _ := loadFacts(t, s, "{max_items: 1, embedder: vectors}")
	m, err := app.Facts(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Ann drinks tea.", "Bob repairs engines."} {
		if _, _, err := m.Add(t.Context(), memory.Entry{Content: text}); err != nil {
			t.Fatal(err)
		}
	}
	build := func() *pipeline.Result {
		t.Helper()
		r, err := app.Build(t.Context(), pipeline.Query{Text: "Bob repairs engines."}, BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := contents(r); !strings.Contains(got, "Bob") || strings.Contains(got, "Ann") {
			t.Errorf("the build has %q", got)
		}
		return r
	}
	if r := build(); len(r.Diagnostics.Services) != 1 || r.Diagnostics.Services[0].Service != "embed" || r.Diagnostics.Services[0].Name != "vectors" || r.Diagnostics.Services[0].Texts != 3 {
		t.Errorf("used %+v", r.Diagnostics.Services)
	}
	if n, err := app.EmbedFacts(t.Context(), ""); n != 0 || err != nil {
		t.Errorf("%d facts had no vector, %v", n, err)
	}
	semantic, err := app.SemanticFacts(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	found, err := semantic.Relevant(t.Context(), &pipeline.Query{Text: "Ann drinks tea."}, 1, memory.Filter{})
	if err != nil || len(found) != 1 || !strings.Contains(found[0].Entry.Content, "Ann") {
		t.Errorf("found %+v, %v", found, err)
	}
	down, log := loadFacts(t, &modeltest.Server{URL: "http://127.0.0.1:1/v1"}, "{embedder: vectors}")
	if m, err = down.Facts(t.Context(), ""); err == nil {
		_, _, err = m.Add(t.Context(), memory.Entry{Content: "Bob repairs engines."})
	}
	if err != nil {
		t.Fatal(err)
	}
	app = down
	build()
	if n := strings.Count(log.String(), "found by words only"); n != 1 {
		t.Errorf("%d warnings: %s", n, log)
	}
	plain, _ := loadFacts(t, s, "{}")
	if _, err := plain.SemanticFacts(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "facts.embedder") {
		t.Errorf("without an embedder: %v", err)
	}
}

// What the promotion after a build asks of models counts for the key that asked for the build, and for nobody if
// no service asked.
func TestPromotionsAreCharged(t *testing.T) {
	ctx := t.Context()
	s := modeltest.New(t, func(modeltest.Request) modeltest.Answer {
		return modeltest.Answer{Text: `{"add":[],"update":[],"remove":[]}`}
	})
	dir := t.TempDir()
	prices := filepath.Join(dir, "prices.yaml")
	if err := os.WriteFile(prices, []byte("date: 2026-11-27\nsource: a test\nmodels: {m: {input: 1, output: 2}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("counting: {tokenizer: words}\nstore: {path: s.db}\ntelemetry: {prices: prices.yaml}\nmemory: {facts: {extract: {model: small, every: 1}}}\nmodels: {small: {api: openai, base_url: %q, model: m, retries: 0}}\n", s.URL)
	app, err := Load(write(t, dir, text), Options{CacheDir: "off"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = app.Close(context.Background()) }()
	for i, o := range []BuildOptions{{Key: "k", RequestID: "r"}, {Key: "none"}} {
		o.Conversation, o.Remember = fmt.Sprint("c", i), true
		if _, err := app.Build(ctx, pipeline.Query{Text: "I drink tea."}, o); err != nil {
			t.Fatal(err)
		}
		_, end, err := app.promoting.enter(ctx, promotionKey{store.DefaultTenant, o.Conversation}, nil)
		if err != nil {
			t.Fatal(err)
		}
		end()
	}
	rows, err := app.Costs(ctx, time.Now(), time.Now(), "")
	if err != nil || len(rows) != 1 || rows[0].Key != "k" || rows[0].Model != "m" || rows[0].Calls != 1 || rows[0].USD == 0 {
		t.Errorf("%+v, %v", rows, err)
	}
}
