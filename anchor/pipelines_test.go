package anchor

import (
	"errors"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
)

const named = basic + `
memory: {facts: {user: someone}}
pipelines:
  short: {window: {max_tokens: 5}, format: openai, steps: [], memory: {facts: null}}
  other: {window: {system_prompts: [{content: long}]}, steps: [{name: one, use: top_k, top_k: 1}], memory: {facts: null}}
`

func TestNamedPipelines(t *testing.T) {
	app := load(t, named)
	given := items("a one", "b two", "c three")
	for _, tt := range []struct {
		o            BuildOptions
		want, format string
		size         int
	}{
		{BuildOptions{}, "be brief|a one|b two", "generic", 50},
		{BuildOptions{Pipeline: "short"}, "be brief|a one", "openai", 5},
		{BuildOptions{Pipeline: "short", MaxTokens: 30, Format: "generic"}, "be brief|a one|b two|c three", "generic", 30},
		{BuildOptions{Pipeline: "other"}, "long|a one", "generic", 50},
		{BuildOptions{Pipeline: "other", Skip: []string{"one"}}, "long|a one|b two|c three", "generic", 50},
	} {
		tt.o.Items = given
		r, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, tt.o)
		if err != nil {
			t.Errorf("%+v: %v", tt.o, err)
			continue
		}
		if contents(r) != tt.want || r.FormatType != tt.format || r.Window.MaxTokens != tt.size {
			t.Errorf("%+v: %q, %s, %d tokens", tt.o, contents(r), r.FormatType, r.Window.MaxTokens)
		}
	}
	if _, err := app.Build(t.Context(), pipeline.Query{}, BuildOptions{Pipeline: "shrt"}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), `no pipeline "shrt" (did you mean "short"?)`) {
		t.Errorf("an unknown pipeline: %v", err)
	}
}

func TestRequestsOfNamedPipelines(t *testing.T) {
	app := load(t, named)
	for document, want := range map[string]string{
		`{"query": "q", "pipeline": "other", "items": [{"content": "a", "source": "user"}]}`:                                                                                         "long|a",
		`{"query": "q", "pipeline": "other", "window": {"max_tokens": 2, "system_prompts": [], "include_query": false}, "conversation": [{"role": "user", "content": "hello you"}]}`: "hello you",
		`{"query": "q", "pipeline": "short", "steps": [{"name": "none", "use": "min_score", "settings": {"min_score": 1}}], "items": [{"content": "a", "source": "user"}]}`:          "be brief",
	} {
		r, err := app.BuildRequest(t.Context(), "request", strings.NewReader(document), BuildOptions{})
		if err != nil || contents(r) != want {
			t.Errorf("%s: %v, %v, want %q", document, r, err, want)
		}
	}
	_, err := app.BuildRequest(t.Context(), "request", strings.NewReader(`{"query": "q", "pipeline": "no"}`), BuildOptions{})
	if want := `request:1:28: pipeline: no pipeline "no"`; !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// An override counts before what a pipeline states.
func TestOverridesOfNamedPipelines(t *testing.T) {
	app, err := Load(write(t, t.TempDir(), named), Options{Lazy: true, Overrides: map[string]string{"window.max_tokens": "33", "counting.tokenizer": "words"}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, BuildOptions{Pipeline: "short"})
	if err != nil || r.Window.MaxTokens != 33 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := app.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestWrongPipelines(t *testing.T) {
	for text, want := range map[string]string{
		"pipelines: {a: {max_tokns: 4}}":                                 "f:1:28: pipelines.a.max_tokns: a pipeline has no such key",
		"pipelines: {a: {plugins: {instances: {}}}}":                     "f:1:26: pipelines.a.plugins: a pipeline has no such key",
		"pipelines: {a: 4}":                                              "f:1:16: pipelines.a: want a map of keys",
		"pipelines: {a: {steps: [{name: s, use: a_b}]}}":                 "pipelines.a.steps[0].use: ",
		"pipelines: {a: {window: {max_tokens: 0}}}":                      "pipelines.a.window.max_tokens: want 1 or more, got 0",
		"memory: {conversation: {}}\npipelines: {a: {memory: {use: p}}}": "pipelines.a.memory: use and conversation exclude each other",
		"memory: {use: p}\npipelines: {a: {memory: {conversation: {}}}}": "pipelines.a.memory: use and conversation exclude each other",
		"counting: {tokenizer: words}\npipelines: {a: {counting: {model: gpt-4o}}, b: {counting: {tokenizer: none}}}": `pipelines.b.counting.tokenizer: unknown value "none"`,
	} {
		_, err := config.Parse("f", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %q", text, err, want)
			continue
		}
		if strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%s: more than one problem: %v", text, err)
		}
	}
}
