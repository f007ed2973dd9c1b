package hf

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// load reads a JSON file.
func load(t testing.TB, file string, to any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatal(file, err)
	}
}

// variant is a tokenizer whose counts the library has made; see testdata/make.py.
type variant struct {
	Base, Name string
	Members    map[string]any
	Counts     []int
}

// variants returns the texts of the counts, and all variants.
func variants(t testing.TB) (texts []string, list []variant) {
	var all struct {
		Texts    []string
		Variants []variant
	}
	load(t, "testdata/variants.json", &all)
	if len(all.Texts) < 100 || len(all.Variants) < 30 {
		t.Fatal("too few cases", len(all.Texts), len(all.Variants))
	}
	return all.Texts, all.Variants
}

// file returns the tokenizer.json of a variant.
func (v *variant) file(t testing.TB) []byte {
	var d map[string]any
	load(t, filepath.Join("testdata", v.Base+".json"), &d)
	model := d["model"].(map[string]any)
	for name, value := range v.Members {
		switch key, ok := strings.CutPrefix(name, "model."); {
		case ok:
			model[key] = value
		case name == "bytes":
			for b := range 256 {
				model["vocab"] = append(model["vocab"].([]any), []any{fmt.Sprintf("<0x%02X>", b), -20})
			}
		default:
			d[name] = value
		}
	}
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (v *variant) tokenizer(t testing.TB) *Tokenizer {
	t.Helper()
	tokenizer, err := Read(v.file(t))
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

func count(t testing.TB, tokenizer *Tokenizer, text string) int {
	t.Helper()
	n, err := tokenizer.Count(context.Background(), text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestCountsOfTheLibrary(t *testing.T) {
	texts, list := variants(t)
	for _, v := range list {
		t.Run(v.Base+"/"+v.Name, func(t *testing.T) {
			tokenizer := v.tokenizer(t)
			for i, text := range texts {
				if n := count(t, tokenizer, text); n != v.Counts[i] {
					t.Errorf("%q: %d tokens, want %d", text, n, v.Counts[i])
				}
			}
		})
	}
}
