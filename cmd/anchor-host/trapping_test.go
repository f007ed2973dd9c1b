package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// builtResult is what these tests read of a result.
type builtResult struct {
	Window struct {
		Items []struct {
			ID         string
			Content    string
			TokenCount int `json:"token_count"`
		}
		UsedTokens int `json:"used_tokens"`
	}
	Output      any    `json:"formatted_output"`
	FormatType  string `json:"format_type"`
	Counted     int    `json:"counted_tokens"`
	Counting    *struct{ Tokenizer string }
	Diagnostics struct {
		Skipped  []string                                `json:"skipped_steps"`
		Failures []struct{ Step, Plugin, Reason string } `json:"step_failures"`
	}
}

// A plugin that traps ends the build under must: true, whatever it is there for. Under
// skip the build goes on without it or with what takes its place, says so on a line, and counts
// as degraded.
func TestTrappingPlugins(t *testing.T) {
	const (
		turns = "memory: {conversation: {turns: [{role: user, content: earlier}]}}\n"
		trap  = "settings: {mode: trap}"
	)
	for _, tt := range []struct {
		name, part, config, format string
		items                      int
	}{
		{"memory", "memory", "counting: {tokenizer: words}\nmemory: {use: allops, " + trap + "%s}", "generic", 1},
		{"enricher", "enricher", "counting: {tokenizer: words}\n" + turns + "enricher: {use: allops, " + trap + "%s}", "generic", 2},
		{"formatter", "formatter", "counting: {tokenizer: words}\nformat: {use: allops, " + trap + "%s}", "generic", 1},
		{"formatter with a fallback", "formatter", "counting: {tokenizer: words}\nformat: {use: allops, " + trap + ", fallback: openai%s}", "openai", 1},
		{"formatter of an exact fit", "formatter", "window: {fit: exact, max_tokens: 100}\ncounting: {tokenizer: words}\nformat: {use: allops, " + trap + "%s}", "generic", 1},
		{"tokenizer", "tokenizer", "counting: {tokenizer: {use: allops, " + trap + "%s}}", "generic", 1},
		{"tokenizer of an exact fit", "tokenizer", "window: {fit: exact, max_tokens: 100}\ncounting: {tokenizer: {use: allops, " + trap + "%s}}", "generic", 1},
		{"tokenizer of a conversation", "tokenizer", turns + "counting: {tokenizer: {use: allops, " + trap + "%s}}", "generic", 2},
		{"classifier", "route.classifier", "counting: {tokenizer: words}\nsteps: [{name: route, use: allops, operation: classify, " + trap + ", routes: {code: {use: allops}}, default: code%s}]", "generic", 11},
		{"slow classifier", "route.classifier", "counting: {tokenizer: words}\nsteps: [{name: route, use: allops, operation: classify, timeout: 1ns, routes: {code: {use: allops}}, default: code%s}]", "generic", 11},
		{"missing classifier", "route.classifier", "counting: {tokenizer: words}\nsteps: [{name: route, use: gone, operation: classify, routes: {code: {use: allops}}, default: code%s}]", "generic", 11},
		{"missing formatter", "formatter", "counting: {tokenizer: words}\nformat: {use: gone%s}", "generic", 1},
		{"missing tokenizer", "tokenizer", "counting: {tokenizer: {use: gone%s}}", "generic", 1},
		{"slow formatter", "formatter", "counting: {tokenizer: words}\nformat: {use: allops, timeout: 1ns%s}", "generic", 1},
		{"slow tokenizer", "tokenizer", "counting: {tokenizer: {use: allops, timeout: 1ns%s}}", "generic", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const found = "window: {system_prompts: [{content: be brief}]}\n"
			args := func(policy string, more ...string) []string {
				text := fmt.Sprintf(tt.config, policy)
				if policy != skipped {
					text = strings.Replace(text, ", fallback: openai", "", 1)
				}
				flags := buildFolder(t, strings.Replace(found+text+"\n", "}\nwindow: {fit", ", fit", 1))
				return append(append([]string{"build", "q", "-o", "json", "--log-level", "error"}, flags...), more...)
			}
			if code, _, stderr := run(t, "", args(", must: true")...); code == codeOK || strings.Contains(stderr, "(skipped)") {
				t.Errorf("raise: code %d, %s", code, stderr)
			}
			code, stdout, stderr := run(t, "", args(skipped, "--strict")...) // which changes the code alone
			var r builtResult
			if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != codeDegraded {
				t.Fatalf("skip, --strict: code %d, want %d, %v, %s", code, codeDegraded, err, stderr)
			}
			if tt.name == tt.part { // one of each part
				if code, _, stderr := run(t, "", args(skipped)...); code != codeOK {
					t.Errorf("skip: code %d, want %d, %s", code, codeOK, stderr)
				}
			}
			if len(r.Diagnostics.Skipped) != 1 || r.Diagnostics.Skipped[0] != tt.part || r.FormatType != tt.format || len(r.Window.Items) != tt.items {
				t.Errorf("skipped %v (want %s), format %s, %d items (want %d)", r.Diagnostics.Skipped, tt.part, r.FormatType, len(r.Window.Items), tt.items)
			}
			if f := r.Diagnostics.Failures; strings.HasPrefix(tt.name, tt.part) && (len(f) != 1 || f[0].Plugin != "allops" || f[0].Reason != "trap") {
				t.Errorf("failures %+v", f)
			}
			if line := fmt.Sprintf("anchor-host: step %q: ", tt.part); strings.Count(stderr, line) != 1 || !strings.Contains(stderr, " (skipped)\n") {
				t.Errorf("stderr lacks %s: %s", line, stderr)
			}
		})
	}
}

