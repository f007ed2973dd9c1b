package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/failure"
)

// instances that cannot be set up as they are.
const faulty = `
plugins:
  instances:
    odd: {plugin: allops, settings: {greting: hi}}
    far: {plugin: allops, grants: {files: [{host: gone, guest: /docs}]}}
    file: {plugin: allops, grants: {files: [{host: anchor.yaml, guest: /docs}]}}
`

// The error document of a step that cannot be set up names the step, and its
// message says everything once.
func TestStepThatCannotBeSetUp(t *testing.T) {
	flags := buildFolder(t, faulty)
	const far = `not_found: grants.files[0].host: gone does not exist (create it or fix the path)`
	tests := []struct {
		name, step string
		code       int
		want       failure.Detail
	}{
		{"settings of the step", `"use": "allops", "operation": "filter", "settings": {"minimum": 1}`, codeInvalid,
			failure.Detail{Message: `step "a": plugin "allops": filter: invalid_config: settings: unknown key "minimum" (want one of min, mode, path, url, word)`,
				Reason: "invalid_config", Step: "a", Plugin: "allops"}},
		{"settings of the instance", `"use": "odd", "operation": "filter"`, codeInvalid,
			failure.Detail{Message: `step "a": plugin "odd": invalid_config: settings: unknown key "greting" (did you mean "greeting"?)`,
				Reason: "invalid_config", Step: "a", Plugin: "odd"}},
		{"settings of the instance of a retriever", `"use": "allops", "operation": "transform_query", "retrievers": [{"use": "odd"}]`, codeInvalid,
			failure.Detail{Message: `step "a": plugin "odd": invalid_config: settings: unknown key "greting" (did you mean "greeting"?)`,
				Reason: "invalid_config", Step: "a", Plugin: "odd"}},
		{"settings of a builtin", `"use": "sort", "settings": {"by": "size"}`, codeInvalid,
			failure.Detail{Message: `step "a": invalid: sort: settings: by: unknown value "size" (want one of score, priority, created_at, token_count)`,
				Reason: "invalid_request", Step: "a"}},
		{"several operations", `"use": "allops"`, codeInvalid,
			failure.Detail{Message: `step "a": plugin "allops": invalid_config: several operations (add operation: retrieve or process or filter or rerank or transform_query or classify)`,
				Reason: "invalid_config", Step: "a", Plugin: "allops"}},
		{"missing folder that must not be missing", `"use": "far", "operation": "filter", "must": true`, codeNotFound,
			failure.Detail{Message: `step "a": plugin "far": filter: ` + far, Reason: "not_found", Step: "a", Plugin: "far"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			request := fmt.Sprintf(`{"query": "q", "counting": {"tokenizer": "words"}, "steps": [{"name": "a", %s}]}`, tt.step)
			code, stdout, stderr := run(t, request, append([]string{"build", "--request", "-", "-c", "anchor.yaml", "--log-level", "error"}, flags...)...)
			var doc failure.Document
			if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
				t.Fatalf("stdout is no JSON: %v\n%s", err, stdout)
			}
			if code != tt.code || !reflect.DeepEqual(doc.Error, tt.want) {
				t.Errorf("code %d, %+v\nwant %d, %+v", code, doc.Error, tt.code, tt.want)
			}
			if want := "anchor-host: " + tt.want.Message + "\n"; stderr != want {
				t.Errorf("stderr %q, want %q", stderr, want)
			}
		})
	}
}

// A granted folder that cannot be opened is like a module that is not there: the
// steps that need it are skipped, the others are run.
func TestMissingFolderSkipsItsStep(t *testing.T) {
	flags := buildFolder(t, faulty+`
counting: {tokenizer: words}
steps:
  - {name: lost, use: far, operation: retrieve}
  - {name: wrong, use: file, operation: retrieve}
  - {name: variants, use: allops, operation: transform_query, retrievers: [{use: far}]}
  - {name: found, use: allops, operation: retrieve, top_k: 1}
callbacks: [{use: far}]
`)
	code, stdout, stderr := run(t, "", append([]string{"build", "q", "--log-level", "error"}, flags...)...)
	if want := "=== CONTEXT ===\nhello q 0\n\n=== QUESTION ===\nq\n"; code != codeOK || stdout != want {
		t.Errorf("code %d, %q, want %q", code, stdout, want)
	}
	const (
		gone = `gone does not exist (create it or fix the path) (skipped)`
		file = `anchor.yaml is not a directory (name a folder) (skipped)`
	)
	want := `anchor-host: step "lost": plugin "far": retrieve: not_found: grants.files[0].host: ` + gone + `
anchor-host: step "wrong": plugin "file": retrieve: invalid_config: grants.files[0].host: ` + file + `
anchor-host: step "variants": plugin "far": retrieve: not_found: grants.files[0].host: ` + gone + "\n"
	if got := stderr[:min(len(want), len(stderr))]; got != want {
		t.Errorf("stderr:\n%s\nwant\n%s", got, want)
	}
}

