package anchor

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/request"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/store"
)

// write writes a configuration file and returns its path.
func write(t testing.TB, dir, text string) string {
	t.Helper()
	path := filepath.Join(dir, "anchor.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// load loads a configuration with a store in memory.
func load(t testing.TB, text string) *App {
	t.Helper()
	app, err := Load(write(t, t.TempDir(), text), Options{Store: store.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := app.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return app
}

func contents(r *pipeline.Result) string {
	var all []string
	for _, it := range r.Window.Items {
		all = append(all, it.Content)
	}
	return strings.Join(all, "|")
}

func items(texts ...string) []pipeline.Item {
	list := make([]pipeline.Item, len(texts))
	for i, text := range texts {
		list[i] = pipeline.Item{ID: fmt.Sprint(i), Content: text, Source: pipeline.SourceRetrieval, Score: 1 - float64(i)/100, Priority: 5}
	}
	return list
}

const basic = `
window: {max_tokens: 50, system_prompts: [{content: be brief}]}
counting: {tokenizer: words}
steps:
  - {name: best, use: top_k, top_k: 2}
  - {name: good, use: min_score, settings: {min_score: 0.99}}
`

func TestOptionsOfABuild(t *testing.T) {
	app := load(t, basic)
	given := items("a one", "b two", "c three")
	turns := []pipeline.Turn{{Role: pipeline.RoleUser, Content: "said before"}}
	for _, tt := range []struct {
		name string
		o    BuildOptions
		want string
	}{
		{"none", BuildOptions{}, "be brief"},
		{"items", BuildOptions{Items: given}, "be brief|a one|b two"},
		{"only", BuildOptions{Items: given, Only: []string{"good"}}, "be brief|a one|b two"},
		{"skip", BuildOptions{Items: given, Skip: []string{"good", "best"}}, "be brief|a one|b two|c three"},
		{"max tokens", BuildOptions{Items: given, MaxTokens: 5}, "be brief|a one"},
		{"no query", BuildOptions{Items: given, MaxTokens: 4, IncludeQuery: new(bool)}, "be brief|a one"},
		{"prompts", BuildOptions{SystemPrompts: []pipeline.SystemPrompt{{Content: "other"}}}, "other"},
		{"no prompts", BuildOptions{SystemPrompts: []pipeline.SystemPrompt{}}, ""},
		{"turns", BuildOptions{Turns: turns}, "be brief|said before"},
		{"budget", BuildOptions{Items: given, Budget: &fill.Budget{TotalTokens: 50, ReserveTokens: 45}}, "be brief|a one"},
		{"truncate", BuildOptions{Items: items("a b c d e"), MaxTokens: 6, Truncate: "character", CutMinTokens: 1}, "be brief|a b c"},
	} {
		r, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, tt.o)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := contents(r); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestFormatsOfABuild(t *testing.T) {
	app := load(t, basic)
	for _, tt := range []struct {
		o    BuildOptions
		want string
	}{
		{BuildOptions{}, "generic"},
		{BuildOptions{Format: "openai"}, "openai"},
		{BuildOptions{Format: "anthropic", FormatOptions: &FormatOptions{Caching: true}}, "anthropic"},
		{BuildOptions{Formatter: format.OpenAI{}}, "openai"},
	} {
		r, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, tt.o)
		if err != nil || r.FormatType != tt.want {
			t.Errorf("%+v: %v, want %s", tt.o, err, tt.want)
		}
	}
}

func TestRefusedOptions(t *testing.T) {
	app := load(t, basic)
	for want, o := range map[string]BuildOptions{
		"window.max_tokens: want 1 or more, got -1": {MaxTokens: -1},
		"model and tokenizer exclude":               {Model: "gpt-4o", Tokenizer: "words"},
		"a formatter and format":                    {Format: "openai", Formatter: format.OpenAI{}},
		"preset and budget":                         {Preset: "rag", Budget: &fill.Budget{}},
		"counting.tokenizer: unknown value":         {Tokenizer: "no"},
		"window.fit: unknown value":                 {Fit: "no"},
		"tenant: want a name":                       {Tenant: "a\x00"},
		"timeout: ":                                 {Timeout: -1},
		`no step "god" (did you mean "good`:         {Skip: []string{"god"}},
		"a conversation of the store and":           {Conversation: "c", Turns: []pipeline.Turn{{}}},
		"no conversation of the store":              {Remember: true},
	} {
		if _, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, o); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}

// Every option is applied: none can be ignored. What is named beside a request is an option.
func TestOptionsAreApplied(t *testing.T) {
	applied, options := readOptions(t), reflect.VisibleFields(reflect.TypeFor[BuildOptions]())
	for _, f := range options {
		if !applied[f.Name] {
			t.Errorf("option %s is not applied", f.Name)
		}
	}
	for _, name := range request.BesideFields {
		if !slices.ContainsFunc(options, func(f reflect.StructField) bool { return f.Name == name }) {
			t.Errorf("there is no option %s", name)
		}
	}
}

// readOptions returns the fields of the options that the files of a build read.
func readOptions(t *testing.T) map[string]bool {
	t.Helper()
	read := map[string]bool{}
	for _, name := range []string{"apply.go", "build.go", "builds.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if of := types.ExprString(s.X); of == "o" || of == "b.options" {
					read[s.Sel.Name] = true
				}
			}
			return true
		})
	}
	return read
}

