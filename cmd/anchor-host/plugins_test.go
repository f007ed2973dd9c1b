package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testbuild"
)

func TestMain(m *testing.M) {
	testbuild.SetConfigDir()
	os.Exit(m.Run())
}

// allopsFlags say where the plugin is that has every operation, and where compiled plugins are kept.
func allopsFlags(t *testing.T) []string {
	t.Helper()
	return []string{"--plugins", filepath.Dir(testbuild.Guest(t, "testdata/guests/allops")), "--cache-dir", testbuild.CacheDir(t)}
}

// buildFolder moves into a folder with a configuration, and returns the flags that a build with the
// plugin allops needs there.
func buildFolder(t *testing.T, config string) (flags []string) {
	t.Helper()
	t.Chdir(write(t, map[string]string{"anchor.yaml": config, "docs/a.txt": "text of a"}))
	return allopsFlags(t)
}

const everyPart = `
max_tokens: 200
tokenizer: words
format: {instance: all}
instances:
  all:
    plugin: allops
    settings: {greeting: hi}
    grants:
      files: [{host: docs, guest: /docs, mode: ro}]
      services: [count_tokens]
memory: {instance: all}
enricher: {instance: all}
callbacks: [{instance: all}]
steps:
  - {name: files, instance: all, operation: retrieve, priority: 10, settings: {mode: file, path: /docs/a.txt}}
  - {name: more, instance: all, operation: retrieve, priority: 20, top_k: 3}
  - {name: variants, instance: all, operation: transform_query, priority: 30, top_k: 2, settings: {word: extra}, retriever: {instance: all}}
  - {name: route, instance: all, operation: classify, priority: 40, top_k: 1, routes: {code: {plugin: none}, prose: {instance: all}}}
  - {name: good, instance: all, operation: filter, priority: 50, settings: {min: 0.99}}
  - {name: best, instance: all, operation: rerank, priority: 60, settings: {word: hi}}
`

// One build in which a plugin takes every part it can take.
func TestEveryPartCanBeAPlugin(t *testing.T) {
	flags := buildFolder(t, everyPart)
	code, stdout, stderr := run(t, "", append([]string{"build", "q"}, flags...)...)
	if code != codeOK {
		t.Fatalf("code %d\n%s", code, stderr)
	}
	want := []string{
		"- hi q", "- earlier turn", "- hi q (2 memories) 0", "- hi q (2 memories) 1",
		"- text of a",
	}
	for _, line := range want {
		if !strings.Contains(stdout, line+"\n") {
			t.Errorf("the window lacks %q:\n%s\n%s", line, stdout, stderr)
		}
	}
	if strings.Contains(stdout, "(2 memories) 2") {
		t.Errorf("the filter did not drop the third item:\n%s", stdout)
	}
	for line := range strings.Lines(stderr) {
		if strings.Contains(line, "skipped") {
			t.Errorf("a step was skipped: %s", line)
		}
	}
}

