package anchor

import (
	"bytes"
	"context"
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