// A plugin that remembers or rewrites the query and fails, because its module or folder is
// not there or its time is up, must not cost the whole build where the same plugin as a
// step would cost one line.
func TestFailingPartsAreSkipped(t *testing.T) {
	const turns = "memory: {conversation: {turns: [{role: user, content: earlier}]}}\n"
	for _, tt := range []struct {
		name, step, config string
		raise              int // the code under must: true
	}{
		{"missing memory", "memory", "memory: {use: gone%s}", codeNotFound},
		{"memory without its folder", "memory", "memory: {use: far%s}", codeNotFound},
		{"slow memory", "memory", "memory: {use: allops, timeout: 1ns%s}", codeLimit},
		{"missing enricher", "enricher", turns + "enricher: {use: gone%s}", codeNotFound},
		{"slow enricher", "enricher", turns + "enricher: {use: allops, timeout: 1ns%s}", codeLimit},
		{"slow classifier", "route", "  - {name: route, use: allops, operation: classify, timeout: 1ns, routes: {prose: {use: allops}}%s}", codeLimit},
		{"missing classifier", "route", "  - {name: route, use: gone, operation: classify, routes: {prose: {use: allops}}%s}", codeNotFound},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for policy, code := range map[string]int{"": codeOK, ", must: false": codeOK, ", must: true": tt.raise} {
				flags := buildFolder(t, faulty+"counting: {tokenizer: words}\nsteps:\n  - {name: found, use: allops, operation: retrieve, top_k: 1}\n"+fmt.Sprintf(tt.config, policy))
				args := append([]string{"build", "q", "--log-level", "error"}, flags...)
				got, stdout, stderr := run(t, "", args...)
				if got != code || code == codeOK && !strings.Contains(stdout, "hello q 0\n") {
					t.Errorf("%q: code %d, want %d, %q, %s", policy, got, code, stdout, stderr)
				}
				if code != codeOK {
					continue
				}
				if want := fmt.Sprintf("anchor-host: step %q: ", tt.step); !strings.Contains(stderr, want) || !strings.Contains(stderr, "(skipped)\n") {
					t.Errorf("%q: stderr lacks %s: %s", policy, want, stderr)
				}
				if policy != "" {
					continue
				}
				if got, _, _ := run(t, "", append(args, "--strict")...); got != codeDegraded {
					t.Errorf("%q: --strict: code %d", policy, got)
				}
			}
		})
	}
}

// A compactor that is not there leaves the turns listed, as one that fails does.
func TestMissingCompactorListsTurns(t *testing.T) {
	flags := buildFolder(t, "counting: {tokenizer: words}\nmemory:\n  conversation: {tokens: 2, compact: {use: gone}, turns: [{role: user, content: one}, {role: user, content: two}, {role: user, content: three}]}\n")
	code, stdout, stderr := run(t, "", append([]string{"build", "q", "-o", "json"}, flags...)...)
	if code != codeOK || !strings.Contains(stdout, "user: one") || !strings.Contains(stderr, "compactor failed, its turns are condensed later") ||
		!strings.Contains(stdout, "its compactor failed") {
		t.Errorf("code %d, %q, %s", code, stdout, stderr)
	}
	if want := `step "compactor": the summary of the conversation ends with turns as they were: its compactor failed or has not answered yet (skipped)`; !strings.Contains(stderr, want) {
		t.Errorf("stderr lacks %s: %s", want, stderr)
	}
	if code, _, _ := run(t, "", append([]string{"build", "q", "--strict"}, flags...)...); code != codeDegraded {
		t.Errorf("--strict: code %d", code)
	}
}

// Unless the configuration says so, nothing takes the place of a tokenizer or a format: a build
// with another one would be counted differently, or be no request that the API takes.
func TestFailingTokenizersAndFormatsEndTheBuild(t *testing.T) {
	for _, tt := range []struct {
		config string
		code   int
		stderr string
	}{
		{"counting: {tokenizer: {use: gone}}", codeNotFound, `counting.tokenizer: plugin "gone": count_tokens: not_found: `},
		{"counting: {tokenizer: {use: allops, timeout: 1ns}}\nwindow: {system_prompts: [{content: be short}]}", codeLimit, `plugin "allops": count_tokens: timeout`},
		{"counting: {tokenizer: words}\nformat: {use: gone}", codeNotFound, `format: plugin "gone": format: not_found: `},
		{"counting: {tokenizer: words}\nformat: {use: allops, timeout: 1ns}", codeLimit, `plugin "allops": format: timeout`},
	} {
		flags := buildFolder(t, tt.config)
		code, stdout, stderr := run(t, "", append([]string{"build", "q"}, flags...)...)
		if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.stderr) {
			t.Errorf("%s: code %d, want %d, %q, %s", tt.config, code, tt.code, stdout, stderr)
		}
	}
}