// The explanation names step, reason and missing tokens of every item, and
// where the time went.
func TestExplain(t *testing.T) {
	flags := buildFolder(t, `
max_tokens: 15
tokenizer: words
instances: {all: {plugin: allops}}
system_prompts: [{content: be short}]
steps:
  - {name: found, instance: all, operation: retrieve, top_k: 4}
  - {name: good, instance: all, operation: filter, priority: 60, settings: {min: 0.975}}
  - {name: lost, plugin: lost, priority: 70}
`)
	code, stdout, stderr := run(t, "", append([]string{"build", "--explain", "one two three"}, flags...)...)
	if code != codeOK {
		t.Fatalf("code %d\n%s", code, stderr)
	}
	for _, want := range []string{
		"=== SYSTEM ===\nbe short\n\n=== CONTEXT ===\nhello one two three 0\nhello one two three 1\n\n=== QUESTION ===\none two three\n\n-- items --\n",
		"in      system-1  system     10        1.000  2       system prompts  fits",
		"out     all:2     retrieval  5         0.980  5       found           window full, 5 tokens short",
		"out     all:3     retrieval  5         0.970  5       found           taken away by step \"good\"",
		"-- steps --", "found  5            ", "skipped: plugin \"lost\": not_found: ",
		"-- diagnostics --\nitems considered     4\n",
		"-- where the time went --", "load plugins  ", "- all  ", "build  ", "- steps  ",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the explanation lacks %q:\n%s", want, stdout)
		}
	}
	text := stdout
	code, stdout, _ = run(t, "", append([]string{"build", "--explain", "-o", "json", "one two three"}, flags...)...)
	var doc struct {
		Window  struct{ Items []any }
		Explain struct {
			Items []any
			Steps []struct {
				Name, Plugin string
				Fuel         int64
			}
		}
	}
	if err := json.Unmarshal([]byte(stdout), &doc); err != nil || code != codeOK {
		t.Fatalf("code %d, %v", code, err)
	}
	if len(doc.Window.Items) != 3 || len(doc.Explain.Items) != 5 {
		t.Errorf("%d items, %d explained", len(doc.Window.Items), len(doc.Explain.Items))
	}
	if len(doc.Explain.Steps) != 3 || doc.Explain.Steps[0].Fuel == 0 {
		t.Fatalf("steps %+v, want three, the first with fuel", doc.Explain.Steps)
	}
	for _, s := range doc.Explain.Steps[:2] {
		line := regexp.MustCompile(`\n` + s.Name + ` +\d+ +\d+\.\d\d ms +all +[1-9]\d+ +ok\n`)
		if s.Plugin != "all" || !line.MatchString(text) {
			t.Errorf("the explanation lacks %v of %+v:\n%s", line, s, text)
		}
	}
	if lost := doc.Explain.Steps[2]; lost.Plugin != "lost" || lost.Fuel != 0 {
		t.Errorf("the lost step is %+v", lost)
	}
}

// With one module deleted exactly its step is skipped and the rest stands.
func TestDeletedModule(t *testing.T) {
	flags := buildFolder(t, `
tokenizer: words
instances: {all: {plugin: allops}}
steps:
  - {name: found, instance: all, operation: retrieve, top_k: 2}
  - {name: deleted, plugin: deleted, operation: rerank, priority: 60}
`)
	code, stdout, stderr := run(t, "", append([]string{"build", "-o", "json", "q"}, flags...)...)
	var result struct {
		Window      struct{ Items []any }
		Diagnostics struct {
			SkippedSteps []string `json:"skipped_steps"`
		}
	}
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || code != codeOK {
		t.Fatalf("code %d, %v, %s", code, err, stderr)
	}
	if len(result.Window.Items) != 2 || strings.Join(result.Diagnostics.SkippedSteps, " ") != "deleted" {
		t.Errorf("%d items, skipped %v", len(result.Window.Items), result.Diagnostics.SkippedSteps)
	}
	if n := strings.Count(stderr, "(skipped)"); n != 1 || !strings.Contains(stderr, `step "deleted": plugin "deleted": rerank: not_found: `) {
		t.Errorf("stderr:\n%s", stderr)
	}
}

func TestValidateAgainstPlugins(t *testing.T) {
	flags := buildFolder(t, `
instances:
  all:
    plugin: allops
    settings: {greting: hi}
    grants: {services: [count_tokens], files: [{host: docs, guest: /other}]}
  pinned: {plugin: allops, digest: "sha256:`+strings.Repeat("0", 64)+`", limits: {fuel: none}}
steps:
  - {name: a, instance: all}
  - {name: b, instance: all, operation: filter, settings: {minimum: 1}}
  - {name: c, builtin: min_score}
  - {name: d, plugin: alops}
`)
	code, _, stderr := run(t, "", append([]string{"config", "validate"}, flags...)...)
	if code != codeInvalid {
		t.Errorf("code %d", code)
	}
	for _, want := range []string{
		`anchor.yaml:5:15: instances.all.settings: unknown key "greting" (did you mean "greeting"?)`,
		`instances.pinned.limits: limit fuel none: invalid configuration (a plugin needs some)`,
		`anchor.yaml:7:36: instances.pinned.digest: the module is another one (review it, then pin sha256:`,
		`anchor.yaml:9:5: steps[0]: plugin "allops": several operations (add operation: retrieve or process or filter or rerank or transform_query or classify)`,
		`anchor.yaml:10:59: steps[1].settings: unknown key "minimum" (want one of min, mode, path, url, word)`,
		`anchor.yaml:11:5: steps[2].settings: missing key "min_score"`,
		`did you mean "allops"?`,
		`warning: instance "all" asks for http and is not granted it: sends requests in tests`,
		`warning: instance "all" is granted files at /other, which its plugin does not ask for (remove the grant)`,
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, stderr)
		}
	}
	// The same mistakes stop a build that would use them.
	code, _, stderr = run(t, "", append([]string{"build", "q"}, flags...)...)
	if want := `unknown key "greting" (did you mean "greeting"?)`; code != codeInvalid || !strings.Contains(stderr, want) {
		t.Errorf("build: code %d, stderr %q", code, stderr)
	}
}

