package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// With the tokenizer.json of a model, build and assemble count as the library counts that made the
// reference counts, for BPE and Unigram.
func TestTokenizerFilesCountAsTheLibrary(t *testing.T) {
	folder, err := filepath.Abs("../../tokens/internal/hf/testdata")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(folder, "variants.json"))
	if err != nil {
		t.Fatal(err)
	}
	var reference struct {
		Texts    []string
		Variants []struct {
			Base   string
			Counts []int
		}
	}
	if err := json.Unmarshal(data, &reference); err != nil {
		t.Fatal(err)
	}
	texts := reference.Texts[:10]
	if os.Getenv("ANCHOR_THOROUGH") != "" {
		texts = reference.Texts[:40]
	}
	done := map[string]bool{}
	for _, v := range reference.Variants {
		if done[v.Base] { // the first of a base is the file itself
			continue
		}
		done[v.Base] = true
		t.Chdir(write(t, map[string]string{"anchor.yaml": "window: {max_tokens: 900}\ncounting: {model: claude-sonnet-4-5, tokenizer: {file: " + filepath.Join(folder, v.Base+".json") + "}}\npipelines: {counts: {}}\n"}))
		first := -1 // the text that assemble compares the others with
		rest := 0   // what assemble counts besides a text
		for i, text := range texts {
			quoted, err := json.Marshal(text)
			if err != nil || text == "" {
				continue
			}
			out := must(t, `{"query": "q", "pipeline": "counts", "window": {"fit": "items"}, "items": [{"id": "a", "content": `+string(quoted)+`, "source": "retrieval", "score": 1}]}`, "build", "--config", "anchor.yaml", "--request", "-")
			result := decode[struct {
				Window struct {
					Items []struct {
						Tokens int `json:"token_count"`
					}
				}
			}](t, out)
			if len(result.Window.Items) != 1 || result.Window.Items[0].Tokens != v.Counts[i] {
				t.Errorf("%s: build counts %+v for %q, want %d", v.Base, result.Window.Items, text, v.Counts[i])
			}
			doc, _ := assembleJSON(t, `[{"role":"user","content":`+string(quoted)+`}]`)
			if first < 0 {
				first, rest = i, doc.Info.After.Tokens-v.Counts[i]
			}
			if rest < 1 || rest > 10 || doc.Info.After.Tokens-rest != v.Counts[i] {
				t.Errorf("%s: assemble counts %d for %q, want %d and %d", v.Base, doc.Info.After.Tokens, text, v.Counts[i], rest)
			}
		}
	}
	if len(done) != 3 {
		t.Errorf("tokenizers: %v", done)
	}
}
