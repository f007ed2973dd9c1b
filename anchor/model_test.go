package anchor

import (
	"fmt"
	"strings"
	"testing"
)

// The model of a body says how its tokens are counted, unless the configuration does.
func TestTheModelOfABodyCounts(t *testing.T) {
	count := func(config, model string) (tokens int, warnings string) {
		t.Helper()
		app := load(t, config)
		body := fmt.Sprintf(`{"model":%q,"max_tokens":9,"messages":[{"role":"user","content":%q}]}`, model, strings.Repeat("die Straße führt über den Fluß ", 40))
		out, err := app.AssembleBody(t.Context(), []byte(body), BodyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if out.Diagnostics.Before.Tokens == nil {
			t.Fatal("nothing was counted")
		}
		return *out.Diagnostics.Before.Tokens, strings.Join(out.Diagnostics.Warnings, "\n")
	}
	gpt, _ := count("", "gpt-4o")
	claude, _ := count("", "claude-sonnet-4-5")
	old, _ := count("", "gpt-4")
	if gpt >= old || claude <= gpt {
		t.Errorf("gpt-4o %d, gpt-4 %d, claude %d", gpt, old, claude)
	}
	if fixed, _ := count("model: gpt-4o", "claude-sonnet-4-5"); fixed != gpt {
		t.Errorf("with a model in the configuration: %d, want %d", fixed, gpt)
	}
	if words, _ := count("tokenizer: words", "gpt-4o"); words >= gpt {
		t.Errorf("words: %d, gpt-4o %d", words, gpt)
	}
	if _, warnings := count("", "nobody-knows-1"); !strings.Contains(warnings, "nobody-knows-1") {
		t.Errorf("unknown model: warnings %q", warnings)
	}
	for i := range 100 { // names come from outside
		count("", fmt.Sprint("m", i))
	}
}