func TestPluginList(t *testing.T) {
	code, stdout, stderr := run(t, "", "plugin", "list", "--plugins", fixtureDir)
	if code != codeOK || stderr != "" {
		t.Fatalf("code %d, %s", code, stderr)
	}
	for _, want := range []string{"NAME ", "keep-first ", "empty ", " not a WebAssembly module: the file is empty"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the list lacks %q:\n%s", want, stdout)
		}
	}
	for _, format := range []string{"json", "yaml"} {
		if code, stdout, _ := run(t, "", "plugin", "list", "--plugins", fixtureDir, "-o", format); code != codeOK || !strings.Contains(stdout, "keep-first") {
			t.Errorf("%s: code %d\n%s", format, code, stdout)
		}
	}
}

func TestPluginInspect(t *testing.T) {
	code, stdout, stderr := run(t, "", "plugin", "inspect", "keep-first", "--plugins", fixtureDir)
	if code != codeOK || stderr != "" {
		t.Fatalf("code %d, %s", code, stderr)
	}
	for _, want := range []string{
		"name         keep-first\n", "portable     yes\n", "  filter: lanes json; reads score and all of the query; writes keep\n",
		"permissions asked for: none\n", "  memory         64MiB ", "  anchor_filter\n", "warnings: none\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the report lacks %q:\n%s", want, stdout)
		}
	}
	for name, want := range map[string]string{
		"documents": "  provide: lanes json; reads all of the request; writes -\n", "unfolds-items": "  memory: lanes json; reads all of the query; writes items\n",
		"keep-first": "state        reset\n", "foreign": "state        keep\n",
		"writes-table": "state        fresh (it cannot be reset: its code writes to tables)\n",
	} {
		if _, out, _ := run(t, "", "plugin", "inspect", name, "--plugins", fixtureDir); !strings.Contains(out, want) {
			t.Errorf("%s: the report lacks %q:\n%s", name, want, out)
		}
	}
	folder := filepath.Join(fixtureDir, "keep-first")
	for _, path := range []string{filepath.Join(folder, "plugin.wasm"), folder} {
		if code, out, _ := run(t, "", "plugin", "inspect", path, "-o", "json"); code != codeOK || !json.Valid([]byte(out)) {
			t.Errorf("by path %s: code %d\n%s", path, code, out)
		}
	}
	code, _, stderr = run(t, "", "plugin", "inspect", "abi-2", "--plugins", fixtureDir)
	if code != codeInvalid || !strings.Contains(stderr, "the module speaks ABI 2, this host ABI 1") {
		t.Errorf("abi-2: code %d, %s", code, stderr)
	}
}

