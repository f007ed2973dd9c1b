package hf

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

const small = `{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"],"unk_token":"a"}`

func TestRefusedFiles(t *testing.T) {
	part := func(name, value string) string { return fmt.Sprintf(`{%q:%s,"model":%s}`, name, value, small) }
	model := func(members string) string { return `{"model":{` + members + `}}` }
	nested := func(n int) string {
		return strings.Repeat(`{"type":"Sequence","normalizers":[`, n) + strings.Repeat(`]}`, n)
	}
	many := `{"type":"Sequence","normalizers":[` + strings.Repeat(`{"type":"NFC"},`, 50) + `{"type":"NFC"}]}`
	long := strings.Repeat("x", 10_000)
	for name, c := range map[string]struct{ file, want string }{
		"nothing":           {"", "the file is empty"},
		"only space":        {" \n", "the file is empty"},
		"token twice":       {model(`"type":"BPE","vocab":{"a":0,"a":1},"merges":[]`), `"a": the token is given twice`},
		"id twice":          {model(`"type":"BPE","vocab":{"a":0,"b":0},"merges":[]`), `"b": another token has the id 0, too`},
		"id of text":        {model(`"type":"BPE","vocab":{"a":"x"},"merges":[]`), "want a whole number from 0 on within range, not a string"},
		"large unk_id":      {model(`"type":"Unigram","vocab":[["a",1]],"unk_id":1e99`), "want a whole number within range, not 1e99"},
		"not an object":     {"[]", "want an object"},
		"no model":          {`{"version":"1.0"}`, "is this a tokenizer.json"},
		"cut off":           {`{"model":{"type":"BPE","vocab":{"a":0`, "unexpected EOF"},
		"WordLevel":         {model(`"type":"WordLevel","vocab":{"a":0}`), `type "WordLevel"`},
		"no unknown word":   {model(`"type":"WordPiece","vocab":{"a":0},"unk_token":"u"`), `unk_token "u"`},
		"long words":        {model(`"type":"WordPiece","vocab":{"a":0},"max_input_chars_per_word":100000`), "max_input_chars_per_word"},
		"long word token":   {model(`"type":"WordPiece","vocab":{"` + long + `":0}`), "token of 10000 bytes"},
		"subword of BPE":    {model(`"type":"BPE","vocab":{"a":0},"merges":[],"continuing_subword_prefix":"##"`), "continuing_subword_prefix"},
		"no tokens":         {model(`"type":"BPE","vocab":{},"merges":[]`), "no tokens"},
		"a number":          {model(`"type":"BPE","vocab":7`), "want an object, not a number"},
		"merge of no token": {model(`"type":"BPE","vocab":{"a":0},"merges":["a b"]`), `"b" is not a token`},
		"merge to no token": {model(`"type":"BPE","vocab":{"a":0},"merges":[["a","a"]]`), `"aa" is not a token`},
		"half a merge":      {model(`"type":"BPE","vocab":{"a":0},"merges":["a"]`), "want two tokens"},
		"three parts":       {model(`"type":"BPE","vocab":{"a":0},"merges":[["a","a","a"]]`), "more than 2 entries"},
		"no such unk":       {model(`"type":"BPE","vocab":{"a":0},"merges":[],"unk_token":"u"`), `"u" is not a token`},
		"random":            {model(`"type":"BPE","vocab":{"a":0},"merges":[],"dropout":0.1`), "random merges"},
		"suffix":            {model(`"type":"BPE","vocab":{"a":0},"merges":[],"end_of_word_suffix":"</w>"`), "end_of_word_suffix"},
		"unigram no unk":    {model(`"type":"Unigram","vocab":[["a",-1]]`), "unk_id"},
		"unigram unk":       {model(`"type":"Unigram","vocab":[["a",-1]],"unk_id":7`), "unk_id"},
		"unigram score":     {model(`"type":"Unigram","vocab":[["a","b"]],"unk_id":0`), "want a number"},
		"unigram infinite":  {model(`"type":"Unigram","vocab":[["a",1e999]],"unk_id":0`), "the number is out of range"},
		"unigram long":      {model(`"type":"Unigram","vocab":[["` + long + `",1]],"unk_id":0`), "token of 10000 bytes"},
		"unigram bytes":     {`{"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"Unigram","vocab":[["a",1]],"unk_id":0}}`, "ByteLevel"},
		"bytes missing":     {part("pre_tokenizer", `{"type":"ByteLevel"}`), "is not a token"},
		"after ByteLevel":   {part("pre_tokenizer", `{"type":"Sequence","pretokenizers":[{"type":"ByteLevel"},{"type":"Digits"}]}`), "Digits after ByteLevel"},
		"normalizer":        {part("normalizer", `{"type":"Nmt"}`), "Nmt"},
		"pre-tokenizer":     {part("pre_tokenizer", `{"type":"UnicodeScripts"}`), "UnicodeScripts"},
		"nested":            {part("normalizer", nested(50)), "nested at most 8 deep"},
		"deeply nested":     {part("normalizer", nested(50_000)), "max depth"},
		"many":              {part("normalizer", many), "at most 32"},
		"content":           {part("normalizer", `{"type":"Replace","pattern":{"String":" "},"content":"`+long+`"}`), "10000 bytes"},
		"pattern":           {part("normalizer", `{"type":"Replace","pattern":{"String":"`+long+`"},"content":""}`), "10000 bytes"},
		"added":             {part("added_tokens", `[{"content":"`+long+`"}]`), "10000 bytes"},
		"look behind":       {part("pre_tokenizer", split(`(?<=a)b`)), "(?<="},
		"look ahead":        {part("pre_tokenizer", split(`a(?!b)`)), "(?!b"},
		"possessive":        {part("pre_tokenizer", split(`a++`)), "nested repetition"},
		"intersection":      {part("pre_tokenizer", split(`[a&&b]`)), "&&"},
		"class in class":    {part("pre_tokenizer", split(`[a[b]]`)), "class inside"},
		"open class":        {part("pre_tokenizer", split(`[a|\\s+(?!\\S)|\\s+`)), "no end"},
		"anchor":            {part("pre_tokenizer", split(`^a`)), "^"},
		"word boundary":     {part("pre_tokenizer", split(`\\ba`)), `\b`},
		"back reference":    {part("pre_tokenizer", split(`(a)\\1`)), `\1`},
		"empty match":       {part("pre_tokenizer", split(`a*`)), "empty text"},
		"huge pattern":      {part("pre_tokenizer", split(long)), "10000 bytes"},
		"huge program":      {part("pre_tokenizer", split(`[ab]{1,999}c{1,999}`)), "instructions"},
		"no pattern":        {part("pre_tokenizer", `{"type":"Split","behavior":"Isolated"}`), "pattern"},
		"behavior":          {part("pre_tokenizer", `{"type":"Split","pattern":{"String":"a"},"behavior":"Odd"}`), "Odd"},
		"replacement":       {part("pre_tokenizer", `{"type":"Metaspace","replacement":"ab"}`), "one character"},
		"charsmap":          {part("normalizer", `{"type":"Precompiled","precompiled_charsmap":"////"}`), "too short"},
		"charsmap trie":     {part("normalizer", `{"type":"Precompiled","precompiled_charsmap":"/////w=="}`), "its trie"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read([]byte(c.file))
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
				t.Errorf("%.300v, want %q", err, c.want)
			}
		})
	}
}

