package authoring

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// folder writes files into a new folder.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := writeNew(filepath.Join(dir, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestDetect(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"a Go module", map[string]string{"go.mod": "", "plugin.yaml": "abi: 1"}, "go"},
		{"a package of a Go module", map[string]string{"main.go": ""}, "go"},
		{"TinyGo is stated", map[string]string{"go.mod": "", "plugin.yaml": "# language: tinygo\nabi: 1"}, "tinygo"},
		{"Rust", map[string]string{"Cargo.toml": ""}, "rust"},
		{"C", map[string]string{"plugin.c": "", "other.c": ""}, "c"},
		{"Zig", map[string]string{"plugin.zig": ""}, "zig"},
		{"AssemblyScript", map[string]string{"plugin.ts": "", "package.json": `{"devDependencies": {"assemblyscript": "0.28.20"}}`}, "ts"},
		{"AssemblyScript by its exports", map[string]string{"plugin.ts": "export { anchor_abi_1 } from \"./anchor/serve\";", "tsconfig.json": "{}"}, "ts"},
		{"TypeScript", map[string]string{"plugin.ts": "export function filter() {}", "package.json": "{}"}, "typescript"},
		{"TypeScript with a name like an export", map[string]string{"plugin.ts": "import { anchor_link } from \"./links\";\nexport function filter() { return anchor_link; }"}, "typescript"},
		{"JavaScript", map[string]string{"plugin.js": ""}, "js"},
		{"TypeScript is stated", map[string]string{"plugin.ts": "", "plugin.yaml": "# language: typescript\n"}, "typescript"},
		{"Python", map[string]string{"plugin.py": "", "requirements.txt": ""}, "python"},
		{"Java", map[string]string{"pom.xml": ""}, "java"},
		{"text", map[string]string{"plugin.wat": ""}, "wat"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := Detect(folder(t, c.files)); got != c.want || err != nil {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestDetectErrors(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"nothing known", map[string]string{"plugin.yaml": "abi: 1", "plugin.c/file": ""},
			"unknown language: it has none of go.mod, main.go, Cargo.toml, plugin.c, plugin.cpp, plugin.zig, plugin.ts, plugin.js, plugin.mjs, plugin.py, pom.xml, plugin.wat (name the folder of a project, or its language with --lang)"},
		{"a language that does not exist", map[string]string{"plugin.yaml": "# language: tinigo\n"},
			`plugin.yaml: language "tinigo": unknown language (did you mean "tinygo"?)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Detect(folder(t, c.files))
			if !errors.Is(err, ErrLanguage) || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	if _, err := Detect(filepath.Join(t.TempDir(), "gone")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

// Every language says what it lacks and how to get it.
func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, c := range Toolchains {
		missing := c.Missing(t.TempDir())
		if len(missing) != len(c.Programs) {
			t.Errorf("%s: %d programs missing, want %d", c.Language, len(missing), len(c.Programs))
		}
		err := c.missingError(missing)
		if !errors.Is(err, ErrMissing) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", c.Language, err)
		}
		for _, p := range c.Programs {
			if p.Get == "" || !strings.Contains(err.Error(), p.Get) {
				t.Errorf("%s: the message does not say how to get %s", c.Language, p.Name)
			}
		}
		if script := filepath.Join("..", "..", "tools", "toolchains", c.Language+".sh"); !exists(script) {
			t.Errorf("%s: the message names %s, which is not there", c.Language, script)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// A program of the project's own packages is preferred.
func TestFindsLocalPrograms(t *testing.T) {
	name := "asc"
	if runtime.GOOS == "windows" {
		name += ".cmd"
	}
	dir := folder(t, map[string]string{"node_modules/.bin/" + name: "#!/bin/sh\n"})
	local := filepath.Join(dir, "node_modules", ".bin", name)
	if err := os.Chmod(local, 0o755); err != nil {
		t.Fatal(err)
	}
	p := Program{Executables: []string{"asc"}}
	if got, err := p.find(dir); got != local || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, local)
	}
	broken := errors.New("broken")
	p.works = func(string) error { return broken }
	if got, err := p.find(dir); got != "" || !errors.Is(err, broken) {
		t.Errorf("got %q, %v, though it does not work", got, err)
	}
	tried := 0
	p.works = func(string) error { tried++; return nil }
	for range 2 {
		if got, err := p.find(dir); got != local || err != nil || tried != 1 {
			t.Errorf("got %q; a program that works was tried %d times, want once", got, tried)
		}
	}
}

func TestCommandString(t *testing.T) {
	c := Command{Args: []string{"/bin/go", "build", "-ldflags=-s -w", "it's"}, Env: []string{"GOOS=wasip1", "DIR=a b"}}
	if got, want := c.String(), `GOOS=wasip1 DIR='a b' /bin/go build '-ldflags=-s -w' 'it'\''s'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := c.Name(); got != "go build" {
		t.Errorf("name %q", got)
	}
}

// Other names of a language lead to its name here.
func TestLookupSuggests(t *testing.T) {
	for other, want := range map[string]string{"assemblyscript": "ts", "JavaScript": "js", "golang": "go", "tinigo": "tinygo", "c++": "cpp"} {
		if _, err := Lookup(other); !errors.Is(err, ErrLanguage) || !strings.Contains(err.Error(), `(did you mean "`+want+`"?)`) {
			t.Errorf("%s: got %v, want %s", other, err, want)
		}
	}
}
