package anchor

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

const shared = "window: {max_tokens: 5000}\ncounting: {tokenizer: words}\nstore: {path: memory.db}\nmemory: {conversation: {tokens: 12}, facts: {}}\n"

// on opens an App on the store of a folder.
func on(t testing.TB, dir string) *App {
	t.Helper()
	app, err := Load(filepath.Join(dir, "anchor.yaml"), Options{CacheDir: "off"})
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

// work does everything that writes, n times: it remembers a query, adds a turn, assembles,
// pushes a frame, and adds a fact that others add too and one that they do not.
func work(ctx context.Context, app *App, who string, n int) error {
	facts, err := app.Facts(ctx, "")
	if err != nil {
		return err
	}
	talk, err := app.Conversation(ctx, "", "chat")
	if err != nil {
		return err
	}
	run, err := app.Run(ctx, "", "shared")
	if err != nil {
		return err
	}
	for i := range n {
		own := fmt.Sprint(who, "-", i)
		if _, err := app.Build(ctx, pipeline.Query{Text: own}, BuildOptions{Conversation: "chat", Remember: true}); err != nil {
			return fmt.Errorf("build: %w", err)
		}
		if _, err := talk.Add(ctx, pipeline.Turn{Role: pipeline.RoleAssistant, Content: "to " + own}); err != nil {
			return fmt.Errorf("turn: %w", err)
		}
		if _, err := app.Assemble(ctx, []pipeline.Message{message.New(pipeline.RoleUser, own)}, AssembleOptions{Run: "assembled"}); err != nil {
			return fmt.Errorf("assemble: %w", err)
		}
		if _, err := run.Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: own}, agentrun.PushOptions{}); err != nil {
			return fmt.Errorf("push: %w", err)
		}
		for _, text := range []string{own, fmt.Sprint("common ", i)} {
			if _, _, err := facts.Add(ctx, memory.Entry{Content: text}); err != nil {
				return fmt.Errorf("fact: %w", err)
			}
		}
	}
	return nil
}