func split(regex string) string {
	return `{"type":"Split","pattern":{"Regex":"` + regex + `"},"behavior":"Isolated"}`
}

// TestTooManyEntries makes files whose lists are longer than the bounds. They end in a mistake
// that is only found by those who read on.
func TestTooManyEntries(t *testing.T) {
	for name, c := range map[string]struct {
		entry string
		n     int
		file  string
	}{
		"merges": {`"a b",`, maxMerges + 1, `{"model":{"type":"BPE","vocab":{},"merges":[%s7]}}`},
		"added":  {`{},`, maxAdded + 1, `{"added_tokens":[%s7]}`},
		"scored": {`["",0],`, maxTokens + 1, `{"model":{"type":"Unigram","vocab":[%s7]}}`},
	} {
		_, err := Read(fmt.Appendf(nil, c.file, strings.Repeat(c.entry, c.n)))
		if err == nil || !strings.Contains(err.Error(), "this program reads") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(make([]byte, MaxSize+1)); err == nil || !strings.Contains(err.Error(), "this program reads") {
		t.Error(err)
	}
}

// TestMergesInAnyOrder has merges that use tokens which only later merges make, and tokens that
// several merges make.
func TestMergesInAnyOrder(t *testing.T) {
	tokenizer, err := Read([]byte(`{"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"aba":3,"ba":4,"abab":5},
		"merges":[["aba","b"],["ab","a"],["a","ba"],["b","a"],["a","b"]]}}`))
	if err != nil {
		t.Fatal(err)
	}
	// b a merges first, then a ba, then aba b.
	for text, want := range map[string]int{"abab": 1, "ab": 1, "aab": 2, "bab": 2, "xabx": 1} {
		if n := count(t, tokenizer, text); n != want {
			t.Errorf("%q: %d, want %d", text, n, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"model":`+small+`}`), "abab")
	f.Add([]byte(`{"model":{"type":"Unigram","vocab":[["<unk>",0],["a",-1],["aa",-1.5]],"unk_id":0,"byte_fallback":true}}`), "aaab")
	f.Add([]byte(`{"normalizer":{"type":"Precompiled","precompiled_charsmap":"`+base64.StdEncoding.EncodeToString([]byte("\x08\x00\x00\x00\x00\x04\x00\x00\xff\xff\xff\xff\x00"))+`"},"model":`+small+`}`), "ab\x00")
	f.Add([]byte(`{"added_tokens":[{"content":"ab","lstrip":true,"normalized":true}],"normalizer":{"type":"Replace","pattern":{"String":" "},"content":"▁"},
		"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"first"},"model":{"vocab":{"a":0,"b":1,"▁":2,"▁a":3},"merges":["▁ a"],"fuse_unk":true}}`), "a b")
	f.Add([]byte(`{"pre_tokenizer":`+split(`a|\\s+(?!\\S)|\\s+`)+`,"model":`+small+`}`), " a  b ")
	f.Add([]byte(`{"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"BertPreTokenizer"},
		"model":{"type":"WordPiece","unk_token":"?","continuing_subword_prefix":"##","vocab":{"?":0,"a":1,"##b":7,".":3}}}`), "Ab. ä文")
	f.Add([]byte(`{"model":{"vocab":{"a":0,"b":1,"▁":2,"▁a":3,"u":9},"merges":["▁ a"],"unk_token":"u","fuse_unk":true}}`), "a▁ab xx▁▁a")
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		tokenizer, err := Read(file)
		if err != nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), await.Patience)
		defer cancel()
		n, err := tokenizer.Count(ctx, text)
		if err != nil || n < 0 {
			t.Fatalf("%q: %d, %v", text, n, err)
		}
		checkTruncate(ctx, t, tokenizer, text, n/2)
		checkCuts(ctx, t, file, text, n)
		if lister, err := ReadIDs(file); err == nil {
			ids, err := lister.AppendIDs(ctx, nil, text)
			if err != nil || len(ids) > n || len(ids) > 0 && slices.Max(ids) > lister.MaxID() {
				t.Fatalf("%q: %d tokens, listed %v, %v", text, n, ids, err)
			}
		}
	})
}