// The report names the parts of the request that a plugin reads.
func TestInspectShowsParts(t *testing.T) {
	dir := t.TempDir()
	wasm, err := os.ReadFile(filepath.Join(fixtureDir, "documents", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	manifest := "abi: 1\nname: documents\nversion: 0.1.0\noperations: {provide: {reads: [data, messages]}, compact: {reads: [content, summary]}, classify: {reads: [none]}}\n"
	for name, b := range map[string][]byte{"plugin.wasm": wasm, "plugin.yaml": []byte(manifest)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, stdout, stderr := run(t, "", "plugin", "inspect", filepath.Join(dir, "plugin.wasm"))
	for _, want := range []string{"  provide: lanes json; reads messages,data; writes -\n", "  compact: lanes json; reads content,summary; writes -\n", "  classify: lanes json; reads none; writes -\n"} {
		if code != codeOK || !strings.Contains(stdout, want) {
			t.Errorf("code %d, the report lacks %q:\n%s%s", code, want, stdout, stderr)
		}
	}
}

// What cannot be inspected is named as the user named it.
func TestPluginInspectErrors(t *testing.T) {
	t.Chdir(write(t, map[string]string{"a.wasm": "nothing of the kind", "project/plugin.yaml": "", "some/one/plugin.wasm": ""}))
	for name, want := range map[string]string{
		"x":           "plugin directory plugins: open: no such file or directory (create it, or set plugins.dir)",
		"project":     `plugin "project" in plugins: file does not exist (what is in this folder has a path: ./project)`,
		"./project":   "./project: no *.wasm: file does not exist (build the plugin first; of a folder of plugins name one)",
		"some":        `plugin "some" in plugins: file does not exist (what is in this folder has a path: ./some)`,
		"some/":       "some/: no *.wasm: file does not exist (build the plugin first; of a folder of plugins name one)",
		"some/one":    "module some/one/plugin.wasm: not a WebAssembly module: the file is empty",
		"some/two":    "module some/two: read: no such file or directory (give the path of a module)",
		"nope.wasm":   "module nope.wasm: read: no such file or directory (give the path of a module)",
		"a/nope.wasm": "module a/nope.wasm: open: no such file or directory (give the path of a module)",
		"a.wasm":      "module a.wasm: not a WebAssembly module: text (give the compiled .wasm)",
	} {
		code, _, stderr := run(t, "", "plugin", "inspect", name)
		if want := "anchor-host: " + want + "\n"; code == codeOK || stderr != want {
			t.Errorf("%s: code %d, %q, want %q", name, code, stderr, want)
		}
	}
}

func TestPluginCall(t *testing.T) {
	module := func(name string) string { return filepath.Join(fixtureDir, name, "plugin.wasm") }
	tests := []struct {
		name   string
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{"output as it is", []string{module("keep-first"), "anchor_filter", "--input", `{"items": [{}]}`}, codeOK, `{"keep":[0]}`, ""},
		{"of a folder", []string{filepath.Join(fixtureDir, "foreign"), "echo", "--input", "x"}, codeOK, "x", ""},
		{"of no plugin's folder", []string{fixtureDir, "echo"}, codeNotFound, "", fixtureDir + ": no *.wasm: file does not exist (build the plugin first; of a folder of plugins name one)\n"},
		{"link of a folder", []string{filepath.Join(fixtureDir, "link-main"), "run", "--link", "lib=" + fixtureDir}, codeInvalid, "",
			"link \"lib\": module " + fixtureDir + ": a folder: not a usable module (give the .wasm file in it)\n"},
		{"repeated", []string{module("keep-first"), "anchor_filter", "--repeat", "2"}, codeOK, "{\"keep\":[0]}\n{\"keep\":[0]}\n", "anchor-host: 2 calls: fastest "},
		{"guest error", []string{module("guest-error-status-0"), "anchor_filter"}, codeFailure, "", "anchor-host: plugin \"guest-error-status-0\": anchor_filter: guest_error: half done\n"},
		{"guest output", []string{module("stderr-then-trap"), "anchor_filter"}, codeFailure, "", "panic: index out of rang\nguest stack:\n"},
		{"deadline", []string{module("spin-forever"), "anchor_filter", "--timeout", "50ms"}, codeLimit, "", "anchor-host: plugin \"spin-forever\": anchor_filter: timeout: not done within 50ms (raise --timeout, or have the plugin do less)\n"},
		{"fuel", []string{module("spin-forever"), "anchor_filter", "--timeout", "30s", "--fuel", "100000"}, codeLimit, "", ", allowed 100000 (raise --fuel, or have the plugin do less)\n"},
		{"refused", []string{module("http-ungranted"), "anchor_filter"}, codeRefused, "", "anchor-host: plugin \"http-ungranted\": anchor_filter: denied: http is not permitted (its manifest does not ask for it: add it to permissions in plugin.yaml, and grant it with --allow-host)\n"},
		{"refused a foreign module", []string{module("foreign-http"), "get", "--input", `{"url":"http://a.test/"}`}, codeRefused, "",
			"anchor-host: plugin \"foreign-http\": get: denied: http is not permitted (grant it with --allow-host)\n"},
		{"refused a host", []string{module("foreign-http"), "get", "--input", `{"url":"http://a.test/"}`, "--allow-host", "b.test"}, codeRefused, "",
			"denied: http to \"http://a.test\" is not permitted (grant it with --allow-host)\n"},
		{"memory", []string{module("memory-hog"), "anchor_filter", "--memory-max", "2MiB"}, codeLimit, "",
			"anchor_filter: memory: needs more than 2MiB (raise --memory-max, or have the plugin hold less)\n"},
		{"memory to start", []string{module("foreign"), "echo", "--memory-max", "32KiB"}, codeInvalid, "",
			"anchor-host: plugin \"foreign\": --memory-max 0B: invalid configuration (the module starts with 64KiB: raise it to that at least, pages of 64KiB count)\n"},
		{"refused a method", []string{module("foreign-http"), "get", "--input", `{"url":"https://a.test/"}`, "--allow-host", "a.test", "--allow-method", "POST"}, codeRefused, "",
			"denied: http method GET to \"https://a.test\" is not permitted (grant it with --allow-method)\n"},
		{"a method without a host", []string{module("foreign-http"), "get", "--allow-method", "POST"}, codeUsage, "", "--allow-method has no meaning without --allow-host"},
		{"bad method", []string{module("foreign-http"), "get", "--allow-host", "a.test", "--allow-method", "G T"}, codeInvalid, "", "plugin \"foreign-http\": --allow-method: \"G T\": invalid configuration"},
		{"bad host", []string{module("foreign-http"), "get", "--allow-host", "*"}, codeInvalid, "", "plugin \"foreign-http\": --allow-host: invalid configuration: host \"*\" (want a host"},
		{"trap", []string{module("trap-in-named"), "anchor_filter"}, codeFailure, "",
			"guest stack:\n.divide(i32) i32\n.filter() i32\nanchor-host: plugin \"trap-in-named\": anchor_filter: trap: integer divide by zero (a fault inside the plugin)\n"},
		{"no WASI", []string{module("foreign-command"), "_start"}, codeInvalid, "", "imports WASI functions: invalid configuration (offer them: wasi: true of the instance, or --wasi of plugin call)\n"},
		{"WASI", []string{module("foreign-command"), "_start", "--wasi"}, codeOK, "", "hello"},
		{"no such function", []string{module("keep-first"), "anchor_filtre"}, codeInvalid, "", "function \"anchor_filtre\": no such export (did you mean \"anchor_filter\"?)\n"},
		{"other function", []string{module("keep-first"), "run"}, codeInvalid, "", "function \"run\": no such export (want one of anchor_filter)\n"},
		{"no function", []string{module("keep-first")}, codeUsage, "", "anchor-host: no FUNCTION (want one of anchor_filter) (see: anchor-host plugin call --help)\n"},
		{"too many arguments", []string{module("keep-first"), "f", "g"}, codeUsage, "", "anchor-host: unexpected argument \"g\" (want FILE|FOLDER FUNCTION) (see: anchor-host plugin call --help)\n"},
		{"no input", []string{module("keep-first"), "anchor_filter", "--input-file", "none"}, codeNotFound, "", "anchor-host: flag --input-file: open none: "},
		{"no such file", []string{"none.wasm", "f"}, codeNotFound, "", "anchor-host: "},
		{"bad set", []string{module("keep-first"), "f", "--set", "novalue"}, codeUsage, "", "anchor-host: flag --set: want KEY=VALUE, got \"novalue\" (see: anchor-host plugin call --help)\n"},
		{"bad mount", []string{module("keep-first"), "f", "--allow-path", "ro:x"}, codeUsage, "", "anchor-host: flag --allow-path: want [ro:]HOST:GUEST, got \"ro:x\""},
		{"bad size", []string{module("keep-first"), "f", "--memory-max", "much"}, codeUsage, "", "anchor-host: flag --memory-max: want a size such as \"64MiB\", got \"much\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			code, stdout, stderr := run(t, "", append([]string{"plugin", "call", "--cache-dir", "off"}, tt.args...)...)
			if code != tt.code || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) || tt.stderr == "" && stderr != "" {
				t.Errorf("code %d, stdout %q, stderr %q; want %d, %q, %q", code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
			}
		})
	}
}

// plugin call treats an operation of ABI 1 as a build does.
func TestPluginCallOfAnOperation(t *testing.T) {
	module := func(name string) string { return filepath.Join(fixtureDir, name, "plugin.wasm") }
	for _, tt := range []struct {
		name, module, function, input string
		flags                         []string
		code                          int
		stdout, stderr                string
	}{
		{"a column that is not read", "keep-first", "anchor_filter", `{"query": {"query_str": ""}, "items": [{"content": "a", "id": "x"}]}`, nil, codeOK,
			`{"keep":[0]}`, "anchor-host: note: the column \"id\" is not sent, because the manifest does not name it under reads\n"},
		{"a misspelt member", "keep-first", "anchor_filter", "{\n \"item\": []}", nil, codeInvalid,
			"", "anchor-host: input:2:2: item: unknown member (did you mean \"items\"?)\n"},
		{"a wrong type", "keep-first", "anchor_filter", `{"items": [{"score": "high"}]}`, nil, codeInvalid,
			"", "input:1:22: items[0].score: want a number, got the string \"high\""},
		{"an unknown source", "keep-first", "anchor_filter", `{"items": [{"content": "a", "source": "memoryx"}]}`, nil, codeInvalid,
			"", "input:1:39: items[0].source: unknown source \"memoryx\" (did you mean \"memory\"?)"},
		{"an answer against the rules", "keep-first", "anchor_filter", `{"items": []}`, nil, codeFailure,
			`{"keep":[0]}`, "anchor-host: the answer breaks the rule rows/exist: keep[0]: row 0 of a request with 0 rows (number rows from 0, as in the request, not by id); --unchecked does not check it\n"},
		{"unchecked", "keep-first", "anchor_filter", `{"item": []}`, []string{"--unchecked"}, codeOK, `{"keep":[0]}`, ""},
		{"no change", "no-change", "anchor_filter", `{"items": []}`, nil, codeOK, "", "anchor-host: no change\n"},
		{"the batch lane", "batch-keep-first", "anchor_batch_filter", "", nil, codeInvalid,
			"", `(it takes batches, which plugin call does not write: call "anchor_filter", or run plugin test --lane batch)`},
		{"a store that is not granted", "kv-ungranted", "anchor_filter", `{"items": []}`, nil, codeRefused, "", "grant it with --allow-kv"},
		{"no such setting", "keep-first", "anchor_filter", `{"items": []}`, []string{"--set", "key=1"}, codeUsage,
			"", `flag --set: plugin "keep-first" has no setting "key" (--config gives what the plugin reads with config_get)`},
		{"a configuration", "keep-first", "anchor_filter", `{"items": [{}]}`, []string{"--config", "key=1"}, codeOK, `{"keep":[0]}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"plugin", "call", "--cache-dir", "off", module(tt.module), tt.function, "--input", tt.input}, tt.flags...)
			code, stdout, stderr := run(t, "", args...)
			if code != tt.code || stdout != tt.stdout || !strings.Contains(stderr, tt.stderr) || tt.stderr == "" && stderr != "" {
				t.Errorf("code %d, stdout %q, stderr %q; want %d, %q, %q", code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
			}
		})
	}
}
