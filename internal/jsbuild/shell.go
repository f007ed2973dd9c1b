package jsbuild

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/anchor-host/anchor-host/internal/filecache"
)

// features are named one by one: --all-features makes Binaryen write imports that engines refuse.
var features = []string{
	"--enable-bulk-memory", "--enable-bulk-memory-opt", "--enable-sign-ext", "--enable-nontrapping-float-to-int", "--enable-mutable-globals",
	"--enable-reference-types", "--enable-multivalue",
}

// callee is what a script calls by a letter: code of glue.wat.
type callee struct{ letter, code string }

// builtin is what each shell has. The global of a letter L is anchorL, which runtime.js takes.
var builtin = []callee{
	{"L", "(call $log (local.get $arguments))"},
	{"C", "(call $config (local.get $arguments))"},
	{"O", "(call $other_case (local.get $arguments))"},
	{"B", "(call $number (call $value_block (i32.load (local.get $arguments))))"},
	{"T", "(call $from_block (call $handle (local.get $arguments)) (i32.const 0))"},
	{"A", "(call $from_block (call $handle (local.get $arguments)) (i32.const 1))"},
	{"J", "(call $run_jobs)"},
	{"U", "(call $watch_rejections (i32.load (local.get $arguments)))"},
	{"Y", "(call $random_bytes (local.get $arguments))"},
}

// imported are functions of the host. They take and return handles of blocks as numbers, and a
// shell imports those that its script uses.
var imported = map[string]struct{ module, name, params, result string }{
	"R": {"extism:host/env", "http_request", "i64 i64", "i64"},
	"S": {"extism:host/env", "http_status_code", "", "i32"},
	"H": {"extism:host/env", "http_headers", "", "i64"},
	"M": {"extism:host/user", "anchor_http_batch", "i64", "i64"},
	"G": {"extism:host/user", "anchor_kv_get", "i64", "i64"},
	"P": {"extism:host/user", "anchor_kv_set", "i64 i64", "i32"},
	"K": {"extism:host/user", "anchor_count_tokens", "i64", "i64"},
	"E": {"extism:host/user", "anchor_embed", "i64", "i64"},
	"F": {"extism:host/user", "anchor_search", "i64", "i64"},
	"N": {"extism:host/user", "anchor_llm", "i64", "i64"},
	"Z": {"wasi_snapshot_preview1", "poll_oneoff", "i32 i32 i32 i32", "i32"},
}

// The export of glue.wat that boots the engine, and the name that hosts call. They are of one length.
const (
	boot       = "anchor_boot"
	initialize = "_initialize"
)

// shell returns the module without the script, with the exports of all operations. Merging and
// shrinking the engine takes seconds, and the result depends on the script only by its services.
func (o *Options) shell(b *bundled) ([]byte, error) {
	wat, err := o.glue(b)
	if err != nil {
		return nil, err
	}
	packages, err := o.packages()
	if err != nil {
		return nil, err
	}
	engine, err := os.ReadFile(filepath.Join(packages, "quickjs-wasi", "quickjs.wasm"))
	if err != nil {
		return nil, err
	}
	version, err := os.ReadFile(filepath.Join(packages, "binaryen", "package.json"))
	if err != nil {
		return nil, err
	}
	return o.cache().Get(filecache.Key(wat, string(engine), string(version)), func() ([]byte, error) { return o.merge(packages, wat) })
}

// merge makes one module of the shell and the engine, and shrinks it.
func (o *Options) merge(packages, wat string) ([]byte, error) {
	at := func(name string) string { return filepath.Join(o.Work, name) }
	binaryen := func(tool string, args ...string) error {
		return o.Run(o.Dir, append(append([]string{o.Node, filepath.Join(packages, "binaryen", "bin", tool)}, features...), args...)...)
	}
	if err := os.WriteFile(at("glue.wat"), []byte(wat), 0o600); err != nil {
		return nil, err
	}
	// Each module's exports serve the imports that the other has from its name.
	engine := filepath.Join(packages, "quickjs-wasi", "quickjs.wasm")
	if err := binaryen("wasm-merge", at("glue.wat"), "env", engine, "qjs", "--skip-export-conflicts", "-o", at("merged.wasm")); err != nil {
		return nil, err
	}
	type root struct {
		Name   string `json:"name"`
		Root   bool   `json:"root"`
		Export string `json:"export"`
	}
	roots := []root{{"memory", true, "memory"}, {boot, true, boot}, {"anchor_abi_1", true, "anchor_abi_1"}}
	for _, name := range operations {
		roots = append(roots, root{"anchor_" + name, true, "anchor_" + name})
	}
	graph, err := json.Marshal(roots)
	if err == nil {
		err = os.WriteFile(at("kept.json"), graph, 0o600)
	}
	if err == nil {
		err = binaryen("wasm-metadce", at("merged.wasm"), "--graph-file", at("kept.json"), "-o", at("shell.wasm"), "-Oz")
	}
	if err != nil {
		return nil, err
	}
	wasm, err := os.ReadFile(at("shell.wasm"))
	if err != nil {
		return nil, err
	}
	return renamed(wasm)
}

// blank is a place of glue.wat that is filled in.
var blank = regexp.MustCompile(`@[A-Z_]+@`)

