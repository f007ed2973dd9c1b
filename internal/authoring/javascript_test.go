package authoring

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fakeTool stands for Binaryen: it notes that it ran, and writes a module with the two marks that
// build.mjs replaces.
const fakeTool = `
const fs = require("node:fs"), path = require("node:path");
fs.appendFileSync(path.join(__dirname, "runs"), "x");
const segment = (text) => Buffer.concat([Buffer.from([1, text.length]), Buffer.from(text)]);
const marks = [segment("anchor: the script of the plugin"), segment("anch")];
const data = Buffer.concat([Buffer.from([marks.length]), ...marks]);
const name = Buffer.from("anchor_boot");
fs.writeFileSync(process.argv[process.argv.indexOf("-o") + 1], Buffer.concat([
  Buffer.from("\0asm\x01\0\0\0", "latin1"), Buffer.from([0, name.length]), name, Buffer.from([11, data.length]), data]));
`

// scripted is a project in JavaScript with packages whose tools are fakes.
type scripted struct {
	t        *testing.T
	dir      string
	packages string
}

func newScripted(t *testing.T) *scripted {
	t.Helper()
	if languages, _ := wanted(); !slices.Contains(languages, "js") {
		t.Skipf("runs Node.js many times (set %s=js)", languagesVar)
	}
	if path, err := nodeProgram.find(""); path == "" && os.Getenv("CI") != "" {
		t.Fatalf("Node.js: %v", err)
	} else if path == "" {
		t.Skip("needs Node.js")
	}
	s := &scripted{t: t, dir: newProject(t, "js", "filter")}
	s.packages = filepath.Join(s.dir, "node_modules")
	for name, text := range map[string]string{
		"quickjs-wasi/quickjs.wasm": "an engine", "binaryen/package.json": `{"version":"1.0.0"}`,
		"binaryen/bin/wasm-merge": fakeTool, "binaryen/bin/wasm-metadce": fakeTool,
	} {
		if err := writeNew(filepath.Join(s.packages, filepath.FromSlash(name)), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// build builds a script, and returns the data of the module and how many tools have run so far.
func (s *scripted) build(script string) (data []byte, runs int) {
	s.t.Helper()
	out := filepath.Join(s.dir, "out.wasm")
	if err := os.WriteFile(filepath.Join(s.dir, "plugin.js"), []byte(script), 0o600); err != nil {
		s.t.Fatal(err)
	}
	node, err := nodeProgram.find("")
	if err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.CommandContext(s.t.Context(), node, filepath.Join(helperDir, "build.mjs"), "plugin.js", "-o", out)
	cmd.Dir = s.dir
	if said, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%v\n%s", err, said)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		s.t.Fatal(err)
	}
	section := wasm[8+2+len("anchor_boot"):]
	size, n := binary.Uvarint(section[1:])
	if section[0] != 11 || int(size) != len(section)-1-n {
		s.t.Fatalf("the section of the data is %d, of %d bytes; there are %d", section[0], size, len(section)-1-n)
	}
	ran, err := os.ReadFile(filepath.Join(s.packages, "binaryen", "bin", "runs"))
	if err != nil {
		s.t.Fatal(err)
	}
	return section[1+n:], len(ran)
}

// kept returns the files of merged engines.
func (s *scripted) kept() []string {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.packages, ".cache", "anchor-host", "*"))
	if err != nil {
		s.t.Fatal(err)
	}
	return files
}

// Scripts with the same operations and services share one merged engine. A script may hold
// anything, also what stands for it in the engine.
func TestScriptsShareAnEngine(t *testing.T) {
	s := newScripted(t)
	for _, body := range []string{"1", `"\x01\x04anch anchor: the script of the plugin"`, "\"\x01\x04anch\"", "\"" + strings.Repeat("long ", 50_000) + "\""} {
		script := "export function filter() { return " + body + "; }"
		data, runs := s.build(script)
		if runs != 2 {
			t.Errorf("%.40q: Binaryen ran %d times, want 2 for all scripts", body, runs)
		}
		size, n := binary.Uvarint(data[2:])
		text, rest := data[2+n:], []byte{1, 4, 0, 0, 0, 0}
		binary.LittleEndian.PutUint32(rest[2:], uint32(size))
		if data[0] != 2 || data[1] != 1 || !bytes.Contains(text[:size], []byte(body)) || text[size-1] != 0 || !bytes.Equal(text[size:], rest) {
			t.Errorf("%.40q: the data is %.80q, its end %q", body, data, data[max(0, len(data)-6):])
		}
	}
	for _, c := range []struct {
		name, script string
		more         int
	}{
		{"another operation", "export function rerank() {}", 2},
		{"a service", `export function filter() { host.kvGet("k"); }`, 2},
		{"the first again", "export function filter() { return 2; }", 0},
	} {
		_, before := s.build("export function filter() {}")
		if _, after := s.build(c.script); after-before != c.more {
			t.Errorf("%s: Binaryen ran %d times, want %d", c.name, after-before, c.more)
		}
	}
}

// A kept engine that is damaged, or made with another version, is made anew. There are not more
// than 16.
func TestKeptEngines(t *testing.T) {
	s := newScripted(t)
	const script = "export function filter() {}"
	_, runs := s.build(script)
	files := s.kept()
	if len(files) != 1 {
		t.Fatalf("kept %v, want one", files)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{"empty": nil, "cut": whole[:len(whole)-1], "changed": append(whole[:len(whole)-1:len(whole)-1], 7)} {
		if err := os.WriteFile(files[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, now := s.build(script); now != runs+2 {
			t.Errorf("%s: Binaryen ran %d times, want 2", name, now-runs)
		}
		runs += 2
	}
	for i := range 20 {
		if err := os.WriteFile(filepath.Join(filepath.Dir(files[0]), strings.Repeat("f", i+1)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.packages, "binaryen", "package.json"), []byte(`{"version":"1.0.1"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, now := s.build(script); now != runs+2 {
		t.Errorf("another version: Binaryen ran %d times, want 2", now-runs)
	}
	if n := len(s.kept()); n != 16 {
		t.Errorf("%d files are kept, want 16", n)
	}
	if err := os.RemoveAll(filepath.Join(s.packages, ".cache")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.packages, ".cache"), nil, 0o600); err != nil { // no folder can be made
		t.Fatal(err)
	}
	if data, now := s.build(script); now != runs+4 || !bytes.Contains(data, []byte("function filter")) {
		t.Errorf("without a place to keep it: Binaryen ran %d times; the data is %.80q", now-runs-2, data)
	}
}
