package jsbuild

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// scripted is a project whose tools are fakes.
type scripted struct {
	t *testing.T
	o Options
	// ran are the names of the programs that ran.
	ran []string
}

// write writes files of the project.
func (s *scripted) write(files map[string]string) {
	s.t.Helper()
	for name, text := range files {
		file := filepath.Join(s.o.Dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			s.t.Fatal(err)
		}
	}
}

func newScripted(t *testing.T, files map[string]string) *scripted {
	t.Helper()
	s := &scripted{t: t}
	globals, err := os.ReadFile("../../sdk/pdk-js/globals.js")
	if err != nil {
		t.Fatal(err)
	}
	s.o = Options{
		Dir: t.TempDir(), Entry: "plugin.js", Work: t.TempDir(), Cache: filepath.Join(t.TempDir(), "cache"), Node: "node", Run: s.run,
		Files: fstest.MapFS{
			"globals.js": {Data: globals}, "runtime.js": {Data: []byte("runtime")}, "check.mjs": {},
			"glue.wat": {Data: []byte("@IMPORTS@ @EXPORTS@ @SLEEP@")},
		},
	}
	s.write(files)
	s.write(map[string]string{
		"node_modules/quickjs-wasi/quickjs.wasm": "an engine", "node_modules/binaryen/package.json": "1", "node_modules/binaryen/bin/wasm-merge": "",
	})
	return s
}

// run stands for Node.js: it writes a module with the two marks that a script replaces.
func (s *scripted) run(_ string, args ...string) error {
	name := filepath.Base(args[1])
	if name == "check.mjs" {
		return nil
	}
	s.ran = append(s.ran, name)
	segment := func(text string) string { return "\x01" + string(rune(len(text))) + text }
	data := "\x02" + segment(scriptMark) + segment(sizeMark)
	exports := "\x03" + string(rune(len(boot))) + boot + "\x00\x00\x0danchor_filter\x00\x01\x0danchor_rerank\x00\x02"
	wasm := "\x00asm\x01\x00\x00\x00\x07" + string(rune(len(exports))) + exports + "\x0b" + string(rune(len(data))) + data
	return os.WriteFile(args[slices.Index(args, "-o")+1], []byte(wasm), 0o600)
}

// build builds the project, and returns the script of the module and how many tools have run.
func (s *scripted) build(plugin string) (script string, ran int) {
	s.t.Helper()
	s.write(map[string]string{"plugin.js": plugin})
	wasm, err := Build(s.o)
	if err != nil {
		s.t.Fatal(err)
	}
	begin := []byte("anchorRegister(")
	at, end := bytes.Index(wasm, begin), bytes.LastIndex(wasm, []byte{1, 4})
	if at < 0 || end < at || int(binary.LittleEndian.Uint32(wasm[end+2:])) != end-at || wasm[end-1] != 0 || !bytes.Contains(wasm, []byte(initialize)) {
		s.t.Fatalf("the module is %.200q … %.60q", wasm, wasm[max(0, len(wasm)-60):])
	}
	if op := regexp.MustCompile("function (filter|rerank)").FindSubmatch(wasm); op != nil && bytes.Count(wasm, []byte("anchor_")) != 1 {
		s.t.Errorf("the module exports more than %s: %.120q", op[1], wasm)
	}
	return string(wasm[at : end-1]), len(s.ran)
}

