package authoring

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/host"
)

// mistakes are lines that end a call of the filter of a template: in which file, behind which line.
var mistakes = map[string]struct{ file, after, line string }{
	"go":     {"main.go", "func keep(", `	if s.Word == "boom" { panic(s.Word) }`},
	"tinygo": {"main.go", "func keep(", `	if s.Word == "boom" { panic(s.Word) }`},
	"rust":   {"src/lib.rs", "    let word", `    assert_ne!(word, "boom");`},
	"c":      {"plugin.c", "    anchor_text word", `    if (anchor_contains(word, anchor_str("boom"))) __builtin_trap();`},
	"cpp":    {"plugin.cpp", "    anchor_text word", `    if (anchor_contains(word, anchor_str("boom"))) __builtin_trap();`},
	"zig":    {"plugin.zig", "    const word", `    if (std.mem.eql(u8, word, "boom")) @panic(word);`},
	"ts":     {"plugin.ts", "  const word", `  if (word == "boom") unreachable();`},
}

// A trap in a plugin that was built for debugging names its line, in each language.
func TestTrapsNameLines(t *testing.T) {
	languages, named := wanted()
	for _, language := range languages {
		m, ok := mistakes[language]
		if !ok {
			continue // the JavaScript of a plugin is no code of its module, and WAT has no lines
		}
		t.Run(language, func(t *testing.T) {
			dir := newProject(t, language, "filter")
			path, at := filepath.Join(dir, m.file), 0
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.SplitAfter(string(text), "\n")
			for i, line := range lines {
				if strings.HasPrefix(line, m.after) {
					lines[i], at = line+m.line+"\n", i+2
				}
			}
			if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644); err != nil || at == 0 {
				t.Fatalf("%s: no line %q (%v)", m.file, m.after, err)
			}
			built, err := Build(t.Context(), BuildOptions{Dir: dir, Debug: true, Messages: os.Stderr})
			if errors.Is(err, ErrMissing) && (!named || os.Getenv("CI") == "") {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			module, err := os.ReadFile(built.Path)
			if err != nil || !bytes.Contains(module, []byte("\x04name")) {
				t.Errorf("no section with names, error %v", err)
			}
			engines := []host.Engine{host.EngineCompiler, host.EngineInterpreter}
			if language != "go" { // its runtime writes the stack: the host does nothing that a cache could change
				engines = append(engines, host.EngineCompiler)
			}
			cache := t.TempDir() // the last host has the machine code of the first
			for _, engine := range engines {
				failed := trap(t, built, engine, cache)
				place := fmt.Sprintf("%s:%d", m.file, at)
				if language == "go" {
					if !strings.Contains(failed.Log, "/"+place+" ") {
						t.Errorf("%s: the log does not name %s:\n%s", engine, place, failed.Log)
					}
					continue
				}
				if !strings.Contains(failed.Stack, "\t"+place+"\n") && !strings.HasSuffix(failed.Stack, "\t"+place) {
					t.Errorf("%s: the stack does not name %s:\n%s", engine, place, failed.Stack)
				}
				if strings.Contains(failed.Stack, ": anchor-") {
					t.Errorf("%s: a mark is left in the stack:\n%s", engine, failed.Stack)
				}
			}
		})
	}
}

// trap calls a filter with the word "boom", and returns how it failed.
func trap(t *testing.T, built *Built, engine host.Engine, cache string) *host.PluginError {
	t.Helper()
	h, err := host.New(host.Config{Lines: true, CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(t.Context())
	p, err := h.Load(t.Context(), built.Spec, host.PluginConfig{Engine: engine, WASI: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Call(t.Context(), "anchor_filter", []byte(`{"query":{"text":"q"},"columns":["text"],"items":[{"content":"a"}],"settings":{"word":"boom"}}`))
	var failed *host.PluginError
	if !errors.As(err, &failed) {
		t.Fatalf("%s: error %v, want one of the plugin", engine, err)
	}
	return failed
}
