package anchor

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/component"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/llm"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// letters is an embedder in Go: a vector counts letters.
type letters struct{ id string }

func (l letters) Model(context.Context) (retrieve.Model, error) {
	return retrieve.Model{ID: "letters:" + l.id, Dimension: 26}, nil
}

func (letters) Embed(_ context.Context, _ retrieve.Side, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, text := range texts {
		out[i] = make([]float32, 26)
		for _, r := range strings.ToLower(text) {
			if r >= 'a' && r <= 'z' {
				out[i][r-'a']++
			}
		}
	}
	return out, nil
}

// parrot is a model in Go: it says what it is told.
type parrot struct{}

func (parrot) Ask(_ context.Context, r llm.Request) (llm.Answer, error) {
	if text := r.Messages[len(r.Messages)-1].Content; text != "panic" {
		return llm.Answer{Text: text}, nil
	}
	panic("polly")
}

const servicesInGo = `
collections: {docs: {embedder: mine}}
embedders: {mine: {use: letters, settings: {id: v1}}}
models: {polly: {use: parrot, max_output_tokens: 7, timeout: 5s}}
`

// An embedder and a model in Go serve entries of embedders and models, with settings and a schema.
func TestServicesInGo(t *testing.T) {
	makes := func(_ context.Context, s component.Settings) (retrieve.Embedder, error) {
		return letters{s["id"].(string)}, nil
	}
	c := Components{
		Embedders: map[string]component.Maker[retrieve.Embedder]{"letters": {
			New: makes, Schema: `{"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}`,
		}},
		Models: always[llm.Asker]("parrot", parrot{}),
	}
	app := opened(t, servicesInGo, c)
	e, err := app.CollectionEmbedder("docs")
	if err != nil {
		t.Fatal(err)
	}
	if m, err := e.Model(t.Context()); err != nil || m.ID != "letters:v1" {
		t.Errorf("model %v, error %v", m, err)
	}
	if v, err := e.Embed(t.Context(), retrieve.SideDocument, []string{"aab"}); err != nil || len(v) != 1 || v[0][0] != 2 {
		t.Errorf("vectors %v, error %v", v, err)
	}
	g, err := app.newest()
	if err != nil {
		t.Fatal(err)
	}
	defer g.Release()
	m, err := g.Model("polly")
	if err != nil {
		t.Fatal(err)
	}
	say := func(text string, schema string) (llm.Answer, error) {
		return m.Ask(t.Context(), llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Content: text}}, Schema: []byte(schema)})
	}
	if a, err := say("hello", ""); err != nil || a.Text != "hello" || a.OutputTokens == 0 {
		t.Errorf("answer %+v, error %v", a, err)
	}
	var failed *llm.Error
	if _, err := say("no JSON", `{"type": "object"}`); !errors.As(err, &failed) || failed.Kind != llm.Invalid {
		t.Errorf("an answer beside its schema: %v", err)
	}
	if _, err := say("panic", ""); !errors.As(err, &failed) || failed.Kind != llm.Unavailable || !strings.Contains(err.Error(), "parrot") {
		t.Errorf("a panic: %v", err)
	}
	if _, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, BuildOptions{}); err != nil {
		t.Error(err)
	}
	for yaml, want := range map[string]string{
		strings.ReplaceAll(servicesInGo, "id: v1", "id: 1"):                           "embedders.mine.settings",
		strings.ReplaceAll(servicesInGo, "use: letters", "use: parrot"):               "embedders.mine.use",
		strings.ReplaceAll(servicesInGo, "use: parrot", "use: absent"):                `no Go model "absent"`,
		strings.ReplaceAll(servicesInGo, "use: parrot,", "use: parrot, api: openai,"): "use excludes api",
		strings.ReplaceAll(servicesInGo, "use: parrot,", ""):                          "has no api",
	} {
		app, err := LoadBytes([]byte(yaml), t.TempDir(), Options{Components: c, Store: store.NewMemory()})
		if err == nil {
			_ = app.Close(context.Background())
		}
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A component that cannot be made is said when the configuration is loaded, and is an error where it is needed.
func TestServiceInGoThatFails(t *testing.T) {
	var log bytes.Buffer
	c := Components{Models: always[llm.Asker]("parrot", parrot{}), Embedders: map[string]component.Maker[retrieve.Embedder]{
		"letters": {New: func(context.Context, component.Settings) (retrieve.Embedder, error) { return nil, errors.New("no ink") }},
	}}
	app, err := LoadBytes([]byte(servicesInGo), t.TempDir(), Options{Components: c, Store: store.NewMemory(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(context.Background())
	window(t, app, BuildOptions{})
	if !strings.Contains(log.String(), "key=embedders.mine") || !strings.Contains(log.String(), "no ink") {
		t.Errorf("the log does not say it:\n%s", &log)
	}
	e, err := app.Embedder("mine")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Model(t.Context()); err == nil || !strings.Contains(err.Error(), "no ink") {
		t.Errorf("error %v", err)
	}
}