func TestBuildRequest(t *testing.T) {
	app := load(t, basic)
	document := `{"query": "q", "counting": {"tokenizer": "words"}, "items": [{"content": "hello world", "source": "user"}]}`
	for _, c := range []struct{ yaml, document, want string }{
		{basic, document, "be brief"}, // the step good drops the item
		{basic, strings.Replace(document, "{", `{"steps": [], "window": {"system_prompts": []}, `, 1), "hello world"},
		{basic + "pipelines: {p: {}}\n", document, "be brief"}, // a pipeline changes no request that does not name it
		{basic + "pipelines: {p: {}}\n", strings.Replace(document, "{", `{"pipeline": "p", `, 1), "be brief"},
	} {
		r, err := load(t, c.yaml).BuildRequest(t.Context(), "request", strings.NewReader(c.document), BuildOptions{Tenant: "other"})
		if err != nil || contents(r) != c.want {
			t.Errorf("%s with %s: %v, want %q", c.document, c.yaml, err, c.want)
		}
	}
	for want, o := range map[string]BuildOptions{
		"option MaxTokens and a request": {MaxTokens: 5},
		"option Explain and a request":   {Explain: true},
	} {
		if _, err := app.BuildRequest(t.Context(), "request", strings.NewReader(document), o); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := app.BuildRequest(t.Context(), "request", strings.NewReader(`{"qery": 1}`), BuildOptions{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a wrong request: %v", err)
	}
}

// Conversations of tenants stay apart, whatever runs at the same time.
func TestConversationsAtTheSameTime(t *testing.T) {
	app := load(t, basic)
	var wg sync.WaitGroup
	for i := range 40 {
		o := BuildOptions{Tenant: fmt.Sprint("t", i%4), Conversation: fmt.Sprint("c", i/4), Remember: true}
		wg.Go(func() {
			own := o.Tenant + o.Conversation
			for n := range 4 {
				r, err := app.Build(t.Context(), pipeline.Query{Text: own}, o)
				if err != nil {
					t.Error(err)
					return
				}
				if want := "be brief" + strings.Repeat("|"+own, n); contents(r) != want {
					t.Errorf("%q, want %q", contents(r), want)
				}
			}
		})
	}
	wg.Wait()
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(filepath.Join(dir, "none.yaml"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	for want, o := range map[string]Options{
		`"max_tokns" is not a path`: {Overrides: map[string]string{"max_tokns": "5"}},
		"window.max_tokens: want":   {Overrides: map[string]string{"window.max_tokens": "x"}},
	} {
		if _, err := Load(write(t, dir, basic), o); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	broken := "steps: [{name: s, use: i}]\nplugins: {instances: {i: {plugin: none, must: true}}}\n"
	if _, err := Load(write(t, dir, broken), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a required plugin: %v", err)
	}
	app, err := Load(write(t, dir, broken), Options{Lazy: true, Overrides: map[string]string{"window.max_tokens": "5"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, BuildOptions{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a required plugin, later: %v", err)
	}
	if err := app.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := app.Build(t.Context(), pipeline.Query{}, BuildOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestTimeout(t *testing.T) {
	app := load(t, basic)
	slow := pipeline.Callback{OnPipelineStart: func(ctx context.Context, _ *pipeline.Query) error { <-ctx.Done(); return nil }}
	_, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, BuildOptions{Timeout: 5 * time.Millisecond, Callbacks: []pipeline.Callback{slow}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

func TestAssemble(t *testing.T) {
	app := load(t, basic)
	say := func(texts ...string) (list []pipeline.Message) {
		for _, text := range texts {
			list = append(list, message.New(pipeline.RoleUser, text))
		}
		return list
	}
	got, err := app.Assemble(t.Context(), say("a b c", "d e"), AssembleOptions{MaxMessages: 1})
	if err != nil || len(got.Messages) != 1 || got.Messages[0].Text() != "d e" || len(got.State.Messages) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	for i, want := range []int{1, 2, 3} {
		got, err := app.Assemble(t.Context(), say(fmt.Sprint("message ", i)), AssembleOptions{Run: "fix-42", Tenant: "acme"})
		if err != nil || len(got.Messages) != want {
			t.Errorf("assembly %d of a run: %+v, %v", i, got, err)
		}
	}
	if got, err := app.Assemble(t.Context(), say("m"), AssembleOptions{Run: "fix-42", Tenant: "other"}); err != nil || len(got.Messages) != 1 {
		t.Errorf("another tenant's run of the same name: %+v, %v", got, err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := app.Assemble(t.Context(), say("m"), AssembleOptions{Run: "shared"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err = app.Assemble(t.Context(), nil, AssembleOptions{Run: "shared"})
	if err != nil || len(got.State.Messages) != 8 {
		t.Errorf("assemblies of one run at the same time: %+v, %v", got, err)
	}
	if _, err := app.Assemble(t.Context(), nil, AssembleOptions{Phase: agent.Phase("no")}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a wrong phase: %v", err)
	}
}

// BenchmarkBuild compares a build of a pipeline alone, of one item, with builds of an App:
// with the options that make it the same window, with more of them, and with a conversation.
func BenchmarkBuild(b *testing.B) {
	app := load(b, basic)
	given := items("a word")
	step := pipeline.StepFunc(func(_ context.Context, _ *pipeline.Query, list []pipeline.Item) ([]pipeline.Item, error) {
		return append(list, core.CloneItems(given)...), nil
	})
	p, err := pipeline.New(pipeline.Config{MaxTokens: 50, Tokenizer: pipeline.WordTokenizer(), Steps: []pipeline.StepConfig{{Name: "items", Step: step}}})
	if err != nil {
		b.Fatal(err)
	}
	q := pipeline.Query{Text: "q"}
	b.Run("pipeline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := p.Build(b.Context(), q); err != nil {
				b.Fatal(err)
			}
		}
	})
	for name, o := range map[string]BuildOptions{
		"app": {Items: given, Skip: []string{"best", "good"}, SystemPrompts: []pipeline.SystemPrompt{}},
		"options": {
			Items: given, Skip: []string{"best", "good"}, SystemPrompts: []pipeline.SystemPrompt{}, Tenant: "acme", MaxTokens: 60,
			Format: "openai", Fill: "value_per_token", Preset: "rag", Order: "chronological",
		},
		"conversation": {Items: given, Skip: []string{"best", "good"}, SystemPrompts: []pipeline.SystemPrompt{}, Conversation: "c"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := app.Build(b.Context(), q, o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
