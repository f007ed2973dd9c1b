package hf

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestRealFiles compares the counts of whole vocabularies with those of the library. They are too
// large for this repository. testdata/reference.py writes the folder that ANCHOR_TOKENIZERS names.
func TestRealFiles(t *testing.T) {
	folder := os.Getenv("ANCHOR_TOKENIZERS")
	if folder == "" {
		t.Skip("ANCHOR_TOKENIZERS names no folder")
	}
	var texts []string
	load(t, filepath.Join(folder, "texts.json"), &texts)
	files, _ := filepath.Glob(filepath.Join(folder, "*", "tokenizer.json"))
	if len(files) == 0 {
		t.Fatal("no tokenizer.json in", folder)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) { compareFile(t, file, texts) })
	}
}

func compareFile(t *testing.T, file string, texts []string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	tokenizer, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	loading := time.Since(start)
	var want []int
	load(t, filepath.Join(filepath.Dir(file), "counts.json"), &want)
	differ, size := 0, 0
	start = time.Now()
	for i, text := range texts {
		n, err := tokenizer.Count(context.Background(), text)
		if err != nil {
			t.Fatal(err)
		}
		size += len(text)
		if n != want[i] {
			if differ++; differ < 6 {
				t.Errorf("%.80q: %d tokens, want %d", text, n, want[i])
			}
		}
	}
	t.Logf("%d texts, %d differ; read in %v, %.1f MB/s", len(texts), differ, loading, float64(size)/1e6/time.Since(start).Seconds())
}