// checkWork finds everything that so many workers did, once.
func checkWork(t *testing.T, app *App, workers, n int) {
	t.Helper()
	ctx := t.Context()
	once := func(what string, texts []string, want int) {
		t.Helper()
		seen := map[string]bool{}
		for _, text := range texts {
			if seen[text] {
				t.Errorf("%s: %q is there twice", what, text)
			}
			seen[text] = true
		}
		if len(texts) != want {
			t.Errorf("%d %s, want %d", len(texts), what, want)
		}
	}
	var texts []string
	talk, err := app.Conversation(ctx, "", "chat")
	if err != nil {
		t.Fatal(err)
	}
	turns, err := talk.Turns(ctx, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, turn := range turns {
		texts = append(texts, turn.Content)
	}
	once("turns", texts, 2*workers*n)
	run, err := app.Run(ctx, "", "shared")
	if err != nil {
		t.Fatal(err)
	}
	list, err := run.Frames(ctx, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	texts = nil
	for i, f := range list {
		if texts = append(texts, f.Summary); f.ID != uint64(i) {
			t.Errorf("frame %d has the number %d", i, f.ID)
		}
	}
	once("frames", texts, workers*n)
	facts, err := app.Facts(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := facts.List(ctx, memory.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	texts = nil
	for _, e := range entries {
		texts = append(texts, e.Content)
	}
	once("facts", texts, workers*n+n)
	assembled, err := app.Run(ctx, "", "assembled")
	if err != nil {
		t.Fatal(err)
	}
	state, err := assembled.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	texts = nil
	for _, m := range state.Messages {
		texts = append(texts, fmt.Sprint(m.Text()))
	}
	once("messages", texts, workers*n)
}

// Several Apps on one file lose nothing of what each of them does, and do nothing twice.
func TestAppsOnOneStore(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, shared)
	const workers, n = 4, 8
	var wg sync.WaitGroup
	for i := range workers {
		app := on(t, dir)
		wg.Go(func() {
			if err := work(t.Context(), app, fmt.Sprint("app", i), n); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	checkWork(t, on(t, dir), workers, n)
}

// TestWorker is a process of its own of [TestProcessesOnOneStore].
func TestWorker(t *testing.T) {
	dir := os.Getenv("ANCHOR_TEST_STORE")
	if dir == "" {
		return // it runs only as a process of another test
	}
	n, err := strconv.Atoi(os.Getenv("ANCHOR_TEST_TIMES"))
	if err != nil {
		t.Fatal(err)
	}
	if err := work(t.Context(), on(t, dir), os.Getenv("ANCHOR_TEST_NAME"), n); err != nil {
		t.Error(err)
	}
}

// worker runs [TestWorker] in another process.
func worker(t *testing.T, dir, name string, n int) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWorker$", "-test.count=1")
	cmd.Env = append(os.Environ(), "ANCHOR_TEST_STORE="+dir, "ANCHOR_TEST_NAME="+name, fmt.Sprint("ANCHOR_TEST_TIMES=", n))
	return cmd
}

// Several processes on one file do the same, and an App beside them. One that is killed
// leaves a store that the others go on with.
func TestProcessesOnOneStore(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, shared)
	const workers, n = 3, 6
	var wg sync.WaitGroup
	for i := range workers - 1 {
		wg.Go(func() {
			if out, err := worker(t, dir, fmt.Sprint("process", i), n).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	app := on(t, dir)
	if err := work(t.Context(), app, "app", n); err != nil {
		t.Error(err)
	}
	wg.Wait()
	checkWork(t, app, workers, n)

	killed := worker(t, dir, "killed", 10_000)
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	waitForTurn(t, app, "killed-0")
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait() // its error is that it was killed
	if err := work(t.Context(), app, "after", 2); err != nil {
		t.Error(err)
	}
	waitForTurn(t, on(t, dir), "after-1")
}

// waitForTurn waits until a conversation has a turn.
func waitForTurn(t *testing.T, app *App, text string) {
	t.Helper()
	talk, err := app.Conversation(t.Context(), "", "chat")
	if err != nil {
		t.Fatal(err)
	}
	if !await.True(func() bool {
		found, err := talk.Search(t.Context(), text)
		if err != nil {
			t.Fatal(err)
		}
		return len(found) > 0
	}) {
		t.Fatalf("no turn %q", text)
	}
}

// One App forgets while another remembers. Whatever comes first, what is left can be read,
// and the run goes on.
func TestForgettingWhileAnotherRemembers(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, shared)
	first, second := on(t, dir), on(t, dir)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		defer stop()
		if err := work(t.Context(), first, "first", 20); err != nil {
			t.Error(err)
		}
	})
	forgotten := 0
	for ctx.Err() == nil {
		n, err := second.ForgetTenant(t.Context(), "default")
		if err != nil {
			t.Fatal(err)
		}
		forgotten += n
		for _, err := range reads(t.Context(), second) {
			t.Error(err)
		}
	}
	wg.Wait()
	if forgotten == 0 {
		t.Error("nothing was forgotten: this shows nothing")
	}
	if err := work(t.Context(), second, "second", 2); err != nil {
		t.Error(err)
	}
	for _, err := range reads(t.Context(), first) {
		t.Error(err)
	}
	var exported strings.Builder
	if err := first.Export(t.Context(), "", &exported, nil); err != nil {
		t.Error(err)
	}
	if _, err := first.Import(t.Context(), "copy", strings.NewReader(exported.String())); err != nil {
		t.Error(err)
	}
}

// reads reads all that the work writes, and returns what failed.
func reads(ctx context.Context, app *App) (failed []error) {
	check := func(what string, err error) {
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", what, err))
		}
	}
	_, err := app.Build(ctx, pipeline.Query{Text: "q"}, BuildOptions{Conversation: "chat"})
	check("build", err)
	run, err := app.Run(ctx, "", "shared")
	check("run", err)
	_, err = run.Window(ctx)
	check("window", err)
	_, err = run.State(ctx)
	check("state", err)
	facts, err := app.Facts(ctx, "")
	check("facts", err)
	_, err = facts.List(ctx, memory.Filter{})
	check("list", err)
	return failed
}
