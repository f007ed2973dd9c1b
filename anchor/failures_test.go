package anchor

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
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
