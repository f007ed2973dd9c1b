package anchor

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/agentrun"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/store"
)

// What the caller gave and is wrong is ErrInvalid, wherever that is found out.
func TestWrongArgumentsAreErrInvalid(t *testing.T) {
	app := load(t, usersConfig)
	ctx := t.Context()
	item := func(change func(*pipeline.Item)) BuildOptions {
		it := pipeline.Item{ID: "a", Content: "x"}
		change(&it)
		return BuildOptions{Items: []pipeline.Item{{ID: "good", Content: "y"}, it}}
	}
	of := func(_ any, err error) error { return err }
	users := []pipeline.Message{message.New(pipeline.RoleUser, "hi")}
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"role of a turn":            {of(app.Build(ctx, pipeline.Query{Text: "q"}, BuildOptions{Turns: []pipeline.Turn{{Role: pipeline.RoleUser, Content: "a"}, {Role: "boss"}}})), `turns[1]: turn: role "boss"`},
		"role of a message":         {of(app.Assemble(ctx, []pipeline.Message{message.New("boss", "x")}, AssembleOptions{})), `role "boss"`},
		"score of an item":          {of(app.Build(ctx, pipeline.Query{Text: "q"}, item(func(it *pipeline.Item) { it.Score = 2 }))), `items[1]: item "a": score 2`},
		"no number for a score":     {of(app.Build(ctx, pipeline.Query{Text: "q"}, item(func(it *pipeline.Item) { it.Score = math.NaN() }))), "NaN"},
		"metadata of an item":       {of(app.Build(ctx, pipeline.Query{Text: "q"}, item(func(it *pipeline.Item) { it.Metadata = map[string]any{"f": func() {}} }))), "func()"},
		"source of an item":         {of(app.Build(ctx, pipeline.Query{Text: "q"}, item(func(it *pipeline.Item) { it.Source = "web" }))), `items[1]: item "a": source "web"`},
		"size of a budget":          {of(app.Build(ctx, pipeline.Query{Text: "q"}, BuildOptions{Budget: &fill.Budget{TotalTokens: -1}})), "window.budget: total_tokens -1"},
		"source of a budget":        {of(app.Build(ctx, pipeline.Query{Text: "q"}, BuildOptions{Budget: &fill.Budget{Allocations: []fill.Allocation{{Source: "web"}}}})), `allocations[0]: source "web"`},
		"name of a user":            {of(app.Build(ctx, pipeline.Query{Text: "q"}, BuildOptions{User: "ann\n"})), `user: want a name of at most 256 bytes without control characters, got "ann\n"`},
		"name of a session":         {of(app.Build(ctx, pipeline.Query{Text: "q"}, BuildOptions{Session: "s\xff"})), `session: want a name`},
		"user of messages":          {of(app.Assemble(ctx, users, AssembleOptions{User: "ann\n"})), "user: want a name"},
		"user of a promotion":       {of(app.Promote(ctx, "c", PromoteOptions{User: "ann\n"})), "user: want a name"},
		"name of a run":             {of(app.Run(ctx, "", "a\x01b")), "without control characters"},
		"long name":                 {of(app.Run(ctx, "", strings.Repeat("a", 2000))), "bytes"},
		"no name":                   {of(app.Run(ctx, "", "")), "the name is empty"},
		"run of messages":           {of(app.Assemble(ctx, users, AssembleOptions{Run: "a\x01b"})), "without control characters"},
		"bad line":                  {of(app.Import(ctx, "", strings.NewReader("{\"kind\":\"fact\"}\n"))), "line 1"},
		"empty query":               {of(app.Build(ctx, pipeline.Query{Text: " "}, BuildOptions{Conversation: "c", Remember: true})), "the query is empty"},
		"state of another run":      {of(app.Assemble(ctx, users, AssembleOptions{Run: "r", State: &agent.State{RunID: "other"}})), `state is that of run "other"`},
		"evaluation that remembers": {of(app.Evaluate(ctx, EvaluateOptions{Build: BuildOptions{Conversation: "c", Remember: true}})), "build.remember"},
	} {
		if !errors.Is(tt.err, ErrInvalid) || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, tt.err, tt.want)
		}
	}
	if list, err := app.Conversations(ctx, ""); err != nil || len(list) != 0 {
		t.Errorf("conversations were begun: %+v, %v", list, err)
	}
}

