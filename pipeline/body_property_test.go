package pipeline

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// randomTalk returns the items of a conversation: texts, and exchanges with tools that are whole,
// lack a part or are interrupted.
func randomTalk(r *rand.Rand) (items []Item) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	say := func(role Role, text string, metadata map[string]any) {
		at = at.Add(time.Second)
		it := Item{ID: fmt.Sprintf("t%d", len(items)), Content: text, Source: SourceConversation, Priority: 7, Score: float64(r.IntN(5)) / 4, CreatedAt: at, Metadata: map[string]any{"role": string(role)}}
		it.SetTurn(&Turn{Role: role, Content: text, Metadata: metadata})
		if r.IntN(12) > 0 {
			items = append(items, it)
		}
	}
	whole := func(raw string) {
		list, err := message.DecodeList([]byte("[" + raw + "]"))
		if err != nil {
			panic(raw + err.Error())
		}
		for _, m := range list {
			at = at.Add(time.Second)
			turn := core.TurnOf(m)
			it := Item{ID: fmt.Sprintf("t%d", len(items)), Content: turn.Content, Source: SourceConversation, Priority: 7, Score: float64(r.IntN(5)) / 4, CreatedAt: at, Metadata: map[string]any{"role": string(turn.Role)}}
			it.SetTurn(&turn)
			if r.IntN(12) > 0 {
				items = append(items, it)
			}
		}
	}
	for n := range r.IntN(7) {
		if r.IntN(3) == 0 {
			whole(strings.ReplaceAll(wholeExamples[r.IntN(len(wholeExamples))], "ID", fmt.Sprintf("w%d", n)))
			continue
		}
		switch r.IntN(5) {
		case 0:
			say(RoleUser, randomContent(r), nil)
		case 1:
			say(RoleAssistant, randomContent(r), nil)
		case 2:
			say(RoleSystem, randomContent(r), nil)
		default:
			var calls []any
			count := 1 + r.IntN(3)
			for i := range count {
				calls = append(calls, map[string]any{"id": fmt.Sprintf("c%d_%d", n, i), "name": "tool", "input": map[string]any{"a": int64(i)}})
			}
			say(RoleAssistant, []string{"", " ", "Let me see."}[r.IntN(3)], map[string]any{"tool_calls": calls})
			for i := range count {
				say(RoleTool, []string{randomContent(r), "", `{"found": 1}`}[r.IntN(3)], map[string]any{"tool_call_id": fmt.Sprintf("c%d_%d", n, i)})
			}
		}
	}
	return items
}

// wholeExamples are messages of the APIs with images, calls side by side, and reasoning.
var wholeExamples = []string{
	`{"role":"user","content":[{"type":"text","text":"this?","cache_control":{"type":"ephemeral"}},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]}`,
	`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}`,
	`{"role":"user","content":[{"type":"input_image","image_url":"https://example.com/a.png"},{"type":"input_text","text":" "}]}`,
	`{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}}]}`,
	`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"so"}]}`,
	`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"}]}`,
	`{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"text","text":"I look."},{"type":"tool_use","id":"IDa","name":"f","input":{"n":1.50}},{"type":"tool_use","id":"IDb","name":"g","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"IDa","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}}]},{"type":"tool_result","tool_use_id":"IDb","content":"x","is_error":true}]}`,
	`{"role":"assistant","content":null,"tool_calls":[{"id":"IDa","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"IDb","type":"function","function":{"name":"g","arguments":"{\"a\": 1}"}}]},` +
		`{"role":"tool","tool_call_id":"IDb","content":"one"},{"role":"tool","tool_call_id":"IDa","content":[{"type":"text","text":"two"}]}`,
	`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"eA=="},{"type":"function_call","call_id":"IDa","name":"f","arguments":"{}"},{"type":"function_call","call_id":"IDb","name":"f","arguments":"{}"},` +
		`{"type":"function_call_output","call_id":"IDa","output":"1"},{"type":"function_call_output","call_id":"IDb","output":[{"type":"input_text","text":"2"}]}`,
	`{"role":"model","parts":[{"text":"","thought":true},{"functionCall":{"name":"f","args":{}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"f","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"a":1}}},{"functionResponse":{"name":"f","response":{"a":2}}}]}`,
	`{"role":"assistant","content":[{"type":"tool_use","id":"same","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"same","content":"x"},{"type":"text","text":"and?"}]}`,
}

