package anchor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/internal/failures"
	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/store"
)

// A Load that fails after the store was opened leaves it closed: a server tries again.
func TestFailedLoadClosesTheStore(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("open files are not listed there")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "anchor.yaml")
	text := "counting: {tokenizer: words}\nstore: {path: memory.db}\nmemory: {facts: {}}\nplugins: {instances: {gone: {plugin: nowhere, must: true}}}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, Options{CacheDir: "off"}); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Fatalf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "memory.db")); err != nil {
		t.Fatalf("the store was not opened: %v", err)
	}
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if to, _ := os.Readlink(filepath.Join("/proc/self/fd", f.Name())); strings.HasPrefix(to, dir) {
			t.Errorf("%s is open", to)
		}
	}
}

// What a plugin failed at for a user goes with the user, and what it failed at for a tenant with the tenant. An
// export has none of it.
func TestFailuresAreForgotten(t *testing.T) {
	var log *failures.Log
	text := "counting: {tokenizer: words}\nplugins: {dir: PLUGINS, instances: {bad: {plugin: guest-error}}}\nsteps: [{name: s, use: bad, must: false}]\n"
	dir, err := filepath.Abs("../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	app, err := Load(write(t, t.TempDir(), strings.Replace(text, "PLUGINS", dir, 1)), Options{Store: store.NewMemory(), CacheDir: "off", OnFailure: func(f record.Failure) { log.Add(f) }})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(t.Context())
	begin := func() {
		log = &failures.Log{}
		log.Keep(app.Store, slog.New(slog.DiscardHandler))
	}
	for _, who := range [][2]string{{"a", "ann"}, {"a", "bob"}, {"b", "ann"}} {
		begin()
		o := BuildOptions{Tenant: who[0], User: who[1], Items: items("of " + who[0] + " " + who[1])}
		if _, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, o); err != nil {
			t.Fatal(err)
		}
		log.Close(t.Context())
	}
	left := func() (out string) {
		begin()
		defer log.Close(t.Context())
		for _, f := range log.Of(t.Context(), failures.Viewer{All: true, Content: true}, "").Failures {
			out += fmt.Sprintf("%s %d %t ", f.Tenant, f.Count, bytes.Contains(f.Case, []byte("of a ann")))
		}
		return out
	}
	if got := left(); got != "b 1 false a 2 false " {
		t.Errorf("kept: %s", got)
	}
	if done, err := app.ForgetUser(t.Context(), "a", "ann"); err != nil || done.Failures != 0 {
		t.Errorf("%+v, %v: the row is that of the last user", done, err)
	}
	if done, err := app.ForgetUser(t.Context(), "a", "bob"); err != nil || done.Failures != 1 {
		t.Errorf("%+v, %v", done, err)
	}
	if got := left(); got != "b 1 false " {
		t.Errorf("kept: %s", got)
	}
	var out bytes.Buffer
	if err := app.Export(t.Context(), "b", &out, nil); err != nil || strings.Contains(out.String(), "of b ann") {
		t.Errorf("%v: %s", err, &out)
	}
	if n, err := app.ForgetTenant(t.Context(), "b"); err != nil || n != 1 || left() != "" {
		t.Errorf("%d, %v, %s", n, err, left())
	}
}