// Given items need no more than a content, as those of a retriever.
func TestGivenItemsHaveDefaults(t *testing.T) {
	app := load(t, basic)
	given := []pipeline.Item{{Content: "hello"}}
	result, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, BuildOptions{Items: given, Only: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(result.Window.Items, func(it pipeline.Item) bool { return it.Content == "hello" })
	if i < 0 {
		t.Fatalf("not in the window: %+v", result.Window.Items)
	}
	it := result.Window.Items[i]
	if it.ID == "" || it.Source != pipeline.SourceRetrieval || it.Priority != it.Source.DefaultPriority() {
		t.Errorf("%+v", it)
	}
	if given[0].ID+string(given[0].Source) != "" || given[0].Priority != 0 {
		t.Errorf("the caller's item was changed: %+v", given[0])
	}
}

// A name that no user can have is that of nobody: there is nothing to forget, and no error.
func TestForgetImpossibleUser(t *testing.T) {
	app := load(t, usersConfig)
	if _, err := app.ForgetUser(t.Context(), "", "ann\n"); err != nil {
		t.Error(err)
	}
}

// What an App returned before it was closed fails as the App does.
func TestHandlesOfAClosedApp(t *testing.T) {
	app, err := Load(write(t, t.TempDir(), "counting: {tokenizer: words}\nstore: {path: s.db}\n"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	run, err := app.Run(ctx, "", "r")
	if err != nil {
		t.Fatal(err)
	}
	talk, err := app.Conversation(ctx, "", "c")
	if err != nil {
		t.Fatal(err)
	}
	if err := app.Close(ctx); err != nil {
		t.Fatal(err)
	}
	_, pushed := run.Push(ctx, frames.Frame{Kind: frames.ToolCall, Summary: "s"}, agentrun.PushOptions{})
	_, added := talk.Add(ctx, pipeline.Turn{Role: pipeline.RoleUser, Content: "x"})
	_, again := app.Run(ctx, "", "r")
	for name, err := range map[string]error{"push": pushed, "add": added, "run": again} {
		if !errors.Is(err, ErrClosed) {
			t.Errorf("%s: %v, want ErrClosed", name, err)
		}
	}
}

// Relative paths mean what they meant at the call of Load, although the program changes its
// folder: those of the file, of the options, and that of the file itself.
func TestPathsOutliveAChangeOfFolder(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "counting: {tokenizer: words}\nwindow: {max_tokens: 50}\nstore: {path: s.db}\nplugins: {instances: {docs: {plugin: documents}}}\n")
	t.Chdir(dir)
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	app, err := Load("anchor.yaml", Options{Lazy: true, PluginDir: "mine", CacheDir: "cache", Mounts: []Mount{{"docs", "some", "/docs"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(t.Context())
	write(t, dir, "counting: {tokenizer: words}\nwindow: {max_tokens: 60}\nstore: {path: s.db}\nplugins: {instances: {docs: {plugin: documents}}}\n")
	t.Chdir(t.TempDir())
	if err := app.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	loaded := app.current.Loaded
	if loaded.MaxTokens != 60 || loaded.File != "anchor.yaml" {
		t.Errorf("max_tokens %d of %s: the file was not read again", loaded.MaxTokens, loaded.File)
	}
	for name, got := range map[string]string{
		"mine": loaded.PluginDir(), "cache": loaded.CachePath(), "s.db": loaded.StorePath(), "some": loaded.Plugins.Instances["docs"].Grants.Files[0].Host,
	} {
		if got != filepath.Join(home, name) {
			t.Errorf("%s is %s", name, got)
		}
	}
	if _, err := app.Conversation(t.Context(), "", "c"); err != nil { // opens the store
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "s.db")); err != nil {
		t.Error(err)
	}
}

// A mount is checked where the caller wrote it.
func TestWrongMounts(t *testing.T) {
	path := write(t, t.TempDir(), "plugins: {instances: {docs: {plugin: p, grants: {files: [{host: a, guest: /a}]}}}}\n")
	for want, m := range map[string]Mount{
		"mounts[1]: the folder is empty": {"docs", "", "/docs"}, `mounts[1]: guest: "docs" is no absolute path`: {"docs", "some", "docs"},
		`mounts[1]: guest: "" is no absolute path`: {"docs", "some", ""},
	} {
		_, err := Load(path, Options{Lazy: true, Store: store.NewMemory(), Mounts: []Mount{{"docs", "some", "/fine"}, m}})
		if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", m, err, want)
		}
	}
}

// What a body costs to read ends with the context, and its error is not one of the body.
func TestAssembleBodyEndsWithTheContext(t *testing.T) {
	app := load(t, basic)
	body := []byte(`{"messages":[` + strings.Repeat(`{"role":"user","content":"a"},`, 10) + `{"role":"user","content":"b"}]}`)
	for most := range 10 {
		ctx := &asked{Context: t.Context(), most: most}
		if _, err := app.AssembleBody(ctx, body, BodyOptions{}); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrInvalid) {
			t.Fatalf("after %d questions: error %v", most, err)
		}
	}
}

// asked is a context that ends after it was asked some times.
type asked struct {
	context.Context
	most int
}

func (c *asked) Err() error {
	if c.most--; c.most < 0 {
		return context.DeadlineExceeded
	}
	return nil
}
