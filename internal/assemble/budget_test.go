package assemble

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/fill"
)

// The schema and docs/operate.md have the shares of each preset as windows are filled with them.
func TestPresetsAreDescribed(t *testing.T) {
	schema, err := json.Marshal(config.Schema())
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range fill.PresetNames() {
		b, err := fill.PresetBudget(name, 100)
		if err != nil {
			t.Fatal(err)
		}
		var shares []string
		for _, a := range b.Allocations {
			shares = append(shares, fmt.Sprintf("%s %d %%", a.Source, a.MinTokens))
		}
		if want := name + ": " + strings.Join(shares, ", ") + "."; !strings.Contains(string(schema), want) {
			t.Errorf("the schema does not say %q", want)
		}
		row := "| `" + name + "` |"
		for _, s := range []pipeline.Source{"system", "memory", "conversation", "retrieval", "tool"} {
			cell := " – |"
			if at := slices.IndexFunc(b.Allocations, func(a fill.Allocation) bool { return a.Source == s }); at >= 0 {
				cell = fmt.Sprintf(" %d %% |", b.Allocations[at].MinTokens)
			}
			row += cell
		}
		if row += fmt.Sprintf(" %d %% |\n", b.ReserveTokens); !strings.Contains(string(page), row) {
			t.Errorf("docs/operate.md has no row %q", row)
		}
		if want := fmt.Sprintf("All keep %d %% free for the answer.", b.ReserveTokens); !strings.Contains(string(schema), want) {
			t.Errorf("the schema does not say %q", want)
		}
	}
}

// What follows from a preset and a model is among the settings, in tokens.
func TestEffectiveTokens(t *testing.T) {
	for _, c := range []struct {
		yaml string
		want string
	}{
		{"window: {max_tokens: 2000, budget: {preset: rag, caps: [memory]}}\n", "window.answer 300, window.budget.allocations[system].min_tokens 200, window.budget.allocations[memory].min_tokens 100, window.budget.allocations[memory].cap_tokens 100, window.budget.allocations[conversation].min_tokens 200, window.budget.allocations[retrieval].min_tokens 800"},
		{"window: {max_tokens: 2000, answer: 300}\n", ""},
		{"window: {max_tokens: 2000, budget: {preset: chat}}\ncounting: {model: claude-sonnet-4-5}\nformat: anthropic\nformat_options: {context_tokens: 5000}\n", "window.answer 300, window.budget.allocations[system].min_tokens 200, window.budget.allocations[memory].min_tokens 200, window.budget.allocations[conversation].min_tokens 400, window.budget.allocations[retrieval].min_tokens 500, format_options.max_output_tokens 3300"},
		{"counting: {model: claude-sonnet-4-5}\nformat: openai\n", ""},
	} {
		l := loadText(t, c.yaml)
		stated := map[string]bool{}
		for _, s := range l.Settings() {
			stated[s.Path] = true
		}
		var got []string
		for _, s := range Effective(l) {
			if !stated[s.Path] {
				got = append(got, s.Path+" "+s.Text)
			}
		}
		if len(got)+len(stated) != len(Effective(l)) {
			t.Errorf("%s: a setting is missing, or there twice", c.yaml)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %q, want %q", c.yaml, strings.Join(got, ", "), c.want)
		}
	}
}

// The tokens of the answer do not depend on a window that is small by choice, and never exceed
// what a window leaves of a context of known size.
func TestAnswerTokens(t *testing.T) {
	for _, c := range []struct {
		yaml string
		want int
		err  string
	}{
		{"window: {max_tokens: 1500, budget: {preset: rag}}\ncounting: {model: claude-sonnet-4-5}\n", 4096, ""},
		{"window: {max_tokens: 1500, answer: 9}\ncounting: {model: claude-sonnet-4-5}\n", 4096, ""},
		{"window: {max_tokens: 1500, budget: {preset: rag}}\n", 0, ""},
		{"counting: {model: m}\nformat_options: {max_output_tokens: 9}\n", 9, ""},
		{"window: {max_tokens: 8000, budget: {preset: rag}}\ncounting: {model: m}\nformat_options: {context_tokens: 8000}\n", 1200, ""},
		{"window: {max_tokens: 8000, answer: 3000}\ncounting: {model: m}\nformat_options: {context_tokens: 8000, max_output_tokens: 3000}\n", 3000, ""},
		{"window: {max_tokens: 8000}\ncounting: {model: m}\nformat_options: {context_tokens: 200000}\n", 4096, ""},
		{"window: {max_tokens: 8000}\ncounting: {model: m}\nformat_options: {context_tokens: 8000}\n", 0, "a window of up to 8000 tokens leaves nothing of 8000 for the answer"},
		{"window: {max_tokens: 8000, budget: {preset: rag}}\ncounting: {model: m}\nformat_options: {context_tokens: 8000, max_output_tokens: 1201}\n", 0, "leaves 1200 of 8000 for the answer, want 1201"},
	} {
		l := loadText(t, strings.Replace(c.yaml, "counting: {model: m}\n", "counting: {model: claude-sonnet-4-5}\n", 1)+"format: anthropic\n")
		b, err := BudgetOf(&l.Config)
		if err != nil {
			t.Fatal(err)
		}
		n, err := answerTokens(&l.Config, b)
		if n != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %d tokens, error %v; want %d, %q", c.yaml, n, err, c.want, c.err)
		}
		if _, err := Validate(l, t.TempDir()); (err == nil) != (c.err == "") {
			t.Errorf("%s: validate says %v", c.yaml, err)
		}
	}
}

func loadText(t *testing.T, text string) *config.Loaded {
	t.Helper()
	l, err := config.Parse("f", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}