// What a plugin failed at in a conversation or an agent run goes with that, and nothing of another tenant or of
// another name.
func TestFailuresGoWithConversationsAndRuns(t *testing.T) {
	dir := t.TempDir()
	for file, from := range map[string]string{
		"guest-error/plugin.wasm": "guest-error/plugin.wasm", "guest-error/plugin.yaml": "guest-error/plugin.yaml", "unknown-role/plugin.wasm": "wrong/unknown-role.wasm", "unknown-role/plugin.yaml": "wrong/unknown-role.yaml",
	} {
		data, err := os.ReadFile(filepath.Join("../testdata/wasm", from))
		file = filepath.Join(dir, file)
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	text := "counting: {tokenizer: words}\nplugins: {dir: " + dir + ", instances: {bad: {plugin: guest-error}, rude: {plugin: unknown-role}}}\nsteps: [{name: s, use: bad, must: false}]\n"
	talk := func(o BuildOptions) func(*App) error {
		o.Remember = true
		return func(a *App) error {
			_, err := a.Build(t.Context(), pipeline.Query{Text: "a secret"}, o)
			return err
		}
	}
	assemble := func(a *App) error {
		_, err := a.Assemble(t.Context(), []pipeline.Message{message.New(pipeline.RoleUser, "a secret")}, AssembleOptions{Run: "fix"})
		return err
	}
	const aRun = "memory: {frames: {run: fix}}\nagent: {providers: [{name: p, use: rude, priority: 6, must: false}]}\n"
	for _, tt := range []struct {
		name, config string
		work         func(*App) error
		kept         string // after the conversation was forgotten, and then the run
	}{
		{"a conversation", "", talk(BuildOptions{Conversation: "talk"}), "1 0 0"},
		{"a conversation of a user", "", talk(BuildOptions{User: "ann", Conversation: "talk"}), "1 0 0"},
		{"another conversation", "", talk(BuildOptions{Conversation: "other"}), "1 1 1"},
		{"a conversation with the name of the run", "", talk(BuildOptions{Conversation: "fix"}), "1 1 1"},
		{"another tenant", "", talk(BuildOptions{Tenant: "b", Conversation: "talk"}), "1 1 1"},
		{"a build with a run", aRun, func(a *App) error {
			_, err := a.Build(t.Context(), pipeline.Query{Text: "a secret"}, BuildOptions{Items: items("x")})
			return err
		}, "1 1 0"},
		{"an assembly", aRun, assemble, "1 1 0"},
	} {
		var log failures.Log
		app, err := Load(write(t, t.TempDir(), text+cmp.Or(tt.config, "memory: {conversation: {}}\n")), Options{Store: store.NewMemory(), CacheDir: "off", OnFailure: log.Add})
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close(t.Context())
		log.Keep(app.Store, slog.New(slog.DiscardHandler))
		if err := tt.work(app); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		log.Close(t.Context())
		kept := func() string {
			return fmt.Sprint(len(log.Of(t.Context(), failures.Viewer{All: true}, "").Failures))
		}
		got := kept()
		conversation, err := app.Conversation(t.Context(), "", "talk")
		if err == nil {
			_, err = conversation.Forget(t.Context())
		}
		got += " " + kept()
		run, failed := app.Run(t.Context(), "", "fix")
		if failed == nil {
			_, failed = run.Forget(t.Context())
		}
		if got += " " + kept(); got != tt.kept || err != nil || failed != nil {
			t.Errorf("%s: %s are kept, %v, %v, want %s", tt.name, got, err, failed, tt.kept)
		}
	}
}

// An error of a named pipeline names it: its steps may have the names of others.
func TestErrorsNameThePipeline(t *testing.T) {
	path := filepath.Join(t.TempDir(), "anchor.yaml")
	text := "counting: {tokenizer: words}\npipelines: {short: {steps: [{name: s, use: documents, priority: 10}]}}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(path, Options{CacheDir: "off", PluginDir: "../testdata/wasm"})
	if err == nil || !strings.HasPrefix(err.Error(), "pipelines.short: ") {
		t.Errorf("error %v", err)
	}
}

// A request that does not arrive keeps nobody waiting: Close ends.
func TestCloseWhileARequestIsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "anchor.yaml")
	if err := os.WriteFile(path, []byte("counting: {tokenizer: words}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	app, err := Load(path, Options{CacheDir: "off"})
	if err != nil {
		t.Fatal(err)
	}
	from, to := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := app.BuildRequest(context.Background(), "body", from, BuildOptions{})
		done <- err
	}()
	if _, err := to.Write([]byte("{")); err != nil { // it is being read
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), await.Patience)
	defer cancel()
	if err := app.Close(ctx); err != nil {
		t.Errorf("close: %v", err)
	}
	_ = to.Close()
	if err := <-done; err == nil {
		t.Error("a request after Close is built")
	}
}
