package anchor

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

// Calls that ask for it use the candidate, others the stable version. The candidate becomes the stable version
// without being loaded again, or ends when its last call does.
func TestFollow(t *testing.T) {
	text := func(prompt string) string {
		return fmt.Sprintf("counting: {tokenizer: words}\nwindow: {system_prompts: [{content: %s}]}\n", prompt)
	}
	loaded := func(text string) Configuration {
		l, err := config.LoadFrom("followed", t.TempDir(), func() ([]byte, error) { return []byte(text), nil })
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	app, err := Load(write(t, t.TempDir(), text("own")), Options{Store: store.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	tries := WithCandidate(ctx)
	build := func(ctx context.Context, want string) {
		t.Helper()
		r, err := app.Build(ctx, pipeline.Query{Text: "q"}, BuildOptions{})
		if err != nil || contents(r) != want {
			t.Errorf("built %v, %v; want %q", r, err, want)
		}
	}
	follow := func(stable, candidate Configuration) {
		t.Helper()
		if err := app.Follow(ctx, stable, candidate); err != nil {
			t.Fatal(err)
		}
	}
	build(tries, "own") // there is no candidate
	two := loaded(text("two"))
	follow(loaded(text("one")), two)
	build(ctx, "one")
	build(tries, "two")
	pinned, number, release, err := app.Pin(tries)
	if err != nil || number != 3 || !UsesCandidate(pinned) || UsesCandidate(tries) {
		t.Fatalf("version %d, %v", number, err)
	}
	follow(nil, nil)
	build(tries, "one")
	build(pinned, "two") // which is still open
	release()
	if !await.True(func() bool { return app.Status().Draining == 0 }) {
		t.Fatal("the candidate is not closed")
	}
	follow(nil, two)
	pinned, number, release, err = app.Pin(tries)
	if err != nil || number != 4 {
		t.Fatalf("version %d, %v", number, err)
	}
	follow(two, nil)
	release()
	build(pinned, "two")
	build(ctx, "two")
	if s := app.Status(); s.Number != 4 {
		t.Errorf("the candidate was loaded again: %+v", s)
	}
	broken := loaded("steps: [{name: s, use: i}]\nplugins: {instances: {i: {plugin: none, must: true}}}\n")
	if err := app.Follow(ctx, nil, broken); err == nil {
		t.Error("a broken candidate was loaded")
	}
	build(tries, "two")
	if err := app.Follow(ctx, broken, nil); err == nil {
		t.Error("a broken version was loaded")
	}
	build(ctx, "two")
	follow(nil, loaded(text("three")))
	if err := app.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := app.Follow(ctx, two, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