// checkCuts compares a count with that of the whole text, without cuts.
func checkCuts(ctx context.Context, t *testing.T, file []byte, text string, n int) {
	tokenizer, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	d, err := readDocument(file)
	if err != nil || !isNull(d.preTokenizer) {
		return
	}
	tokenizer.splitting.stages = nil
	if whole, err := tokenizer.Count(ctx, text); err != nil || whole != n {
		t.Fatalf("%q: %d tokens, without cuts %d, %v", text, n, whole, err)
	}
}

func FuzzCount(f *testing.F) {
	texts, list := variants(f)
	tokenizers := make([]*Tokenizer, len(list))
	for i := range list {
		tokenizers[i] = list[i].tokenizer(f)
	}
	for i, text := range texts {
		f.Add(text, i, i)
	}
	f.Fuzz(func(t *testing.T, text string, which, limit int) {
		tokenizer := tokenizers[uint(which)%uint(len(tokenizers))]
		ctx := context.Background()
		n, err := tokenizer.Count(ctx, text)
		if err != nil || n < 0 || n > 18*len(text)+2 {
			t.Fatalf("%q: %d, %v", text, n, err)
		}
		for at := tokenizer.NextSplit(text, 0); at < len(text); at = tokenizer.NextSplit(text, at) {
			if a, b := count(t, tokenizer, text[:at]), count(t, tokenizer, text[at:]); a+b != n {
				t.Fatalf("%q and %q: %d + %d, not %d", text[:at], text[at:], a, b, n)
			}
		}
		checkTruncate(ctx, t, tokenizer, text, limit%(n+2))
	})
}

