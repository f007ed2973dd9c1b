package hf

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/tokens/internal/bpe"
)

// listedCases are tokenizers whose tokens the library has listed; see testdata/ids.py.
func listedCases(t testing.TB) (texts []string, cases []struct {
	variant
	IDs [][]uint32
}) {
	var all struct {
		Texts    []string
		Variants []struct {
			variant
			IDs [][]uint32
		}
	}
	load(t, "testdata/ids.json", &all)
	if len(all.Texts) < 80 || len(all.Variants) < 9 {
		t.Fatal("too few cases", len(all.Texts), len(all.Variants))
	}
	return all.Texts, all.Variants
}

func TestIDsOfTheLibrary(t *testing.T) {
	texts, cases := listedCases(t)
	for _, c := range cases {
		t.Run(c.Base+"/"+c.Name, func(t *testing.T) {
			tokenizer, err := ReadIDs(c.file(t))
			if err != nil {
				t.Fatal(err)
			}
			compareIDs(t, tokenizer, texts, c.IDs)
		})
	}
}

func compareIDs(t *testing.T, tokenizer *Tokenizer, texts []string, want [][]uint32) {
	t.Helper()
	differ := 0
	for i, text := range texts {
		ids, err := tokenizer.AppendIDs(t.Context(), []uint32{7}, text)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(ids[1:], want[i]) || ids[0] != 7 || slices.Max(ids) > max(7, tokenizer.MaxID()) {
			if differ++; differ < 6 {
				t.Errorf("%.80q: %.200v, want %.200v", text, ids[1:], want[i])
			}
		}
	}
}

// TestRealIDs is [TestRealFiles] for tokens. testdata/ids.py writes ids.json.
func TestRealIDs(t *testing.T) {
	folder := os.Getenv("ANCHOR_TOKENIZERS")
	files, _ := filepath.Glob(filepath.Join(folder, "*", "ids.json"))
	if folder == "" || len(files) == 0 {
		t.Skip("ANCHOR_TOKENIZERS names no folder with ids.json")
	}
	var texts []string
	load(t, filepath.Join(folder, "texts.json"), &texts)
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(filepath.Dir(file), "tokenizer.json"))
			if err != nil {
				t.Fatal(err)
			}
			tokenizer, err := ReadIDs(data)
			if err != nil {
				t.Fatal(err)
			}
			var want [][]uint32
			load(t, file, &want)
			compareIDs(t, tokenizer, texts, want)
		})
	}
}

// Pieces are cut where no token has both characters, and nowhere else.
func TestCuts(t *testing.T) {
	v := &vocabulary{ids: map[string]uint32{}}
	for i, token := range []string{"a", "b", "▁", "é", "ab", "▁▁", "▁a", "éb"} {
		v.ids[token] = uint32(i)
	}
	tokenizer := new(Tokenizer)
	tokenizer.cutWords(new(merging), v)
	for text, want := range map[string][]string{
		"": nil, "a": {"a"}, "▁": {"▁"}, "▁ab▁▁b▁": {"▁ab", "▁▁", "b", "▁"}, "ba": {"b", "a"}, "aéb": {"a", "éb"}, "éü": {"éü"}, "xyab": {"xy", "ab"}, "\xffx": {"\xffx"},
	} {
		var have []string
		tokenizer.splitting.stages[0](&run{Run: bpe.NewRun(nil)}, text, true, func(piece string, first bool) {
			if first != (len(have) == 0) {
				t.Errorf("%q: first is %v", piece, first)
			}
			have = append(have, piece)
		})
		if !slices.Equal(have, want) {
			t.Errorf("%q: %q, want %q", text, have, want)
		}
	}
}

func TestUnigramIsNotListed(t *testing.T) {
	data, err := json.Marshal(map[string]any{"model": map[string]any{"type": "Unigram", "unk_id": 0, "vocab": []any{[]any{"a", -1}}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(data); err != nil {
		t.Error(err)
	}
	if _, err := ReadIDs(data); err == nil {
		t.Error("its tokens are listed")
	}
}