// skipped is the policy of a part that may be skipped.
const skipped = ", must: false"

// A build whose tokenizer fails on the way counts everything with the other one, also what was
// counted before: by itself, by the conversation and by the host.
func TestTokenizersAreNotMixed(t *testing.T) {
	for _, word := range []string{"brief", "earlier", "hello", "=== CONTEXT"} { // where it traps
		for _, fit := range []string{"items", "exact"} {
			flags := buildFolder(t, `
window: {fit: `+fit+`, max_tokens: 100, system_prompts: [{content: be brief and plain}]}
counting: {tokenizer: {use: allops, settings: {mode: trap, word: "`+word+`"}, must: false, fallback: words}}
memory: {conversation: {turns: [{role: user, content: earlier than that}]}}
steps: [{name: found, use: allops, operation: retrieve, top_k: 2}]
`)
			code, stdout, stderr := run(t, "", append([]string{"build", "the query", "-o", "json", "--log-level", "error"}, flags...)...)
			var r builtResult
			if err := json.Unmarshal([]byte(stdout), &r); err != nil || code != codeOK {
				t.Fatalf("%s, %s: code %d, %v, %s", word, fit, code, err, stderr)
			}
			failed := fit == "exact" || word != "=== CONTEXT"
			if failed != (len(r.Diagnostics.Skipped) == 1) || len(r.Window.Items) != 4 {
				t.Errorf("%s, %s: skipped %v, %d items", word, fit, r.Diagnostics.Skipped, len(r.Window.Items))
			}
			used := 0
			for _, it := range r.Window.Items {
				want := (len(it.Content) + 3) / 4
				if failed {
					want = len(strings.Fields(it.Content))
				}
				if used += want; it.TokenCount != want {
					t.Errorf("%s, %s: %q has %d tokens (want %d)", word, fit, it.Content, it.TokenCount, want)
				}
			}
			if r.Window.UsedTokens != used && fit == "items" {
				t.Errorf("%s: %d tokens used (want %d)", word, r.Window.UsedTokens, used)
			}
			if text, _ := r.Output.(string); fit == "exact" && (r.Counted != len(strings.Fields(text)) || r.Counting.Tokenizer != "words") {
				t.Errorf("%s: %d tokens by %+v of %q", word, r.Counted, r.Counting, text)
			}
		}
	}
}

// A provider chain whose tokenizer fails runs with the other one.
func TestTrappingTokenizerOfAChain(t *testing.T) {
	const messages = `[{"role": "user", "content": "hello there"}, {"role": "assistant", "content": "good day"}, {"role": "user", "content": "one two three"}]`
	assembled := func(tokenizer string, more ...string) (int, string, string) {
		flags := buildFolder(t, "window: {max_tokens: 50}\ncounting: {tokenizer: "+tokenizer+"}\n")
		return run(t, messages, append(append([]string{"assemble", "-", "-o", "json", "--log-level", "error"}, flags...), more...)...)
	}
	after := func(stdout string) (size struct{ Tokens int }, skipped string) {
		var doc struct {
			Diagnostics struct {
				After   struct{ Tokens int }
				Skipped string `json:"skipped_tokenizer"`
			}
		}
		if err := json.Unmarshal([]byte(stdout), &doc); err != nil {
			t.Fatalf("%v: %s", err, stdout)
		}
		return doc.Diagnostics.After, doc.Diagnostics.Skipped
	}
	code, stdout, stderr := assembled("words")
	want, none := after(stdout)
	if code != codeOK || none != "" || want.Tokens == 0 {
		t.Fatalf("code %d, %+v, %s", code, want, stderr)
	}
	const trapping = `{use: allops, settings: {mode: trap, word: one}, must: false, fallback: words}`
	code, stdout, stderr = assembled(trapping)
	if got, skipped := after(stdout); code != codeOK || got != want || !strings.Contains(skipped, "count_tokens: trap") {
		t.Errorf("code %d, %+v (want %+v), skipped %q, %s", code, got, want, skipped, stderr)
	}
	if !strings.Contains(stderr, "anchor-host: tokenizer: ") || !strings.Contains(stderr, " (skipped)\n") {
		t.Errorf("stderr %s", stderr)
	}
	if code, _, _ = assembled(trapping, "--strict"); code != codeDegraded {
		t.Errorf("--strict: code %d", code)
	}
}

// A list of what a plugin may read is checked before anything runs.
func TestValidateReads(t *testing.T) {
	flags := buildFolder(t, `
steps:
- {name: found, use: allops, operation: retrieve, reads: []}
- {name: kept, use: allops, operation: filter, reads: [colour]}
`)
	code, _, stderr := run(t, "", append([]string{"config", "validate"}, flags...)...)
	for _, want := range []string{
		`anchor.yaml:4:56: steps[1].reads[0]: unknown value "colour" (want one of `,
	} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, stderr)
		}
	}
	if code != codeInvalid || strings.Contains(stderr, "steps[0]") {
		t.Errorf("code %d, %s", code, stderr)
	}
}
