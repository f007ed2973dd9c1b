package anchor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/store"
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
	if fixed, _ := count("counting: {model: gpt-4o}", "claude-sonnet-4-5"); fixed != gpt {
		t.Errorf("with a model in the configuration: %d, want %d", fixed, gpt)
	}
	if words, _ := count("counting: {tokenizer: words}", "gpt-4o"); words >= gpt {
		t.Errorf("words: %d, gpt-4o %d", words, gpt)
	}
	if _, warnings := count("", "nobody-knows-1"); !strings.Contains(warnings, "nobody-knows-1") {
		t.Errorf("unknown model: warnings %q", warnings)
	}
	for i := range 100 { // names come from outside
		count("", fmt.Sprint("m", i))
	}
}

// A provider may name its messages, also where the API has no names.
func TestNamesOfProvidersAreLeftOut(t *testing.T) {
	app, err := Load(write(t, t.TempDir(), "counting: {tokenizer: words}\n"), Options{Store: store.NewMemory(), CacheDir: "off"})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(t.Context())
	state := new(agent.State)
	if err := json.Unmarshal([]byte(`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"r"}]},
		{"role":"system","name":"crm","content":"a note"}]}`), state); err != nil {
		t.Fatal(err)
	}
	out, err := app.AssembleBody(t.Context(), []byte(`[{"role":"user","content":"go on"}]`), BodyOptions{AssembleOptions: AssembleOptions{Run: "r", State: state}})
	if err != nil || out.Form != message.FormAnthropic || !bytes.Contains(out.Body, []byte("a note")) || bytes.Contains(out.Body, []byte("crm")) {
		t.Errorf("%v: %+v", err, out)
	}
}
