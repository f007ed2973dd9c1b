package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/anchor-host/anchor-host/internal/request"
)

// What goes together with a request are flags of build; the others are refused.
func TestFlagsBesideARequestAreFlags(t *testing.T) {
	flags := newApp(t.Context(), nil, nil, nil).buildCommand().Flags()
	for _, name := range request.BesideFlags {
		if flags.Lookup(name) == nil {
			t.Errorf("build has no flag --%s", name)
		}
	}
	refused := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if request.Refused(f.Name, request.BesideFlags) != "" {
			refused++
		}
	})
	if refused < 5 {
		t.Errorf("%d flags are refused, want those that a request states", refused)
	}
}

// Each flag that the table honours beside a request has its effect there.
func TestFlagsBesideARequest(t *testing.T) {
	t.Chdir(write(t, map[string]string{
		"anchor.yaml": "counting: {tokenizer: words}\ntimeout: 1ns\npipelines:\n  chat: {timeout: 1m, memory: {conversation: {id: c}}}\n",
		"steps.json":  `{"query": "q", "counting": {"tokenizer": "words"}, "steps": [{"name": "one", "use": "top_k", "top_k": 1}, {"name": "two", "use": "top_k", "top_k": 2}], "items": [{"content": "a", "source": "retrieval"}, {"content": "b", "source": "retrieval"}, {"content": "c", "source": "retrieval"}]}`,
		"chat.json":   `{"query": "q", "pipeline": "chat"}`,
		"q.json":      `{"query": "remembered", "counting": {"tokenizer": "words"}, "window": {"include_query": false}}`,
		"turns.json":  `{"query": "q", "counting": {"tokenizer": "words"}, "conversation": [{"role": "user", "content": "a"}]}`,
	}))
	for _, tenant := range []string{"default", "acme"} {
		args := []string{"memory", "add", "--store", "s.db", "--tenant", tenant, "--conversation", "c", "said of " + tenant}
		if code, _, stderr := run(t, "", args...); code != codeOK {
			t.Fatalf("code %d, %s", code, stderr)
		}
	}
	for _, tt := range []struct {
		args string
		code int
		want []string
	}{
		{"--request steps.json", codeOK, []string{`"a"`}},
		{"--request steps.json --only-steps two", codeOK, []string{`"a"`, `"b"`}},
		{"--request steps.json --skip-steps one,two", codeOK, []string{`"a"`, `"b"`, `"c"`}},
		{"--request steps.json --skip-steps on", codeInvalid, []string{`skip: no step \"on\"`}},
		{"--request chat.json -c anchor.yaml --store s.db", codeOK, []string{"said of default"}},
		{"--request chat.json -c anchor.yaml --store s.db --tenant acme", codeOK, []string{"said of acme"}},
		{"--request q.json --store s.db --conversation c", codeOK, []string{"said of default"}},
		{"--request q.json --store s.db --conversation c --tenant acme --remember", codeOK, []string{"said of acme"}},
		{"--request q.json --store s.db --conversation c --tenant acme", codeOK, []string{"said of acme", "remembered"}},
		{"--request q.json --remember", codeInvalid, []string{"no conversation of the store is named"}},
		{"--request turns.json --store s.db --conversation c", codeInvalid, []string{"exclude each other"}},
		{"--request chat.json -c anchor.yaml --store s.db --timeout 1ns", codeLimit, []string{"all of it may take 1ns: raise timeout"}},
		{"--request steps.json -c anchor.yaml", codeLimit, []string{"all of it may take 1ns: raise timeout"}},
	} {
		code, stdout, stderr := run(t, "", append([]string{"build"}, strings.Fields(tt.args)...)...)
		if code != tt.code {
			t.Errorf("%s: code %d, %s", tt.args, code, stderr)
		}
		for _, want := range tt.want {
			if !strings.Contains(stdout, want) {
				t.Errorf("%s: %s\nwant %q", tt.args, stdout, want)
			}
		}
		if n := strings.Count(stdout, `"content": "`); tt.code == codeOK && n < len(tt.want) {
			t.Errorf("%s: %d items, want %d", tt.args, n, len(tt.want))
		}
	}
}

// Steps are left out by their names.
func TestSteps(t *testing.T) {
	t.Chdir(write(t, map[string]string{
		"anchor.yaml": "counting: {tokenizer: words}\nsteps: [{name: one, use: top_k, top_k: 1}, {name: two, use: top_k, top_k: 2}]\n",
		"items.json":  `[{"content": "a", "source": "retrieval"}, {"content": "b", "source": "retrieval"}, {"content": "c", "source": "retrieval"}]`,
	}))
	for args, want := range map[string]int{
		"": 1, "--only-steps two": 2, "--skip-steps one": 2, "--skip-steps one --skip-steps two": 3, "--only-steps items": 3, "--only-steps one,two --skip-steps one": 2,
	} {
		code, stdout, stderr := run(t, "", append([]string{"build", "-o", "json", "--items", "items.json", "q"}, strings.Fields(args)...)...)
		if code != codeOK || !strings.Contains(stderr, fmt.Sprintf("items: %d in, ", want)) {
			t.Errorf("%s: code %d, want %d items; %s\n%s", args, code, want, stderr, stdout)
		}
	}
	for _, flag := range []string{"--only-steps", "--skip-steps"} {
		code, _, stderr := run(t, "", "build", flag, "", "q")
		if code != codeUsage || !strings.Contains(stderr, flag) {
			t.Errorf("%s without a name: code %d, %s", flag, code, stderr)
		}
	}
}
