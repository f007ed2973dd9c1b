package javabuild

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// project writes files below a new folder, and returns options to build it. run stands for the programs.
func project(t *testing.T, files map[string]string, run func(args []string) error) Options {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Options{
		Dir: dir, Work: t.TempDir(), Cache: filepath.Join(t.TempDir(), "cache"), Javac: "javac", Maven: "mvn", Memory: 64 << 20,
		Operations: []string{"filter"}, Run: func(_ string, args ...string) error { return run(args) },
	}
}

func TestMistakesAreNamed(t *testing.T) {
	plugin, pom := "src/main/java/Plugin.java", "pom.xml"
	for _, c := range []struct {
		name   string
		files  map[string]string
		memory int64
		path   string
		want   string
	}{
		{"no source", map[string]string{pom: ""}, 64 << 20, "", "it has 0 files Plugin.java"},
		{"two sources", map[string]string{pom: "", plugin: "", "src/main/java/a/Plugin.java": ""}, 64 << 20, "", "it has 2 files Plugin.java"},
		{"a package that is none", map[string]string{pom: "", "src/main/java/a b/Plugin.java": ""}, 64 << 20, "", `"a b" is no name of a package`},
		{"little memory", map[string]string{pom: "", plugin: ""}, 4 << 20, "", "limits.memory"},
		{"no TeaVM", map[string]string{pom: "", plugin: ""}, 64 << 20, "/x/junit-5.jar", "it needs the dependency org.teavm:teavm-tooling:" + Version},
		{"another TeaVM", map[string]string{pom: "", plugin: ""}, 64 << 20, "/x/teavm-tooling-0.16.0.jar", "it needs the dependency org.teavm:teavm-tooling:" + Version},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := project(t, c.files, func(args []string) error {
				file := strings.TrimPrefix(args[len(args)-1], "-Dmdep.outputFile=")
				return os.WriteFile(file, []byte(c.path), 0o600)
			})
			o.Memory = c.memory
			if _, err := Build(o); !errors.Is(err, ErrSource) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestMavenIsAskedOnce: a class path is kept for a pom.xml, and looked for again if a file of it is away.
func TestMavenIsAskedOnce(t *testing.T) {
	lib := t.TempDir()
	files := []string{filepath.Join(lib, "teavm-tooling-"+Version+".jar"), filepath.Join(lib, "teavm-classlib-"+Version+".jar")}
	for _, file := range files {
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	asked := 0
	o := project(t, map[string]string{"pom.xml": "<project/>"}, func(args []string) error {
		asked++
		return os.WriteFile(strings.TrimPrefix(args[len(args)-1], "-Dmdep.outputFile="), []byte(strings.Join(files, string(filepath.ListSeparator))+"\n"), 0o600)
	})
	find := func(want int) {
		t.Helper()
		if _, err := o.classPath(); err != nil || asked != want {
			t.Errorf("asked %d times, want %d; %v", asked, want, err)
		}
	}
	find(1)
	find(1)
	if err := os.WriteFile(filepath.Join(o.Dir, "pom.xml"), []byte("<project>other</project>"), 0o600); err != nil {
		t.Fatal(err)
	}
	find(2)
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	find(3)
}

func TestMethods(t *testing.T) {
	for operation, want := range map[string]string{"filter": "filter", "transform_query": "transformQuery", "count_tokens": "countTokens"} {
		if got := Method(operation); got != want {
			t.Errorf("%s is the method %s, want %s", operation, got, want)
		}
	}
}

// TestHeapFitsTheMemory holds the heap, and what the collector notes of it, within the memory.
func TestHeapFitsTheMemory(t *testing.T) {
	for _, memory := range []int64{5 << 20, 64 << 20, 1 << 30, 4 << 30} {
		heap, err := heapFor(memory)
		if used := int64(heap) + int64(heap)/16 + int64(heap)/1024*3 + 1<<20; err != nil || used > memory || int64(heap) < min(memory/4, mostHeap) {
			t.Errorf("memory %d: heap %d, %v", memory, heap, err)
		}
	}
}

// module returns a module of sections, each a number and its content.
func module(sections ...string) []byte {
	b := "\x00asm\x01\x00\x00\x00"
	for _, s := range sections {
		b += s[:1] + string(rune(len(s)-1)) + s[1:]
	}
	return []byte(b)
}

func TestTrim(t *testing.T) {
	exports := "\x07\x04" + "\x05start\x00\x01" + "\x06memory\x02\x00" + "\x0danchor_filter\x00\x02" + "\x06_start\x00\x03"
	got, err := trim(module(exports, "\x00\x04nameabc", "\x00\x05.debug"), false)
	if want := module("\x07\x02" + "\x06memory\x02\x00" + "\x0danchor_filter\x00\x02"); err != nil || string(got) != string(want) {
		t.Errorf("trimmed to %q, %v; want %q", got, err, want)
	}
	if got, err := trim(module("\x00\x04nameabc"), true); err != nil || string(got) != string(module("\x00\x04nameabc")) {
		t.Errorf("with names: %q, %v", got, err)
	}
	for imports, want := range map[string]string{
		"\x02\x01\x05teavm\x0fteavm_interrupt\x00\x00": "starts a thread",
		"\x02\x01\x09teavmDate\x07getYear\x00\x00":     "the method getYear of TeaVM",
	} {
		if _, err := trim(module(imports), false); !errors.Is(err, ErrSource) || !strings.Contains(err.Error(), want) {
			t.Errorf("imports %q: error %v, want %q", imports, err, want)
		}
	}
}

func FuzzTrim(f *testing.F) {
	f.Add(module("\x07\x01\x05start\x00\x01", "\x02\x01\x05teavm\x01a\x00\x00", "\x00\x04nameabc"), true)
	f.Fuzz(func(_ *testing.T, bin []byte, names bool) {
		if out, err := trim(bin, names); err == nil && len(out) > len(bin)+16 {
			panic("a module grew")
		}
	})
}