// Scripts with the same services share one shell. A script may hold anything, also
// what stands for it in the shell.
func TestScriptsShareAShell(t *testing.T) {
	s := newScripted(t, nil)
	for _, body := range []string{"1", `"\x01\x04anch anchor: the script of the plugin"`, "\"\x01\x04anch\"", "\"" + strings.Repeat("long ", 50_000) + "\"",
		"`Rules:\nexport const answers as JSON\nimport nothing\nexport { a };`"} {
		script, ran := s.build("export function filter() { return " + body + "; }")
		if ran != 2 {
			t.Errorf("%.40q: Binaryen ran %d times, want 2 for all scripts", body, ran)
		}
		if text := strings.Trim(body, "\"`"); !strings.Contains(script, text) && !strings.Contains(body, "\\x") && !strings.Contains(body, "\x01") {
			t.Errorf("%.40q is not in the script %.300s", body, script)
		}
	}
	for _, c := range []struct {
		name, script string
		more         int
	}{
		{"another operation", "export function rerank() {}", 0},
		{"a service", `export function filter() { host.kvGet("k"); }`, 2},
		{"a variable named like the host", `export function filter(host) { host.kvSet("k"); }`, 0},
		{"a text with a service", `export const filter = () => "host.llm";`, 0},
		{"a timer", `export function filter() { setTimeout(() => {}, 1); }`, 2},
		{"the first again", "export function filter() { return 2; }", 0},
	} {
		_, before := s.build("export function filter() {}")
		if _, after := s.build(c.script); after-before != c.more {
			t.Errorf("%s: Binaryen ran %d times, want %d", c.name, after-before, c.more)
		}
	}
}

// A module does not depend on the folder where it was made, even if it has globals of the shell.
func TestScriptsDoNotNameTheirFolder(t *testing.T) {
	s := newScripted(t, nil)
	plugin := `export function filter(r) { return { keep: [new URL(r.query.query_str).port.length] }; }`
	first, _ := s.build(plugin)
	s.o.Work = t.TempDir()
	if second, _ := s.build(plugin); second != first || !strings.Contains(first, "// anchor/globals.js\n") {
		t.Errorf("builds in two work folders differ:\n%.300s\n%.300s", first, second)
	}
}

