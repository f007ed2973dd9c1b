package anchor

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

func TestReload(t *testing.T) {
	dir := t.TempDir()
	app, err := Load(write(t, dir, "counting: {tokenizer: words}\nwindow: {system_prompts: [{content: one}]}\n"),
		Options{Store: store.NewMemory(), Overrides: map[string]string{"window.max_tokens": "7"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	build := func() (string, int) {
		t.Helper()
		r, err := app.Build(ctx, pipeline.Query{Text: "q"}, BuildOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return contents(r), r.Window.MaxTokens
	}
	for _, tt := range []struct{ text, want, failure string }{
		{"counting: {tokenizer: words}\nwindow: {system_prompts: [{content: two}]}\n", "two", ""},
		{"tokenizr: words\n", "two", "unknown key"},
		{"steps: [{name: s, use: i}]\nplugins: {instances: {i: {plugin: none, must: true}}}\n", "two", `step "s": plugin "i"`},
		{"counting: {tokenizer: words}\nwindow: {system_prompts: [{content: three}]}\n", "three", ""},
	} {
		write(t, dir, tt.text)
		err := app.Reload(ctx)
		if (tt.failure == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.failure) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.failure)
		}
		if got, size := build(); got != tt.want || size != 7 {
			t.Errorf("%q: built %q of %d tokens, want %q of 7", tt.text, got, size, tt.want)
		}
	}
	if err := app.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := app.Reload(ctx); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A build that runs during a reload ends on what it began with, and Close waits for it.
func TestReloadDuringBuilds(t *testing.T) {
	dir := t.TempDir()
	app, err := Load(write(t, dir, "counting: {tokenizer: words}\nwindow: {system_prompts: [{content: old}]}\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	began, goOn := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		hold := pipeline.Callback{OnPipelineStart: func(context.Context, *pipeline.Query) error { close(began); <-goOn; return nil }}
		r, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, BuildOptions{Callbacks: []pipeline.Callback{hold}})
		if err != nil || contents(r) != "old" {
			t.Errorf("%v, %v: want the old prompt", r, err)
		}
	})
	<-began
	write(t, dir, "counting: {tokenizer: words}\nwindow: {system_prompts: [{content: new}]}\n")
	if err := app.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, BuildOptions{}); err != nil || contents(r) != "new" {
		t.Errorf("%v, %v: want the new prompt", r, err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := app.Close(soon); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Close did not wait: %v", err)
	}
	close(goOn)
	if err := app.Close(t.Context()); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

// Calls with a pinned context see one version, and the version stays open until the pin is
// released. A reload that fails is noted, and changes no number.
func TestPin(t *testing.T) {
	dir := t.TempDir()
	app, err := Load(write(t, dir, "counting: {tokenizer: words}\nwindow: {system_prompts: [{content: one}]}\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(t.Context())
	pinned, number, release, err := app.Pin(t.Context())
	if err != nil || number != 1 {
		t.Fatalf("version %d, %v", number, err)
	}
	write(t, dir, "counting: {tokenizer: words}\nwindow: {system_prompts: [{content: two}]}\n")
	if err := app.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	build := func(ctx context.Context, want string) {
		t.Helper()
		r, err := app.Build(ctx, pipeline.Query{Text: "q"}, BuildOptions{})
		if err != nil || contents(r) != want {
			t.Errorf("built %v, %v; want %q", r, err, want)
		}
	}
	build(pinned, "one")
	build(t.Context(), "two")
	if s := app.Status(); s.Number != 2 || s.Draining != 1 || s.Last.Err != nil || s.Last.Time.IsZero() {
		t.Errorf("while pinned: %+v", s)
	}
	release()
	release() // has no effect
	build(pinned, "two")
	if !await.True(func() bool { return app.Status().Draining == 0 }) {
		t.Fatal("the released version is not closed")
	}
	write(t, dir, "tokenizr: words\n")
	if err := app.Reload(t.Context()); err == nil {
		t.Error("a broken file was loaded")
	}
	if s := app.Status(); s.Number != 2 || s.Last.Err == nil || s.File == "" {
		t.Errorf("after a failure: %+v", s)
	}
	if len(app.Settings()) == 0 {
		t.Error("no settings")
	}
}
