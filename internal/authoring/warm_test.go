package authoring

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A compiler that stays makes the same modules as one that is started for each build, shows the
// same messages, and is replaced when it breaks off.
func TestWarm(t *testing.T) {
	for _, c := range []struct{ language, file, word, mistake, place, other string }{
		{"ts", "plugin.ts", "includes(word)", "nothing(word)", "plugin.ts(", "startsWith(word)"},
		{"java", "src/main/java/Plugin.java", "contains(word)", "nothing(word)", "Plugin.java:", "startsWith(word)"},
	} {
		t.Run(c.language, func(t *testing.T) { testWarm(t, c.language, c.file, c.word, c.mistake, c.place, c.other) })
	}
}

func testWarm(t *testing.T, language, file, word, mistake, place, other string) {
	toolchain, err := Lookup(language)
	if err != nil {
		t.Fatal(err)
	}
	if languages, _ := wanted(); language == "java" && !slices.Contains(languages, language) { // Maven downloads
		t.Skipf("set %s=%s to run it", languagesVar, language)
	}
	if missing := toolchain.Missing(""); len(missing) > 0 {
		t.Skip(toolchain.missingError(missing))
	}
	dir := newProject(t, language, "filter")
	source := filepath.Join(dir, file)
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	var warm Warm
	t.Cleanup(warm.Close)
	build := func(warm *Warm) (digest, said string, err error) {
		var messages bytes.Buffer
		built, err := Build(t.Context(), BuildOptions{Dir: dir, Quick: true, Warm: warm, Messages: &messages})
		if err != nil {
			return "", messages.String(), err
		}
		return built.Spec.Digest, messages.String(), nil
	}
	first, _, err := build(&warm)
	if err != nil {
		t.Fatal(err)
	}
	if cold, _, err := build(nil); err != nil || cold != first {
		t.Errorf("without it: %s, %v; want %s", cold, err, first)
	}
	started := warm.compiler

	write(t, source, strings.Replace(string(text), word, mistake, 1))
	_, said, err := build(&warm)
	if err == nil || !strings.Contains(said, place) || !strings.Contains(said, "nothing") || strings.Contains(err.Error(), "exit") {
		t.Errorf("a mistake: %v\n%s", err, said)
	}
	write(t, source, strings.Replace(string(text), word, other, 1))
	if changed, _, err := build(&warm); err != nil || changed == first || warm.compiler != started {
		t.Errorf("after an edit: %s, %v, in the same process: %v", changed, err, warm.compiler == started)
	}

	started.stop()
	write(t, source, string(text))
	if again, _, err := build(&warm); err != nil || again != first {
		t.Errorf("after the compiler broke off: %s, %v; want %s", again, err, first)
	}
	if again, _, err := build(&warm); err != nil || again != first || warm.compiler == nil || warm.compiler == started {
		t.Errorf("with a new compiler: %s, %v; want %s", again, err, first)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Build(ended, BuildOptions{Dir: dir, Warm: &warm}); err == nil {
		t.Error("a build whose context has ended is done")
	}
	if _, err := Build(t.Context(), BuildOptions{Dir: dir, Warm: &warm, Timeout: time.Millisecond}); err == nil || !strings.Contains(err.Error(), "not done within 1ms") {
		t.Errorf("a build of more than a millisecond: %v", err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
