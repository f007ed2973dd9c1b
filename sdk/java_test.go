package sdk_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/authoring"
	"github.com/anchor-host/anchor-host/pipeline"
)

// TestJava tries what a compiled runtime can get wrong although the kit passes: exceptions of the machine, what
// is closed, integers, random numbers in an image, a stack and a heap that end, and many calls of one instance.
func TestJava(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a compiler")
	}
	var log bytes.Buffer
	h := newHost(t, &log)
	spec := buildGuest(t, "java", "")
	load := func(cfg host.PluginConfig) (*host.Plugin, func(string) (string, error)) {
		cfg.Limits.BreakAfter = host.Unlimited
		p, err := h.Load(t.Context(), spec, cfg)
		if err != nil {
			t.Fatal(err)
		}
		c, err := steps.Classifier(p, steps.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return p, func(what string) (string, error) { return c.Classify(t.Context(), &pipeline.Query{Text: what}) }
	}
	_, reset := load(host.PluginConfig{Name: "reset"})
	kept, keep := load(host.PluginConfig{Name: "keep", State: host.StateKeep})
	both := map[string]func(string) (string, error){"reset": reset, "keep": keep}
	for _, c := range []struct{ what, want string }{
		{"with", "inside of ab [b, a]"}, {"deep", "JSON: byte 501: more than 500 levels"}, {"deep_enough", "900"}, {"print", "printed"},
		{"half", "\ufffd"}, {"integers", "[9007199254740993,-9223372036854775808,1.0,0.1,1.0E21]"}, {"garbage", "2000"},
	} {
		for state, try := range both {
			if got, err := try(c.what); err != nil || got != c.want {
				t.Errorf("%s, %s: %q, %v; want %q", c.what, state, got, err, c.want)
			}
		}
	}
	if text := log.String(); !strings.Contains(text, "msg=one") || !strings.Contains(text, `msg="two 3"`) {
		t.Errorf("the log has no lines of print: %s", text)
	}
	for _, c := range []struct {
		what   string
		reason abi.Reason
		parts  []string
	}{
		{"raise", abi.ReasonGuestError, []string{"java.lang.IllegalArgumentException: inside of a", "at Plugin.fail(Plugin.java:", "caused by java.lang.Exception: why"}},
		{"null", abi.ReasonGuestError, []string{"java.lang.NullPointerException", "at Plugin.tried(Plugin.java:32)"}},
		{"cast", abi.ReasonGuestError, []string{"java.lang.ClassCastException", "Plugin.java"}},
		{"bounds", abi.ReasonGuestError, []string{"java.lang.ArrayIndexOutOfBoundsException", "at Plugin.tried(Plugin.java:34)"}},
		{"recursion", abi.ReasonTrap, []string{"stack"}},
		{"zero", abi.ReasonTrap, []string{"integer divide by zero"}},
		{"rest", abi.ReasonTrap, []string{"integer divide by zero"}},
		{"hoard", abi.ReasonTrap, []string{"Plugin.java"}},
	} {
		for state, try := range both {
			_, err := try(c.what)
			var failed *host.PluginError
			if !errors.As(err, &failed) || failed.Code != c.reason {
				t.Errorf("%s, %s: error %v", c.what, state, err)
				continue
			}
			for _, part := range c.parts {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s, %s: error %v lacks %q", c.what, state, err, part)
				}
			}
		}
	}
	one, err := reset("random")
	if other, err2 := reset("random"); err != nil || err2 != nil || sharesWord(one, other) {
		t.Errorf("random numbers %s and %s, %v, %v", one, other, err, err2)
	}
	checkManyCalls(t, kept, keep)
	checkFailingStart(t)
}

// checkFailingStart tests that an exception of a static initializer fails a call with its class and its text.
func checkFailingStart(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "java"))); err != nil {
		t.Fatal(err)
	}
	source := `public final class Plugin {
    static final java.util.regex.Pattern BAD = java.util.regex.Pattern.compile("[^\\p{Nope}]");
    public static io.anchorhost.Json classify(io.anchorhost.Request request) { return io.anchorhost.Json.parse(BAD.pattern()); }
}`
	if err := os.WriteFile(filepath.Join(dir, "src", "main", "java", "Plugin.java"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := newHost(t, nil).Load(t.Context(), buildProject(t, dir, "java", "java"), host.PluginConfig{Name: "start"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := steps.Classifier(p, steps.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Classify(t.Context(), &pipeline.Query{Text: "a"})
	for _, part := range []string{"java.util.regex.PatternSyntaxException: ", "Nope", "at Plugin.<clinit>(Plugin.java:2)"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v lacks %q", err, part)
		}
	}
}

// sharesWord reports whether two texts have a word in common.
func sharesWord(a, b string) bool {
	for _, word := range strings.Fields(a) {
		if strings.Contains(b, word) {
			return true
		}
	}
	return false
}

// checkManyCalls has one instance answer many calls, and bounds a table whose keys collide.
func checkManyCalls(t *testing.T, p *host.Plugin, try func(string) (string, error)) {
	t.Helper()
	memory := int64(0)
	for n := range 10_000 {
		if _, err := try("count"); err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
		if n == 1000 {
			memory = p.Stats().Memory
		}
	}
	if now := p.Stats().Memory; now > memory {
		t.Errorf("memory grew from %d to %d", memory, now)
	}
	began := time.Now()
	var failed *host.PluginError
	if _, err := try("flood"); !errors.As(err, &failed) || failed.Code != abi.ReasonTimeout && failed.Code != abi.ReasonFuel && failed.Code != abi.ReasonTrap {
		t.Errorf("colliding keys: error %v after %v", err, time.Since(began))
	}
	if _, err := try("with"); err != nil {
		t.Errorf("after colliding keys: %v", err)
	}
}

// TestJavaDividesByAConstantZero: the compiler of TeaVM fails on it, and the author learns where it stands.
func TestJavaDividesByAConstantZero(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a compiler")
	}
	toolchain, err := authoring.Lookup("java")
	if err != nil {
		t.Fatal(err)
	}
	if missing := toolchain.Missing(""); len(missing) > 0 {
		t.Skipf("NOT TESTED: there is no %v", missing)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/java")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "src", "main", "java", "Plugin.java")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(source), "1 / (what.length() - 4)")
	if err := os.WriteFile(file, bytes.ReplaceAll(source, []byte("1 / (what.length() - 4)"), []byte("1 / 0")), 0o600); err != nil || !found {
		t.Fatal(err, found)
	}
	var said bytes.Buffer
	_, err = authoring.Build(t.Context(), authoring.BuildOptions{Dir: dir, Language: "java", Output: filepath.Join(t.TempDir(), "p.wasm"), Messages: &said})
	if want := fmt.Sprintf("Plugin.java:%d: divides by 0 (", strings.Count(before, "\n")+1); err == nil || !strings.HasPrefix(said.String(), want) {
		t.Errorf("%v, said %q, want %q", err, said.String(), want)
	}
}
