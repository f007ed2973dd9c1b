package anchor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline"
)

// What an option cannot do is refused: it has no effect with the other values of the build.
func TestOptionsWithoutEffectAreRefused(t *testing.T) {
	app := load(t, basic)
	for want, o := range map[string]BuildOptions{
		"window.cut_min_tokens: needs truncate":            {CutMinTokens: 4},
		"window.cut_min_tokens: want 1 or more":            {Truncate: "sentence", CutMinTokens: -1},
		"format_options.caching: needs format: anthropic":  {Format: "openai", FormatOptions: &FormatOptions{Caching: true}},
		"format_options.breakpoints: needs caching":        {Format: "anthropic", FormatOptions: &FormatOptions{Breakpoints: "auto"}},
		"format_options.model: needs breakpoints: auto":    {Format: "anthropic", FormatOptions: &FormatOptions{Caching: true, Breakpoints: "fixed", Model: "claude-sonnet-4-5"}},
		"format_options.max_output_tokens: needs the form": {Format: "generic", FormatOptions: &FormatOptions{MaxOutput: 9}},
		"tools: {}: invalid":                               {Tools: json.RawMessage("{}")},
		"format_options.breakpoints: unknown value":        {Format: "anthropic", FormatOptions: &FormatOptions{Caching: true, Breakpoints: "x"}},
		`only: no step "god" (did you mean "good`:          {Only: []string{"god"}},
		`skip: no step "god" (did you mean "good`:          {Skip: []string{"god"}},
		`skip: "items" is the step of the given items`:     {Skip: []string{"items"}, Items: items("a")},
		`only: no step "items"`:                            {Only: []string{"items"}},
	} {
		if _, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, o); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
	r, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, BuildOptions{Only: []string{"items"}, Items: items("a", "b", "c")})
	if err != nil || contents(r) != "be brief|a|b|c" {
		t.Errorf("only the given items: %v, %v", r, err)
	}
}

// A request that names a pipeline has that pipeline's time, however short the time of the
// others is. The error says how to give it more.
func TestTimeoutOfANamedPipeline(t *testing.T) {
	app := load(t, "counting: {tokenizer: words}\ntimeout: 1ns\npipelines: {long: {timeout: 1m}}\n")
	_, err := app.BuildRequest(t.Context(), "request", strings.NewReader(`{"query": "q", "pipeline": "long"}`), BuildOptions{})
	if err != nil {
		t.Errorf("named pipeline: %v", err)
	}
	_, err = app.Build(t.Context(), pipeline.Query{Text: "q"}, BuildOptions{})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "(all of it may take 1ns: raise timeout)") {
		t.Errorf("%v", err)
	}
	_, err = app.Assemble(t.Context(), nil, AssembleOptions{Timeout: time.Nanosecond})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "(all of it may take 1ns: raise timeout)") {
		t.Errorf("assembly: %v", err)
	}
}

// The file of a calibration is read once for a generation: a build does not wait for it,
// and one that is gone later ends none.
func TestCalibrationIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	figures := filepath.Join(dir, "usage.jsonl")
	line := `{"model": "claude-sonnet-4-5", "base_tokens": 1000, "usage": {"input_tokens": 1100}}` + "\n" +
		`{"model": "claude-opus-4-1", "base_tokens": 1000, "usage": {"input_tokens": 1200}}` + "\n"
	if err := os.WriteFile(figures, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	app, err := Load(write(t, dir, "counting: {model: claude-sonnet-4-5, calibration: usage.jsonl}\n"), Options{CacheDir: "off"})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(t.Context())
	o := BuildOptions{Model: "claude-opus-4-1", SystemPrompts: []pipeline.SystemPrompt{{Content: strings.Repeat("one two ", 500)}}}
	first, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(figures); err != nil {
		t.Fatal(err)
	}
	again, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, o)
	if err != nil {
		t.Fatal(err)
	}
	if first.Window.UsedTokens != again.Window.UsedTokens {
		t.Errorf("%d tokens, then %d", first.Window.UsedTokens, again.Window.UsedTokens)
	}
	if err := app.Reload(t.Context()); !errors.Is(err, ErrInvalid) {
		t.Errorf("a reload without the file: %v", err)
	}
}

// What a store waits for before a change counts cannot change while it is open.
func TestReloadOfStoreSettings(t *testing.T) {
	dir := t.TempDir()
	app, err := Load(write(t, dir, "counting: {tokenizer: words}\nstore: {path: memory.db}\n"), Options{CacheDir: "off"})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(t.Context())
	for text, want := range map[string]string{
		"counting: {tokenizer: words}\nstore: {path: memory.db, synchronous: normal}\n": "store.synchronous: the store cannot change while running",
		"counting: {tokenizer: words}\nstore: {path: other.db}\n":                       "store.path: the store cannot change while running",
		"counting: {tokenizer: words}\nstore: {path: memory.db, synchronous: full}\n":   "",
	} {
		write(t, dir, text)
		err := app.Reload(t.Context())
		if want == "" && err != nil || want != "" && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A pipeline that takes the model away keeps the tokenizer of the top, and the other way
// round.
func TestPipelinesThatTakeAway(t *testing.T) {
	app := load(t, "counting: {tokenizer: words}\nwindow: {system_prompts: [{content: a-b-c}]}\npipelines:\n  a: {counting: {model: null}}\n  b: {counting: {tokenizer: null}}\n  c: {counting: {model: gpt-4o}}\n")
	for name, want := range map[string]int{"": 1, "a": 1, "b": 3, "c": 3} {
		r, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, BuildOptions{Pipeline: name})
		if err != nil || r.Window.UsedTokens != want {
			t.Errorf("pipeline %q: %+v, %v, want %d tokens", name, r, err, want)
		}
	}
	app = load(t, "counting: {model: gpt-4o}\nwindow: {system_prompts: [{content: a-b-c}]}\npipelines:\n  a: {counting: {tokenizer: null}}\n  b: {counting: {model: null, tokenizer: words}}\n")
	for name, want := range map[string]int{"": 3, "a": 3, "b": 1} {
		r, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, BuildOptions{Pipeline: name})
		if err != nil || r.Window.UsedTokens != want {
			t.Errorf("pipeline %q: %+v, %v, want %d tokens", name, r, err, want)
		}
	}
}