func randomBody(r *rand.Rand) Config {
	params := format.Params{Model: "claude-sonnet-4-5", MaxOutputTokens: r.IntN(2) * 100}
	formatters := []Formatter{
		format.Anthropic{Params: params}, format.Anthropic{Params: params, Caching: true, Breakpoints: format.BreakpointsAuto},
		format.OpenAI{Params: params}, format.Responses{Params: params}, format.Gemini{Params: params},
	}
	cfg := Config{Tokenizer: WordTokenizer(), Fit: fill.FitExact, MaxTokens: 60 + r.IntN(200) + r.IntN(2)*r.IntN(6000), Formatter: formatters[r.IntN(len(formatters))], IncludeQuery: true}
	for range r.IntN(3) {
		cfg.SystemPrompts = append(cfg.SystemPrompts, SystemPrompt{Content: []string{"", " ", "Be brief."}[r.IntN(3)]})
	}
	if r.IntN(3) == 0 {
		cfg.Tools = json.RawMessage(`[ {"type": "tool",  "options": {"type": "object"}} ]`)
	}
	return cfg
}

// Whatever is in a window: its output is a body that the API accepts, and within its tokens.
func TestBodiesCanBeSent(t *testing.T) {
	t.Parallel()
	rounds := 6000
	if os.Getenv("ANCHOR_THOROUGH") == "" || underRace {
		rounds = 800
	}
	r := rand.New(rand.NewPCG(16, 7))
	calls, media := 0, 0
	for round := range rounds {
		cfg := randomBody(r)
		items := randomTalk(r)
		for range r.IntN(3) {
			items = append(items, Item{ID: "d", Content: randomContent(r), Source: SourceRetrieval, Priority: 1 + r.IntN(10), Score: 0.5})
		}
		cfg.Steps = []StepConfig{{Name: "search", Step: RetrieverStep(fixedRetriever(items), 100)}}
		p, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		result, err := p.Build(t.Context(), Query{Text: "why " + randomContent(r)})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if result.Counted > cfg.MaxTokens {
			t.Fatalf("round %d: %d tokens of %d", round, result.Counted, cfg.MaxTokens)
		}
		c, m := checkBody(t, round, cfg, result)
		calls, media = calls+c, media+m
	}
	if calls < rounds/10 || media < rounds/10 {
		t.Errorf("%d calls, %d images in %d windows", calls, media, rounds)
	}
}

// checkBody decodes the output of a build, and returns the numbers of its calls and images.
func checkBody(t *testing.T, round int, cfg Config, result *Result) (calls, media int) {
	t.Helper()
	form := message.Form(cfg.Formatter.FormatType())
	doc, err := result.Output.(format.Body).Append(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	body, err := message.DecodeBody(doc, form)
	if err == nil {
		err = message.Check(body.Messages, form)
	}
	if err != nil {
		t.Fatalf("round %d: %s: %v\n%s", round, form, err, doc)
	}
	if cfg.Tools != nil && !strings.Contains(string(doc), string(cfg.Tools)) {
		t.Errorf("round %d: the tools have changed: %s", round, doc)
	}
	if n := strings.Count(string(doc), "cache_control"); n > format.MaxCacheBreakpoints {
		t.Errorf("round %d: %d marks", round, n)
	}
	messages := body.Messages
	for len(messages) > 0 && messages[0].Instructs() {
		messages = messages[1:]
	}
	pairs := form == message.FormAnthropic || form == message.FormGemini
	for i := range messages {
		m := &messages[i]
		calls += len(m.Calls())
		media += core.Media(m.Parts)
		if pairs && i == 0 && m.Role != RoleUser {
			t.Fatalf("round %d: %s: the first message is of the %s\n%s", round, form, m.Role, doc)
		}
		if pairs && i > 0 && (m.Role == RoleAssistant) == (messages[i-1].Role == RoleAssistant) {
			t.Fatalf("round %d: %s: two messages of the %s\n%s", round, form, m.Role, doc)
		}
	}
	if last := messages[len(messages)-1]; last.Role != RoleUser || !strings.Contains(last.Text(), "why ") {
		t.Fatalf("round %d: %s: the last message is not the query\n%s", round, form, doc)
	}
	return calls, media
}
