package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tokenizerFixture returns the path of a small tokenizer.json.
func tokenizerFixture(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../tokens/internal/hf/testdata/byte-level.json")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// counting is how a build has counted its output.
type counting struct {
	Counting struct {
		Tokenizer  string `json:"tokenizer"`
		Vocabulary string `json:"vocabulary_sha256"`
		Exact      bool   `json:"exact"`
		Low, High  int
	} `json:"counting"`
	Diagnostics struct {
		Warnings []string `json:"warnings"`
	} `json:"diagnostics"`
}

func buildCounting(t *testing.T, args ...string) (c counting, stderr string) {
	t.Helper()
	code, stdout, stderr := run(t, "", append([]string{"build", "--output", "json", "--set", "window.fit=exact", "--max-tokens", "900"}, args...)...)
	if code != codeOK {
		t.Fatalf("%v: code %d, %s", args, code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &c); err != nil {
		t.Fatal(err)
	}
	return c, stderr
}

const tokensConfig = "window: {max_tokens: 900, fit: exact, system_prompts: [{content: The converting redering thing.}]}\n"

func TestTokenizerFile(t *testing.T) {
	data, err := os.ReadFile(tokenizerFixture(t))
	if err != nil {
		t.Fatal(err)
	}
	dir := write(t, map[string]string{
		"anchor.yaml":          tokensConfig + "counting: {tokenizer: {file: model/tokenizer.json}}\npipelines: {words: {counting: {tokenizer: words}}}\n",
		"model/tokenizer.json": string(data), "broken.json": `{"model": {"type": "WordLevel", "vocab": {"a": 0}}}`, "bytes.json": "\xff",
	})
	t.Chdir(dir)
	fromFile, stderr := buildCounting(t, "hello")
	if c := fromFile.Counting; !c.Exact || c.High < 5 || c.Low != c.High || c.Tokenizer != "tokenizer.json" || len(c.Vocabulary) != 64 || strings.Contains(stderr, "warning") {
		t.Errorf("%+v, %s", fromFile, stderr)
	}
	fromFlag, _ := buildCounting(t, "--pipeline", "words", "--set", "counting.tokenizer=file:model/tokenizer.json", "hello")
	if fromFlag.Counting != fromFile.Counting {
		t.Errorf("flag: %+v, file: %+v", fromFlag, fromFile)
	}
	code, stdout, stderr := run(t, "", "build", "--explain", "--format", "openai", "--model", "qwen3-32b", "--set", "counting.tokenizer=file:model/tokenizer.json", "hello")
	if code != codeOK || !strings.Contains(stdout, `"model": "qwen3-32b"`) || !strings.Contains(stdout+stderr, "tokenizer.json") || strings.Contains(stdout+stderr, "estimate") {
		t.Errorf("a file for a model: code %d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr := run(t, "", "build", "--model", "qwen3-32b", "--set", "counting.tokenizer=words", "hello"); code != codeUsage || !strings.Contains(stderr, "--model and counting.tokenizer exclude") {
		t.Errorf("a model and words: code %d, %s", code, stderr)
	}
	if words, _ := buildCounting(t, "--pipeline", "words", "hello"); words.Counting == fromFile.Counting {
		t.Errorf("words: %+v", words)
	}
	if code, _, stderr := run(t, "", "config", "validate"); code != codeOK {
		t.Errorf("validate: code %d, %s", code, stderr)
	}
	for file, want := range map[string]string{"broken.json": `type "WordLevel"`, "bytes.json": "invalid character", "none.json": "no such file", ".": "not a file"} {
		code, _, stderr := run(t, "", "build", "--set", "counting.tokenizer=file:"+file, "hello")
		if code == codeOK || !strings.Contains(stderr, "tokenizer.file") || !strings.Contains(stderr, want) {
			t.Errorf("%s: code %d, %s", file, code, stderr)
		}
	}
	code, _, stderr = run(t, "", "config", "validate", "--config", filepath.Join(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: {file: none.json}}\n"}), "anchor.yaml"))
	if code != codeInvalid || !strings.Contains(stderr, "anchor.yaml:1:30: counting.tokenizer.file") {
		t.Errorf("validate: code %d, %s", code, stderr)
	}
}

func TestUnknownModelIsEstimatedWithAWarning(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": tokensConfig + "counting: {model: my-own-model}\n"}))
	const warning = `model "my-own-model": unknown model: its tokens are estimated`
	c, stderr := buildCounting(t, "hello")
	if strings.Count(stderr, warning) != 1 || c.Counting.Exact || c.Counting.Low >= c.Counting.High || len(c.Diagnostics.Warnings) != 1 {
		t.Errorf("%+v, %s", c, stderr)
	}
	if !strings.Contains(c.Counting.Tokenizer, "my-own-model (estimate: o200k_base x 0.80 to 2.80") {
		t.Errorf("%+v", c)
	}
	if code, _, stderr := run(t, "", "config", "validate"); code != codeOK || strings.Count(stderr, warning) != 1 {
		t.Errorf("validate: code %d, %s", code, stderr)
	}
	if c, stderr := buildCounting(t, "--model", "gemini-2.5-pro", "hello"); c.Counting.Exact || len(c.Diagnostics.Warnings) > 0 || strings.Contains(stderr, "warning") {
		t.Errorf("known: %+v, %s", c, stderr)
	}
	if c, _ := buildCounting(t, "--model", "gpt-5.5", "hello"); !c.Counting.Exact {
		t.Errorf("gpt-5.5: %+v", c)
	}
	code, stdout, stderr := run(t, "", "build", "--explain", "hello")
	if code != codeOK || !strings.Contains(stdout+stderr, "estimate: o200k_base") || !strings.Contains(stdout+stderr, "the bounds of most known models") {
		t.Errorf("explain: code %d, %s%s", code, stdout, stderr)
	}
}

func TestDoctorSaysHowTokensAreCounted(t *testing.T) {
	fixture := tokenizerFixture(t)
	for config, want := range map[string]doctorLine{
		"counting: {model: gpt-5.2}":                     {Status: "ok", Detail: "gpt-5.2: exact, by o200k_base"},
		"counting: {model: gemini-3-pro}":                {Status: "ok", Detail: "gemini-3-pro: 0.8 to 1.9 of those of o200k_base (measured"},
		"counting: {model: my-own-model}":                {Status: "warning", Detail: `model "my-own-model": unknown model`},
		"counting: {tokenizer: words}":                   {Status: "ok", Detail: "by words"},
		"window: {max_tokens: 100}":                      {Status: "ok", Detail: "by cl100k_base"},
		"counting: {tokenizer: {file: x}}":               {Status: "problem", Detail: "stat "},
		"counting: {tokenizer: {file: " + fixture + "}}": {Status: "ok", Detail: "exact, by " + fixture},
	} {
		t.Chdir(write(t, map[string]string{"anchor.yaml": config + "\n"}))
		lines, _, _ := doctor(t)
		if got := lines["tokens"]; got.Status != want.Status || !strings.HasPrefix(got.Detail, want.Detail) {
			t.Errorf("%s: %+v, want %+v", config, got, want)
		}
	}
}
