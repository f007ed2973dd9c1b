package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// Each built-in provider has a variable that switches it off, for assemble and in the
// listing of the settings.
func TestProvidersAreSwitchedByEnvironment(t *testing.T) {
	t.Chdir(write(t, map[string]string{"anchor.yaml": "counting: {tokenizer: words}\nagent: {compaction: {enabled: true}}\n"}))
	const messages = `[{"role": "system", "content": "s"}, {"role": "user", "content": "hello"}]`
	ran := func() (names []string) {
		t.Helper()
		code, stdout, stderr := run(t, messages, "assemble", "--max-tokens", "100", "-o", "json")
		if code != 0 {
			t.Fatalf("%d: %s", code, stderr)
		}
		var doc struct {
			Diagnostics struct{ Providers []struct{ Name string } }
		}
		if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
			t.Fatal(err)
		}
		for _, p := range doc.Diagnostics.Providers {
			names = append(names, p.Name)
		}
		return names
	}
	all := ran()
	for variable, tt := range map[string]struct{ path, provider string }{
		"ANCHOR_HOST_AGENT_OBSERVATION": {"agent.observation.enabled", "observation"},
		"ANCHOR_HOST_AGENT_COMPACTION":  {"agent.compaction.enabled", "compaction"},
		"ANCHOR_HOST_AGENT_TRUNCATION":  {"agent.truncation", "truncation"},
	} {
		t.Setenv(variable, "false")
		rest := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
			return name == tt.provider || tt.provider == "truncation" && name == "enforcement"
		})
		if got := ran(); len(rest) >= len(all) || !slices.Equal(got, rest) {
			t.Errorf("%s=false: %v ran, want %v", variable, got, rest)
		}
		_, stdout, _ := run(t, "", "config", "show", "--origin")
		if want := "environment " + variable; !slices.ContainsFunc(strings.Split(stdout, "\n"), func(line string) bool {
			return strings.HasPrefix(line, tt.path+" ") && strings.Contains(line, " false ") && strings.HasSuffix(strings.TrimSpace(line), want)
		}) {
			t.Errorf("%s is not listed for %s:\n%s", variable, tt.path, stdout)
		}
		t.Setenv(variable, "maybe")
		code, _, stderr := run(t, messages, "assemble")
		if want := "anchor-host: invalid: environment " + variable + ": want true or false, got the string \"maybe\"\n"; code != codeInvalid || stderr != want {
			t.Errorf("%d, %q, want %q", code, stderr, want)
		}
		t.Setenv(variable, "")
	}
}