// checkTruncate checks what must hold for every file and text.
func checkTruncate(ctx context.Context, t *testing.T, tokenizer *Tokenizer, text string, limit int) {
	head, err := tokenizer.Truncate(ctx, text, limit)
	if err != nil || !strings.HasPrefix(text, head) {
		t.Fatalf("%q to %d: %q, %v", text, limit, head, err)
	}
	if n, _ := tokenizer.Count(ctx, head); n > max(limit, 0) {
		t.Fatalf("%q to %d: %q has %d", text, limit, head, n)
	}
	if utf8.ValidString(text) && !utf8.ValidString(head) {
		t.Fatalf("%q to %d: %q ends inside of a character", text, limit, head)
	}
}

// A small file must not make a huge text out of a small one, and a count must end with its context.
func TestNormalizersDoNotMakeHugeTexts(t *testing.T) {
	grow := func(n int, content string) string {
		one := fmt.Sprintf(`{"type":"Replace","pattern":{"String":"a"},"content":%q}`, content)
		return `{"type":"Sequence","normalizers":[` + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + `]}`
	}
	ten := strings.Repeat("a", 10)
	for name, c := range map[string]struct{ normalizer, text, err string }{
		"seven":       {grow(7, ten), strings.Repeat("a", 1000), "normalizer Replace: text grows too much"},
		"once":        {grow(1, strings.Repeat("a", 256)), strings.Repeat("a", 1000), "normalizer Replace: text grows too much"},
		"little":      {grow(1, ten), strings.Repeat("a", 1000), ""},
		"normal form": {`{"type":"NFKD"}`, strings.Repeat("\ufdfa", 1000), ""},
	} {
		tokenizer, err := Read([]byte(fmt.Sprintf(`{"normalizer":%s,"model":%s}`, c.normalizer, small)))
		if err != nil {
			t.Fatal(name, err)
		}
		_, err = tokenizer.Count(t.Context(), c.text)
		if message := fmt.Sprint(err); c.err == "" && err != nil || !strings.Contains(message, c.err) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
		if head, err := tokenizer.Truncate(t.Context(), c.text, 5); (err != nil) != (c.err != "") || len(head) > len(c.text) {
			t.Errorf("%s: cut to %d bytes, %v", name, len(head), err)
		}
	}
	file := fmt.Sprintf(`{"added_tokens":[{"content":"aaaa","normalized":true}],"normalizer":%s,"model":%s}`, grow(7, ten), small)
	if _, err := Read([]byte(file)); err == nil || !strings.Contains(err.Error(), "added_tokens") {
		t.Errorf("added token: %v", err)
	}
}
