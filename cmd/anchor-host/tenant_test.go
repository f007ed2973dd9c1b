package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Plugins are called for the tenant of the configuration. The guest stores a value
// when it is loaded, which is for no tenant, and finds it only where none is named.
func TestPluginsServeTheTenant(t *testing.T) {
	t.Parallel()
	file := writeConfig(t, `plugins:
  instances:
    kv: {plugin: foreign-kv, grants: {kv: {}}}
window: {include_query: false}
steps:
  - {name: find, use: kv, function: get, must: true}
`)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	named := filepath.Join(t.TempDir(), "anchor.yaml")
	if err := os.WriteFile(named, append(text, "tenant: acme\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args  []string
		found bool
	}{
		{[]string{"-c", file}, true},
		{[]string{"-c", file, "--tenant", "default"}, true},
		{[]string{"-c", file, "--tenant", "acme"}, false},
		{[]string{"-c", named}, false},
		{[]string{"-c", named, "--tenant", "default"}, true},
	} {
		code, stdout, stderr := run(t, "", append([]string{"build", "loaded"}, tc.args...)...)
		if code != codeOK || strings.Contains(stdout, "loaded") != tc.found {
			t.Errorf("%v: exit code %d, stdout:\n%s\nstderr:\n%s", tc.args, code, stdout, stderr)
		}
	} // The store of another tenant must not be opened by a request that states its tenant.
	request := `{"query": "loaded", "counting": {"tokenizer": "words"}, "steps": [{"name": "find", "use": "kv", "function": "get", "must": true}]}`
	for tenant, found := range map[string]bool{"default": true, "acme": false} {
		code, stdout, stderr := run(t, request, "build", "--request", "-", "-c", file, "--tenant", tenant)
		if code != codeOK || strings.Contains(stdout, `"content": "loaded"`) != found {
			t.Errorf("request of %s: exit code %d, stdout:\n%s\nstderr:\n%s", tenant, code, stdout, stderr)
		}
	}
}

// What a plugin stores in one command is there in the next one, unless values stay in memory.
func TestValuesOfPluginsLast(t *testing.T) {
	t.Parallel()
	file := writeConfig(t, `plugins:
  instances:
    kv: {plugin: foreign-kv, grants: {kv: {}}}
window: {include_query: false}
pipelines:
  put: {steps: [{name: put, use: kv, function: set, must: true}]}
  find: {steps: [{name: find, use: kv, function: get, must: true}]}
`)
	for _, where := range []string{"store", "memory"} {
		args := []string{"-c", file, "--store", filepath.Join(t.TempDir(), "store.db")}
		config, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		args[1] = filepath.Join(t.TempDir(), "anchor.yaml")
		if err := os.WriteFile(args[1], append(config, "store: {kv: "+where+"}\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		must(t, "", append([]string{"build", "--pipeline", "put", "colour=green"}, args...)...)
		if got := must(t, "", append([]string{"build", "--pipeline", "find", "colour"}, args...)...); strings.Contains(got, "green") != (where == "store") {
			t.Errorf("kept in %s: %s", where, got)
		}
	}
}

// A build for a user has the facts and the conversation of this user, as one with ?user= of the service.
func TestBuildForAUser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "anchor.yaml")
	if err := os.WriteFile(file, []byte("counting: {tokenizer: words}\nmemory: {facts: {}}\nstore: {path: store.db}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"ann", "bob"} {
		if code, _, stderr := run(t, "", "memory", "add", "-c", file, "--user", user, "the train of "+user); code != codeOK {
			t.Fatal(stderr)
		}
	}
	for _, tt := range []struct {
		stdin string
		args  []string
		code  int
		has   string
	}{
		{"", []string{"which train?"}, codeOK, ""},
		{"", []string{"which train?", "--user", "ann", "--conversation", "talk", "--remember"}, codeOK, "ann"},
		{`{"query": "which train?"}`, []string{"--request", "-", "--user", "ann", "--conversation", "talk"}, codeOK, "ann"},
		{`{"query": "which train?"}`, []string{"--request", "-", "--user", "bob"}, codeOK, "bob"},
		{"", []string{"which train?", "--user", "bob", "--conversation", "talk"}, codeInvalid, ""},
		{"", []string{"which train?", "--user", "ann", "--session", "s"}, codeOK, ""},
	} {
		code, stdout, stderr := run(t, tt.stdin, append([]string{"build", "-c", file}, tt.args...)...)
		if code != tt.code {
			t.Errorf("%q: exit code %d, want %d: %s", tt.args, code, tt.code, stderr)
		}
		for _, user := range []string{"ann", "bob"} {
			if has := strings.Contains(stdout, "the train of "+user); has != (user == tt.has) {
				t.Errorf("%q: the fact of %s in the window: %v\n%s", tt.args, user, has, stdout)
			}
		}
	}
}
