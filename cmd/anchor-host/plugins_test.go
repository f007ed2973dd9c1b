package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/testkit/clitest"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
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
window: {max_tokens: 200}
counting: {tokenizer: words}
format: {use: all}
plugins:
  instances:
    all:
      plugin: allops
      settings: {greeting: hi}
      grants:
        files: [{host: docs, guest: /docs, mode: ro}]
        services: [count_tokens]
memory: {use: all}
enricher: {use: all}
callbacks: [{use: all}]
steps:
  - {name: files, use: all, operation: retrieve, priority: 10, settings: {mode: file, path: /docs/a.txt}}
  - {name: more, use: all, operation: retrieve, priority: 20, top_k: 3}
  - {name: variants, use: all, operation: transform_query, priority: 30, top_k: 2, settings: {word: extra}, retrievers: [{use: all}]}
  - {name: route, use: all, operation: classify, priority: 40, top_k: 1, routes: {code: {use: none}, prose: {use: all}}}
  - {name: good, use: all, operation: filter, priority: 50, settings: {min: 0.99}}
  - {name: best, use: all, operation: rerank, priority: 60, settings: {word: hi}}
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
window: {max_tokens: 15, system_prompts: [{content: be short}]}
counting: {tokenizer: words}
plugins: {instances: {all: {plugin: allops}}}
steps:
  - {name: found, use: all, operation: retrieve, top_k: 4}
  - {name: good, use: all, operation: filter, priority: 60, settings: {min: 0.975}}
  - {name: lost, use: lost, priority: 70}
`)
	code, stdout, stderr := run(t, "", append([]string{"build", "--explain", "one two three"}, flags...)...)
	if code != codeOK {
		t.Fatalf("code %d\n%s", code, stderr)
	}
	for _, want := range []string{
		"=== SYSTEM ===\nbe short\n\n=== CONTEXT ===\nhello one two three 0\nhello one two three 1\n\n=== QUESTION ===\none two three\n\n-- items --\n",
		"in      system-1  system     10        1.000  2       system prompts  fits",
		"out     all:2     retrieval  5         0.980  5       found           window full, 5 tokens short",
		"out     all:3     retrieval  5         0.970  5       found           removed by step \"good\"",
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
counting: {tokenizer: words}
plugins: {instances: {all: {plugin: allops}}}
steps:
  - {name: found, use: all, operation: retrieve, top_k: 2}
  - {name: deleted, use: deleted, operation: rerank, priority: 60}
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
plugins:
  instances:
    all:
      plugin: allops
      settings: {greting: hi}
      grants: {services: [count_tokens], files: [{host: docs, guest: /other}]}
    pinned: {plugin: allops, digest: "sha256:`+strings.Repeat("0", 64)+`", limits: {fuel: none}}
steps:
  - {name: a, use: all}
  - {name: b, use: all, operation: filter, settings: {minimum: 1}}
  - {name: c, use: min_score}
  - {name: d, use: alops}
`)
	code, _, stderr := run(t, "", append([]string{"config", "validate"}, flags...)...)
	if code != codeInvalid {
		t.Errorf("code %d", code)
	}
	for _, want := range []string{
		`anchor.yaml:6:17: plugins.instances.all.settings: unknown key "greting" (did you mean "greeting"?)`,
		`plugins.instances.pinned.limits: limit fuel none: invalid configuration (a plugin needs some)`,
		`anchor.yaml:8:38: plugins.instances.pinned.digest: the module is another one (review it, then pin sha256:`,
		`anchor.yaml:10:5: steps[0]: plugin "allops": several operations (add operation: retrieve or process or filter or rerank or transform_query or classify)`,
		`anchor.yaml:11:54: steps[1].settings: unknown key "minimum" (want one of min, mode, path, url, word)`,
		`anchor.yaml:12:5: steps[2].settings: missing key "min_score"`,
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

// A build with a deprecated plugin warns once, however many steps use it.
func TestBuildWarnsOfDeprecatedPlugin(t *testing.T) {
	t.Parallel()
	file := clitest.Plugin(t, "no-change", clitest.Version("1.0.0", "\ndeprecated: use keep-best\n"), spec.Texts{})
	request := `{"query":"q","window":{"max_tokens":100},"counting":{"tokenizer":"words"},"items":[{"id":"a","content":"A text.","source":"retrieval"}],"steps":[{"name":"one","use":"no-change"},{"name":"two","use":"no-change"}],"format":"generic"}`
	code, stdout, stderr := run(t, request, "build", "--plugins", filepath.Dir(file), "--request", "-")
	if code != codeOK || strings.Count(stderr, "the plugin is deprecated: use keep-best") != 1 {
		t.Errorf("code %d, %s%s", code, stdout, stderr)
	}
}