// glue returns the shell around the engine, in WebAssembly text.
func (o *Options) glue(b *bundled) (string, error) {
	text, err := fs.ReadFile(o.Files, "glue.wat")
	if err != nil {
		return "", err
	}
	runtime, err := fs.ReadFile(o.Files, "runtime.js")
	if err != nil {
		return "", err
	}
	var exports, imports, calls []string
	at := 0
	for _, name := range operations {
		exports = append(exports, fmt.Sprintf(`  (func (export "anchor_%s") (result i32) (call $serve (i32.const %d) (i32.const %d)))`, name, at, len(name)))
		at += len(name)
	}
	callees := builtin
	for _, letter := range strings.Split(b.letters, "") {
		f := imported[letter]
		line, call := importOf(letter, f.module, f.name, f.params, f.result)
		imports = append(imports, line)
		callees = append(callees[:len(callees):len(callees)], callee{letter, call})
	}
	names := ""
	for _, c := range callees {
		names += "anchor" + c.letter + `\00`
		calls = append(calls, fmt.Sprintf("    (if (i32.eq (local.get $letter) (i32.const %d)) (then (return %s)))", c.letter[0], c.code))
	}
	values := map[string]string{
		"IMPORTS": strings.Join(imports, "\n"), "FUNCTIONS": names, "NAMES_SIZE": fmt.Sprint(21 + 8*len(callees)), "CALLS": strings.Join(calls, "\n"),
		"RUNTIME": escaped(runtime), "RUNTIME_SIZE": fmt.Sprint(len(runtime) + 1), "PLUGIN": scriptMark, "SIZE": sizeMark,
		"SLEEP": "", "OPERATIONS": strings.Join(operations, ""), "EXPORTS": strings.Join(exports, "\n"),
	}
	if strings.Contains(b.letters, "Z") {
		values["SLEEP"] = sleep
	}
	return blank.ReplaceAllStringFunc(string(text), func(name string) string { return values[strings.Trim(name, "@")] }), nil
}

// sleep waits for so many milliseconds: a subscription of 48 bytes to the clock that only goes forward,
// then the event of 32 bytes, and the number of events.
const sleep = `
  (func $sleep (param $arguments i32) (result i32)
    (local $p i32)
    (local.set $p (call $malloc (i32.const 96)))
    (memory.fill (local.get $p) (i32.const 0) (i32.const 96))
    (i32.store offset=16 (local.get $p) (i32.const 1))
    (i64.store offset=24 (local.get $p)
      (i64.trunc_sat_f64_u (f64.mul (call $get_float64 (i32.load (local.get $arguments))) (f64.const 1e6))))
    (if (call $Z (local.get $p) (i32.add (local.get $p) (i32.const 48)) (i32.const 1) (i32.add (local.get $p) (i32.const 80)))
      (then (unreachable)))
    (call $free (local.get $p))
    (call $get_undefined))
`

// importOf returns the import of a function of the host, and the code that calls it.
func importOf(letter, module, name, params, result string) (line, call string) {
	kind := func(word, types string) string {
		if types == "" {
			return ""
		}
		return " (" + word + " " + types + ")"
	}
	line = fmt.Sprintf(`  (import %q %q (func $%s%s%s))`, module, name, letter, kind("param", params), kind("result", result))
	if letter == "Z" {
		return line, "(call $sleep (local.get $arguments))"
	}
	given := ""
	for i := range strings.Fields(params) {
		given += fmt.Sprintf(" (call $handle (i32.add (local.get $arguments) (i32.const %d)))", 4*i)
	}
	call = fmt.Sprintf("(call $%s%s)", letter, given)
	if result != "i64" {
		call = "(i64.extend_i32_u " + call + ")"
	}
	return line, "(call $number " + call + ")"
}

func escaped(text []byte) string {
	var b strings.Builder
	for _, c := range text {
		fmt.Fprintf(&b, `\%02x`, c)
	}
	return b.String()
}

// packages returns the folder that has the engine and Binaryen: node_modules of the project or of a
// folder above it, the folder that ANCHOR_NODE_MODULES names, or the one of the tool in PATH.
func (o *Options) packages() (string, error) {
	var candidates []string
	for dir := o.Dir; ; dir = filepath.Dir(dir) {
		candidates = append(candidates, filepath.Join(dir, "node_modules"))
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if dir := os.Getenv("ANCHOR_NODE_MODULES"); dir != "" {
		candidates = append(candidates, dir)
	}
	if o.Tool != "" {
		if tool, err := filepath.EvalSymlinks(o.Tool); err == nil {
			candidates = append(candidates, filepath.Join(tool, "..", "..", ".."))
		}
	}
	for _, dir := range candidates {
		if exists(filepath.Join(dir, "quickjs-wasi", "quickjs.wasm")) && exists(filepath.Join(dir, "binaryen", "bin", "wasm-merge")) {
			return dir, nil
		}
	}
	return "", errors.New("the packages quickjs-wasi and binaryen are missing (run: npm install --save-exact --save-dev quickjs-wasi@3.6.2 binaryen@132.0.0)")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// mostKept is how many shells are kept.
const mostKept = 16

// cache is the folder of the shells.
func (o *Options) cache() filecache.Folder { return filecache.Folder{Dir: o.Cache, Most: mostKept} }
