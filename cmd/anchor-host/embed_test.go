package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
)

// meanings are words in two dimensions: travel and food.
var meanings = map[string][2]float32{
	"train": {1, 0}, "departs": {1, 0.1}, "railway": {0.9, 0}, "timetable": {0.8, 0}, "bread": {0, 1}, "bakery": {0.1, 0.9}, "cake": {0, 0.8},
}

// tableFiles returns a static table of the meanings with its tokenizer.
func tableFiles(t *testing.T) map[string]string {
	t.Helper()
	vocab := map[string]int{"?": 0}
	data := binary.LittleEndian.AppendUint64(nil, 0) // the vector of "?"
	for word, v := range meanings {
		vocab[word] = len(vocab)
		for _, x := range v {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
		}
	}
	tokenizer, err := json.Marshal(map[string]any{
		"normalizer": map[string]any{"type": "BertNormalizer"}, "pre_tokenizer": map[string]any{"type": "BertPreTokenizer"},
		"model": map[string]any{"type": "WordPiece", "unk_token": "?", "vocab": vocab},
	})
	if err != nil {
		t.Fatal(err)
	}
	header := fmt.Sprintf(`{"m": {"dtype": "F32", "shape": [%d, 2], "data_offsets": [0, %d]}}`, len(vocab), len(data))
	return map[string]string{
		"m/tokenizer.json":    string(tokenizer),
		"m/table.safetensors": string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + string(data),
	}
}

const embedConfig = `embedders:
  local: {static: {table: m/table.safetensors, tokenizer: m/tokenizer.json}}
  far: {http: {base_url: "%s/v1", model: far-model, key: "${env:EMBED_KEY}", retries: 0}}
collections: {docs: {embedder: %s}}
`

// Documents get vectors when they are ingested, a question is found by its meaning, and a change of
// the model needs a command of its own.
func TestEmbeddings(t *testing.T) {
	var status, refused atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Header.Get("Authorization") != "Bearer sk-embed-secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if s := int(status.Load()); s != 0 {
			w.WriteHeader(s)
			return
		}
		var data []string
		for i, text := range q.Input {
			if strings.Contains(text, "bakery") && refused.Load() == 1 {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			data = append(data, fmt.Sprintf(`{"index": %d, "embedding": [1, %d, 3]}`, i, len(text)))
		}
		fmt.Fprintf(w, `{"data": [%s]}`, strings.Join(data, ","))
	}))
	defer server.Close()
	files := tableFiles(t)
	files["d/rail.md"] = "# Rail\n\nThe train departs at nine.\n"
	files["d/food.md"] = "# Food\n\nThe bakery has bread.\n"
	files["anchor.yaml"] = fmt.Sprintf(embedConfig, server.URL, "local")
	storeFolder(t, files)
	t.Setenv("EMBED_KEY", "sk-embed-secret")

	must(t, "", "ingest", "d", "--collection", "docs")
	if out := must(t, "", "collections", "list"); !strings.Contains(out, "static:") {
		t.Errorf("collections:\n%s", out)
	}
	for _, by := range []string{"vectors", "hybrid", ""} {
		args := []string{"collections", "search", "docs", "railway timetable", "-o", "json", "-k", "1"}
		if by != "" {
			args = append(args, "--by", by)
		}
		var items []pipeline.Item
		if err := json.Unmarshal([]byte(must(t, "", args...)), &items); err != nil || len(items) != 1 || !strings.Contains(items[0].Content, "departs") {
			t.Errorf("by %q: %v, %v", by, items, err)
		}
	}
	if out := must(t, "", "collections", "search", "docs", "railway", "--by", "words", "-o", "json"); strings.TrimSpace(out) != "[]" {
		t.Errorf("by words: %s", out)
	}

	if err := os.WriteFile("anchor.yaml", fmt.Appendf(nil, embedConfig, server.URL, "far"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuse := func(code int, want string, args ...string) {
		t.Helper()
		have, _, stderr := run(t, "", args...)
		if have != code || !strings.Contains(stderr, want) || strings.Contains(stderr, "secret") {
			t.Errorf("%q: code %d, %s, want %d, %s", args, have, stderr, code, want)
		}
	}
	refuse(codeFailure, "(re-embed it: anchor-host collections reembed docs)", "ingest", "d", "--collection", "docs")
	status.Store(http.StatusServiceUnavailable)
	refuse(codeFailure, "embed with far-model at "+server.URL+"/v1: ", "collections", "reembed", "docs")
	status.Store(0)
	refused.Store(1)
	refuse(codeFailure, "food.md: embed with far-model", "collections", "reembed", "docs")
	refused.Store(0)
	if out := must(t, "", "collections", "reembed", "docs", "-o", "json"); !strings.Contains(out, `"changed": 1`) {
		t.Errorf("the rest:\n%s", out)
	}
	if out := must(t, "", "ingest", "d", "--collection", "docs", "-o", "json"); !strings.Contains(out, `"unchanged": 2`) {
		t.Errorf("after it:\n%s", out)
	}
	refuse(codeFailure, "another model", "collections", "search", "docs", "q", "--embedder", "local", "--by", "vectors")
	refuse(codeInvalid, `no embedder "lokal" (did you mean "local"?)`, "ingest", "d", "--collection", "docs", "--embedder", "lokal")
	refuse(codeUsage, "want words, vectors or hybrid", "collections", "search", "docs", "q", "--by", "meaning")
	must(t, "", "ingest", "d", "--collection", "parts", "--embedder", "local", "--chunker", "semantic")
	refuse(codeFailure, "name the embedder of that model, or re-embed the collection: anchor-host collections reembed parts", "collections", "search", "parts", "q", "--by", "vectors")
	must(t, "", "collections", "reembed", "docs", "--none")
	if out := must(t, "", "collections", "show", "docs", "-o", "json"); !strings.Contains(out, `"vectors": 0`) {
		t.Errorf("without vectors:\n%s", out)
	}
	for _, args := range [][]string{{"config", "show"}, {"config", "validate"}, {"collections", "export", "docs"}} {
		if out := must(t, "", args...); strings.Contains(out, "secret") {
			t.Errorf("%q prints the key", args)
		}
	}
	t.Setenv("EMBED_KEY", "")
	refuse(codeInvalid, ": embedders.far.http.key: environment variable EMBED_KEY is empty", "config", "validate")
	refuse(codeInvalid, "environment variable EMBED_KEY is empty", "collections", "reembed", "docs")
	if err := os.Remove("m/table.safetensors"); err != nil {
		t.Fatal(err)
	}
	refuse(codeInvalid, "embedders.local: table: ", "config", "validate")
}
