package assemble

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
)

// What a named pipeline states is checked where it stands, and once.
func TestValidatePipelines(t *testing.T) {
	l, err := config.Parse("f", []byte(`window: {max_tokens: 50}
steps: [{name: s, use: missing}]
pipelines:
  same: {window: {max_tokens: 60}}
  own: {steps: [{name: s, use: lost}, {name: t, use: sort, settings: {by: size}}]}
  small: {window: {max_tokens: 5, budget: {preset: rag}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	warnings, err := Validate(l, t.TempDir())
	if err == nil {
		t.Fatal("no error")
	}
	if len(warnings) != 2 || !strings.Contains(warnings[0], "f:2:9: steps[0]: ") || !strings.Contains(warnings[1], "pipelines.own.steps[0]: ") {
		t.Errorf("warnings %q", warnings)
	}
	for _, want := range []string{"pipelines.own.steps[1].settings: ", "pipelines.small.window.max_tokens: "} {
		if strings.Count(err.Error(), want) == 0 {
			t.Errorf("no %q in\n%v", want, err)
		}
	}
	if n := len(strings.Split(err.Error(), "\n")); n != 2 {
		t.Errorf("%d problems, want 2:\n%v", n, err)
	}
}

// A mistake at the top of the file is reported once, however many pipelines inherit it.
func TestValidateReportsTheTopOnce(t *testing.T) {
	for text, want := range map[string][]string{
		"window: {max_tokens: 5, budget: {preset: rag}}\npipelines: {a: {window: {order: chronological}}, b: {window: {fill: knapsack}}, c: {window: {max_tokens: 6}}}\n": {
			"f:1:22: window.max_tokens: preset rag of 5 tokens: ", "pipelines.c.window.max_tokens: preset rag of 6 tokens: ",
		},
		"window: {max_tokens: 100, answer: 200}\npipelines: {a: {window: {answer: 100}}}\n": {
			"f:1:35: window.answer: 200 tokens leave nothing of the 100 of window.max_tokens: ", "pipelines.a.window.answer: 100 tokens leave nothing of the 100 ",
		},
		"window: {max_tokens: 100, answer: 50, budget: {allocations: [{source: memory, min_tokens: 60}]}}\n": {
			"f:1:47: window.budget: the allocations and the 50 tokens of the answer exceed the 100 of window.max_tokens: ",
		},
		"counting: {model: claude-sonnet-4-5, calibration: none.jsonl}\npipelines: {a: {window: {fit: exact}}, b: {counting: {model: claude-sonnet-4-5, calibration: lost.jsonl}}, c: {counting: {model: gpt-4o}}}\n": {
			"f:1:51: counting.calibration: open ", "pipelines.b.counting.calibration: open ",
		},
	} {
		l, err := config.Parse("f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Validate(l, t.TempDir())
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		for _, want := range want {
			if n := strings.Count(err.Error(), want); n != 1 {
				t.Errorf("%s: %d times %q in\n%v", text, n, want, err)
			}
		}
		if len(lines) != len(want) {
			t.Errorf("%s: %d problems, want %d:\n%v", text, len(lines), len(want), err)
		}
	}
}

// A plugin that is called without an instance is granted nothing. That it asks for something
// is worth a line, once.
func TestValidateWarnsOfPluginsWithoutGrants(t *testing.T) {
	l, err := config.Parse("f", []byte("steps: [{name: a, use: asks}, {name: b, use: asks}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "asks"), 0o700); err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile("../../testdata/wasm/add-item/plugin.wasm")
	if err != nil {
		t.Fatal(err)
	}
	manifest := "abi: 1\nname: asks\nversion: 0.1.0\noperations: {retrieve: {reads: []}}\npermissions: [{kind: kv, reason: keeps what it found}]\n"
	for name, data := range map[string][]byte{"plugin.wasm": module, "plugin.yaml": []byte(manifest)} {
		if err := os.WriteFile(filepath.Join(dir, "asks", name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	warnings, err := Validate(l, dir)
	if want := `warning: plugin "asks" asks for kv and is not granted it: keeps what it found (name an instance of it, with grants)`; err != nil || len(warnings) != 1 || warnings[0] != want {
		t.Errorf("%q, %v, want %q", warnings, err, want)
	}
}

// A second version of a step has the settings of the step. Those that it does not know would end each start.
func TestValidateChecksTheSettingsOfAShadow(t *testing.T) {
	l, err := config.Parse("f", []byte("steps: [{name: a, use: gone, settings: {share: 1}, shadow: {use: trap}}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Validate(l, "../../testdata/wasm"); err == nil || !strings.Contains(err.Error(), `steps[0].shadow.settings: unknown key "share"`) {
		t.Error(err)
	}
}
