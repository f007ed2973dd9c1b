package anchor_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// An embedder is opened at its first call, once for all callers, and a failure is not kept.
func TestEmbedder(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("anchor.yaml", "embedders: {local: {static: {table: t, tokenizer: tokenizer.json}}}\ncollections: {docs: {embedder: local}, words: {embedder: none}}\n")
	app, err := anchor.Load(filepath.Join(dir, "anchor.yaml"), anchor.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := app.Embedder("lokal"); !errors.Is(err, anchor.ErrInvalid) || !strings.Contains(err.Error(), `"local"`) {
		t.Errorf("an unknown name: %v", err)
	}
	e, err := app.Embedder("local")
	if err != nil {
		t.Fatal(err)
	}
	same, err := app.CollectionEmbedder("docs")
	if err != nil || same != e {
		t.Errorf("the collection has another: %v", err)
	}
	if none, err := app.CollectionEmbedder("words"); none != nil || err != nil {
		t.Errorf("a collection without one: %v, %v", none, err)
	}
	program, err := app.Embedder("builtin")
	if err != nil {
		t.Fatal(err)
	}
	if other, err := app.CollectionEmbedder("other"); other != program || err != nil {
		t.Errorf("a collection without an entry: %v, %v", other, err)
	}
	if _, err := e.Model(t.Context()); err == nil || !strings.Contains(err.Error(), `embedder "local": tokenizer: `) {
		t.Errorf("without files: %v", err)
	}
	write("tokenizer.json", `{"model": {"type": "WordPiece", "unk_token": "?", "vocab": {"?": 0, "a": 1}}}`)
	header := `{"m": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]}}`
	write("t", string(rune(len(header)))+"\x00\x00\x00\x00\x00\x00\x00"+header+"\x00\x00\x00\x00\x00\x00\x80\x3f")
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			v, err := retrieve.Embed(t.Context(), e, retrieve.SideQuery, []string{"a"})
			if err != nil || v[0][0] != 1 {
				t.Errorf("%v, %v", v, err)
			}
		})
	}
	wait.Wait()
	if err := os.Remove(filepath.Join(dir, "t")); err != nil { // it was read once
		t.Fatal(err)
	}
	if err := app.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m, err := e.Model(t.Context()); err != nil || m.Dimension != 1 {
		t.Errorf("after the end: %v, %v", m, err)
	}
	if _, err := app.Embedder("local"); !errors.Is(err, anchor.ErrClosed) {
		t.Errorf("of a closed App: %v", err)
	}
}