// A kept shell that is damaged, or made with another version, is made again. There are not more than 16.
func TestKeptShells(t *testing.T) {
	s := newScripted(t, nil)
	const script = "export function filter() {}"
	_, ran := s.build(script)
	files, err := filepath.Glob(filepath.Join(s.o.Cache, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("kept %v, want one", files)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{"empty": nil, "cut": whole[:len(whole)-1], "changed": append(slices.Clone(whole[:len(whole)-1]), 7)} {
		if err := os.WriteFile(files[0], damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, now := s.build(script); now != ran+2 {
			t.Errorf("%s: Binaryen ran %d times, want 2", name, now-ran)
		}
		ran += 2
	}
	for i := range 20 {
		if err := os.WriteFile(filepath.Join(s.o.Cache, strings.Repeat("f", i+1)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.write(map[string]string{"node_modules/binaryen/package.json": "2"})
	if _, now := s.build(script); now != ran+2 {
		t.Errorf("another version: Binaryen ran %d times, want 2", now-ran)
	}
	if files, err = filepath.Glob(filepath.Join(s.o.Cache, "*")); err != nil || len(files) != mostKept {
		t.Errorf("%d files are kept, want %d", len(files), mostKept)
	}
	s.o.Cache = filepath.Join(s.o.Dir, "plugin.js") // no folder can be made
	if _, now := s.build(script); now != ran+4 {
		t.Errorf("without a place to keep it: Binaryen ran %d times, want 2", now-ran-2)
	}
}

// What cannot be built is refused with its place and a remedy.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"no operation":      {map[string]string{"plugin.js": "export const a = 1, filtre = () => 1;"}, []string{"plugin.js: exports a, filtre, which is no operation", "there are init, retrieve,"}},
		"no export":         {map[string]string{"plugin.js": "1;"}, []string{"exports nothing, which is no operation"}},
		"a Node.js module":  {map[string]string{"plugin.js": "module.exports = { filter() {} };"}, []string{"plugin.js: is a module of Node.js (write export function"}},
		"a file of Node.js": {map[string]string{"plugin.js": "\n  import fs from \"fs\"; export const filter = () => fs;"}, []string{`plugin.js:2:18: "fs" is a module of Node.js`, "host"}},
		"require":           {map[string]string{"plugin.js": "const p = require(\"node:path\");\nexport const filter = () => p;"}, []string{`plugin.js:1:19: "node:path" is a module of Node.js`}},
		"an absent package": {map[string]string{"plugin.js": "import x from \"@a/b/c\"; export const filter = x;"}, []string{`plugin.js:1:15: the package "@a/b/c" is not in node_modules (run: npm install @a/b)`}},
		"an absent file":    {map[string]string{"plugin.js": "export * from \"./lib.js\";"}, []string{`plugin.js:1:15: there is no file "./lib.js"`}},
		"another file":      {map[string]string{"plugin.js": "export * from \"./lib.js\";", "lib.js": "\n export const filter = ;"}, []string{"lib.js:2:24: Unexpected \";\""}},
		"await":             {map[string]string{"plugin.js": "await 1; export const filter = () => 1;"}, []string{"plugin.js:1:1: await stands outside of a function"}},
		"an absent service": {map[string]string{"plugin.js": "import { f } from './lib.js';\nexport const filter = f;", "lib.js": "// x\n\nexport const f = () =>\n  host?.htp(1);"}, []string{"lib.js:4: host.htp does not exist (there are host.countTokens,"}},
		"no export of it":   {map[string]string{"plugin.js": "import { g } from './lib.js'; export const filter = g;", "lib.js": "export const f = 1;"}, []string{"plugin.js:1:10: No matching export"}},
		"many":              {map[string]string{"plugin.js": "import 'a'; import 'b'; import 'c'; import 'd'; import 'e'; import 'f'; import 'g';"}, []string{"and 2 more"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScripted(t, c.files)
			_, err := Build(s.o)
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
			}
		})
	}
}

// The services of a plugin are those that it calls by name, or else those that its manifest asks for.
func TestServices(t *testing.T) {
	for script, want := range map[string]string{
		`export const filter = () => host.http("x");`:                      "RSH",
		`export const filter = () => globalThis.host.search({});`:          "F",
		`const { kvGet } = host; export const filter = () => kvGet("x");`:  "GPN",
		`export const filter = (host) => host.http("x");`:                  "",
		`export const filter = () => host?.kvGet?.("x") + host . llm({});`: "GN",
	} {
		s := newScripted(t, map[string]string{"plugin.js": script})
		s.o.Permissions = []string{"kv", "llm"}
		b, err := s.o.bundle()
		if err != nil || b.letters != want {
			t.Errorf("%s: %v, %+v; want %q", script, err, b, want)
		}
	}
}

// Rows of a trace lead from lines of a bundle to those of files, whatever stands between them.
func TestTrace(t *testing.T) {
	s := newScripted(t, map[string]string{
		"plugin.js":   "// a comment that goes\n\nimport { deep } from \"./lib/deep.ts\";\nexport const filter = () => {\n  // another\n\n  return deep(\"here\");\n};\n",
		"lib/deep.ts": "interface A {\n  b: number;\n}\nexport function deep(a: string): string {\n  return (\n    a +\n    \"mark\"\n  );\n}\n",
	})
	b, err := s.o.bundle()
	if err != nil {
		t.Fatal(err)
	}
	script := string(b.script)
	rows, err := trace([]byte(`{"sources":[],"mappings":"!"}`))
	if err == nil {
		t.Errorf("a map that is none: %v", rows)
	}
	for mark, want := range map[string]struct {
		file string
		line int
	}{`deep("here")`: {"plugin.js", 7}, `"mark"`: {"lib/deep.ts", 7}} {
		at := strings.Index(script, mark)
		if at < 0 {
			t.Fatalf("%s is not in %s", mark, script)
		}
		if file, line := tableOf(t, script).at(script, at); file != want.file || line != want.line {
			t.Errorf("%s: %s:%d, want %v", mark, file, line, want)
		}
	}
}

// A source map of strangers does not take the build down.
func FuzzTrace(f *testing.F) {
	f.Add(`{"sources":["a"],"mappings":"AAAA;AACA,IAAI"}`)
	f.Add(`{"sources":["a"],"mappings":"D;ADDD,gggggggggggB"}`)
	f.Fuzz(func(_ *testing.T, text string) {
		if rows, err := trace([]byte(text)); err == nil {
			rows.at("a\nb\nc", 3)
		}
	})
}
