package steps_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

var lanes = []host.Lane{host.LaneJSON, host.LaneBatch}

// docs is a native step that brings items for the guests to work on.
func docs(contents ...string) pipeline.StepConfig {
	return pipeline.StepConfig{Name: "docs", Priority: 10, Step: pipeline.StepFunc(
		func(_ context.Context, _ *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
			for i, c := range contents {
				items = append(items, pipeline.Item{ID: string(rune('a' + i)), Content: c, Source: pipeline.SourceRetrieval,
					Score: float64(len(contents)-i) / 10, Priority: 5})
			}
			return items, nil
		})}
}

// stepOf makes a step of an operation of the guest.
func stepOf(t *testing.T, p *host.Plugin, op abi.Operation, settings map[string]any, change ...func(*steps.Options)) pipeline.StepConfig {
	t.Helper()
	o := steps.Options{Step: string(op), Settings: settings}
	for _, f := range change {
		f(&o)
	}
	s, err := steps.New(p, op, o)
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.StepConfig{Name: string(op), Step: s}
}

func topK(n int) func(*steps.Options) { return func(o *steps.Options) { o.TopK = n } }

// build runs a build and returns its result without what differs from run to
// run.
func build(t *testing.T, cfg pipeline.Config, query string) *pipeline.Result {
	t.Helper()
	cfg.Tokenizer = orWords(cfg.Tokenizer)
	p, err := pipeline.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Build(t.Context(), pipeline.Query{Text: query})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func orWords(t pipeline.Tokenizer) pipeline.Tokenizer {
	if t == nil {
		return pipeline.WordTokenizer()
	}
	return t
}

// window is the contents, ids, scores and metadata of a window, comparable.
func window(t *testing.T, r *pipeline.Result) string {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	for _, it := range r.Window.Items {
		if err := enc.Encode([]any{it.ID, it.Content, it.Source, it.Score, it.Priority, it.TokenCount, it.Metadata}); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// must returns a function that unwraps a constructor's result.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// buildCases are builds that each run one operation, with what must come out.
var buildCases = []struct {
	name   string
	config func(t *testing.T, p *host.Plugin) pipeline.Config
	query  string
	want   string
}{
	{"retrieve", func(t *testing.T, p *host.Plugin) pipeline.Config {
		return pipeline.Config{MaxTokens: 100, Steps: []pipeline.StepConfig{stepOf(t, p, abi.OpRetrieve, nil, topK(2))}}
	}, "q", `
["allops:0","hello q 0","retrieval",1,5,3,{"left":100,"n":0}]
["allops:1","hello q 1","retrieval",0.99,5,3,{"left":100,"n":1}]
`},
	{"process", func(t *testing.T, p *host.Plugin) pipeline.Config {
		return pipeline.Config{SystemPrompts: []pipeline.SystemPrompt{{Content: "be brief"}},
			Steps: []pipeline.StepConfig{docs("one", "two", "three"), stepOf(t, p, abi.OpProcess, nil)}}
	}, "q", `
["system-1","be brief","system",1,10,2,null]
["allops:note","hello note","retrieval",0.3,5,2,null]
["b","two","retrieval",0.2,5,1,null]
["a","ONE","retrieval",0.25,4,1,{"rows":3,"was":"one"}]
`},
	{"filter", func(t *testing.T, p *host.Plugin) pipeline.Config {
		return pipeline.Config{SystemPrompts: []pipeline.SystemPrompt{{Content: "be brief"}},
			Steps: []pipeline.StepConfig{docs("one", "two", "three"), stepOf(t, p, abi.OpFilter, map[string]any{"min": 0.2})}}
	}, "q", `
["system-1","be brief","system",1,10,2,null]
["a","one","retrieval",0.3,5,1,null]
["b","two","retrieval",0.2,5,1,null]
`},
	{"rerank", func(t *testing.T, p *host.Plugin) pipeline.Config {
		return pipeline.Config{SystemPrompts: []pipeline.SystemPrompt{{Content: "be brief"}},
			Steps: []pipeline.StepConfig{docs("x", "x y y", "y"), stepOf(t, p, abi.OpRerank, map[string]any{"word": "y"}, topK(2))}}
	}, "q", `
["system-1","be brief","system",1,10,2,null]
["b","x y y","retrieval",0.2,5,3,null]
["c","y","retrieval",0.1,5,1,null]
`},
	{"transform_query", func(t *testing.T, p *host.Plugin) pipeline.Config {
		transformer := must[pipeline.QueryTransformer](t)(steps.QueryTransformer(p, steps.Options{Settings: map[string]any{"word": "more"}}))
		retriever := must[pipeline.Retriever](t)(steps.Retriever(p, steps.Options{}))
		return pipeline.Config{Steps: []pipeline.StepConfig{{Name: "transform", Step: pipeline.QueryTransformStep(transformer, retriever, 1)}}}
	}, "q", `
["allops:0","hello q 0","retrieval",1,5,3,{"left":8192,"n":0,"retrieval_method":"rrf","rrf_raw_score":0.03278688524590164}]
`},
	{"classify", func(t *testing.T, p *host.Plugin) pipeline.Config {
		classifier := must[pipeline.QueryClassifier](t)(steps.Classifier(p, steps.Options{}))
		retriever := must[pipeline.Retriever](t)(steps.Retriever(p, steps.Options{}))
		return pipeline.Config{Steps: []pipeline.StepConfig{{Name: "route",
			Step: pipeline.ClassifiedStep(classifier, map[string]pipeline.Retriever{"code": retriever}, "", 1)}}}
	}, "func main", `
["allops:0","hello func main 0","retrieval",1,5,4,{"left":8192,"n":0}]
`},
	{"memory and enrich_query", func(t *testing.T, p *host.Plugin) pipeline.Config {
		return pipeline.Config{
			Memory:   must[pipeline.MemoryProvider](t)(steps.Memory(p, steps.Options{})),
			Enricher: must[pipeline.QueryEnricher](t)(steps.Enricher(p, steps.Options{})),
			Steps:    []pipeline.StepConfig{stepOf(t, p, abi.OpRetrieve, nil, topK(1))}}
	}, "q", `
["allops:fact","hello q","memory",1,8,2,null]
["allops:turn","earlier turn","conversation",0.5,7,2,null]
["allops:0","hello q (2 memories) 0","retrieval",1,5,5,{"left":8188,"n":0}]
`},
	{"count_tokens", func(t *testing.T, p *host.Plugin) pipeline.Config {
		return pipeline.Config{Tokenizer: must[pipeline.Tokenizer](t)(steps.Tokenizer(p, steps.Options{})),
			Steps: []pipeline.StepConfig{docs("four", "twelve chars")}}
	}, "q", `
["a","four","retrieval",0.2,5,1,null]
["b","twelve chars","retrieval",0.1,5,3,null]
`},
}

func TestOperationsInBuilds(t *testing.T) {
	plugins := map[host.Lane]*host.Plugin{}
	for _, lane := range lanes {
		plugins[lane] = loadAllops(t, host.PluginConfig{Lane: lane})
	}
	for _, tc := range buildCases {
		for _, lane := range lanes {
			t.Run(tc.name+"/"+string(lane), func(t *testing.T) {
				cfg := tc.config(t, plugins[lane])
				if got, want := window(t, build(t, cfg, tc.query)), strings.TrimPrefix(tc.want, "\n"); got != want {
					t.Errorf("window:\n%swant:\n%s", got, want)
				}
			})
		}
	}
}

func TestFormatterInBuild(t *testing.T) {
	p := loadAllops(t, host.PluginConfig{})
	f := must[pipeline.Formatter](t)(steps.Formatter(p, steps.Options{}))
	r := build(t, pipeline.Config{Formatter: f, Steps: []pipeline.StepConfig{docs("one", "two")}}, "q")
	if r.Output != "- one\n- two\n" || r.FormatType != "lines" {
		t.Errorf("output %q of type %q", r.Output, r.FormatType)
	}
	r = build(t, pipeline.Config{Formatter: f, IncludeQuery: true, Steps: []pipeline.StepConfig{docs("one")}}, "why?")
	if r.Output != "- one\n? why?\n" {
		t.Errorf("output %q with the query", r.Output)
	}
}

func TestCallbackInBuild(t *testing.T) {
	p := loadAllops(t, host.PluginConfig{Name: "observer", State: host.StateKeep, Limits: host.Limits{Instances: 1}})
	cb := must[pipeline.Callback](t)(steps.Callback(p, steps.Options{}))
	build(t, pipeline.Config{Callbacks: []pipeline.Callback{cb}, Steps: []pipeline.StepConfig{docs("one")}}, "q")
	for _, want := range []string{
		`msg="event 1: pipeline_start  0" plugin=observer from=guest`, `msg="event 2: step_start docs 0"`,
		`msg="event 3: step_end docs 1"`, `msg="event 4: pipeline_end  1"`,
	} {
		if !strings.Contains(logs.String(), want) {
			t.Errorf("log lacks %s:\n%s", want, &logs)
		}
	}
}

// checkWholeMessages has a provider put a note before messages of which a guest sees a part
// only. What it does not see must not be lost by being handed through.
func checkWholeMessages(t *testing.T, provider agent.Provider) {
	t.Helper()
	msgs := []pipeline.Message{
		message.New(pipeline.RoleDeveloper, "be brief"),
		fromJSON(pipeline.RoleUser, `"content":[{"type":"text","text":"what is it?"},{"type":"image","source":{}}]`),
		fromJSON(pipeline.RoleAssistant, `"content":"a fox","refusal":null`),
		fromJSON(pipeline.RoleAssistant, `"content":null,"refusal":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"q\":\"a<b>&c\"}"}}]`),
		fromJSON(pipeline.RoleAssistant, `"content":[{"type":"thinking","thinking":"<hm>"},{"type":"tool_use","id":"t1","name":"f","input":{"q":"<"}}]`),
	}
	out, err := provider.Apply(t.Context(), &agent.State{}, msgs, agent.Budget{Phase: agent.PhaseLLM})
	if err != nil || len(out) != len(msgs)+1 {
		t.Fatalf("messages %v, %v", out, err)
	}
	for i := range msgs {
		if !out[i+1].Equal(&msgs[i]) {
			t.Errorf("message %d became %+v", i, out[i+1])
		}
	}
}

// checkForgetting has a provider take away what was noted. If the host left the reflection
// where it was, it would stay in front of every later model call.
func checkForgetting(t *testing.T, p *host.Plugin) {
	t.Helper()
	provider := must[agent.Provider](t)(steps.Provider(p, steps.Options{Settings: map[string]any{"mode": "forget"}}))
	state := agent.State{Observations: []string{"seen"}, Reflection: "look closer", Data: map[string]any{"n": int64(1)}}
	out, err := provider.Apply(t.Context(), &state, nil, agent.Budget{Phase: agent.PhaseLLM})
	if err != nil || out != nil || len(state.Observations) != 0 || state.Reflection != "" || len(state.Data) != 0 {
		t.Errorf("messages %v, state %+v, %v", out, state, err)
	}
}

func TestDistiller(t *testing.T) {
	p := loadAllops(t, host.PluginConfig{})
	distill := func(mode string) agent.Distiller {
		return must[agent.Distiller](t)(steps.Distiller(p, steps.Options{Settings: map[string]any{"mode": mode}}))
	}
	observing := agent.Observing{Messages: []pipeline.Message{message.New(pipeline.RoleUser, "x")}, Observations: []string{"a", "b"}}
	seen, err := distill("").Observe(t.Context(), observing)
	if err != nil || len(seen.Add) != 1 || seen.Add[0] != "1 messages after 2 observations" || seen.Replace != nil {
		t.Errorf("observations %+v, error %v", seen, err)
	}
	text, err := distill("").Reflect(t.Context(), agent.Reflecting{Observations: []string{"a"}, Reflection: "before"})
	if err != nil || text != "before+1 observations" {
		t.Errorf("reflection %q, error %v", text, err)
	}
	seen, err = distill("none").Observe(t.Context(), observing)
	if err != nil || seen != nil {
		t.Errorf("no change: %+v, error %v", seen, err)
	}
	if text, err = distill("none").Reflect(t.Context(), agent.Reflecting{Reflection: "before"}); err != nil || text != "" {
		t.Errorf("no change: %q, error %v", text, err)
	}
	for mode, want := range map[string]string{
		"wrong": "a reflection in the mode observe", "blank": "replace[1]: blank", "both": "want replace and add, or reflection", "many": "has 257 observations",
	} {
		if _, err = distill(mode).Observe(t.Context(), observing); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", mode, err, want)
		}
	}
	if _, err = distill("blank").Reflect(t.Context(), agent.Reflecting{}); err == nil {
		t.Error("observations in the mode reflect are taken")
	}
}

func TestExtractor(t *testing.T) {
	p := loadAllops(t, host.PluginConfig{})
	extract := func(mode string, o steps.Options) memory.Extractor {
		o.Settings = map[string]any{"mode": mode}
		return must[memory.Extractor](t)(steps.Extractor(p, o))
	}
	turns := []pipeline.Turn{{Role: pipeline.RoleUser, Content: "I drink tea"}, {Role: pipeline.RoleUser, Content: "I live here"}, {Role: pipeline.RoleAssistant, Content: "I see you"}}
	known := []memory.Entry{{ID: "k", Content: "I live there", Type: memory.Semantic}, {ID: "l", Content: "I live"}}
	x, err := extract("", steps.Options{}).Extract(t.Context(), turns, known)
	if err != nil || len(x.Add) != 1 || x.Add[0].Content != "I drink tea" || len(x.Update) != 1 || x.Update[0].ID != "k" || x.Update[0].Content != "I live here" {
		t.Errorf("%+v, %v", x, err)
	}
	if x, err = extract("", steps.Options{}).Extract(t.Context(), nil, []memory.Entry{known[1], known[0]}); err != nil || !slices.Equal(x.Remove, []string{"l"}) {
		t.Errorf("in order: %+v, %v", x, err)
	}
	if x, err = extract("none", steps.Options{}).Extract(t.Context(), turns, known); err != nil || len(x.Add)+len(x.Update)+len(x.Remove) != 0 {
		t.Errorf("no change: %+v, %v", x, err)
	}
	if x, err = extract("", steps.Options{Reads: []string{"role", "content"}}).Extract(t.Context(), turns, known); err != nil || len(x.Add) != 2 {
		t.Errorf("without the facts: %+v, %v", x, err)
	}
	_, err = extract("unknown", steps.Options{}).Extract(t.Context(), turns, known)
	var failed *host.PluginError
	if !errors.As(err, &failed) || failed.Code != abi.ReasonInvalidOutput || !strings.Contains(err.Error(), `the request has no fact "unknown"`) {
		t.Errorf("a fact that is not known: %v", err)
	}
}

func TestCompactorAndProvider(t *testing.T) {
	p := loadAllops(t, host.PluginConfig{Settings: map[string]any{"greeting": "hi"}})
	c := must[pipeline.Compactor](t)(steps.Compactor(p, steps.Options{}))
	summary, err := c.Compact(t.Context(), []pipeline.Turn{{Role: pipeline.RoleUser, Content: "x"}}, "before")
	if err != nil || summary != "before+1 turns" {
		t.Errorf("summary %q, error %v", summary, err)
	}
	provider := must[agent.Provider](t)(steps.Provider(p, steps.Options{}))
	if provider.Name() != "allops" || provider.Priority() != 15 {
		t.Errorf("name %q, priority %d", provider.Name(), provider.Priority())
	}
	chain, err := agent.NewChain(agent.Config{Logger: slog.New(slog.DiscardHandler), Providers: []agent.Provider{provider}})
	if err != nil {
		t.Fatal(err)
	}
	state := agent.State{Messages: []pipeline.Message{message.New(pipeline.RoleUser, "hey")}}
	out, err := chain.Run(t.Context(), &state, state.Messages, agent.Budget{MaxTokens: 100, Phase: agent.PhaseLLM})
	if err != nil || len(out) != 2 || out[0].Text() != "hi llm" || out[1].Text() != "hey" {
		t.Errorf("messages %v, error %v", out, err)
	}
	if len(state.Observations) != 1 || state.Observations[0] != "seen" {
		t.Errorf("observations %q", state.Observations)
	}
	checkForgetting(t, p)
	checkWholeMessages(t, provider)
	if n, err := provider.EstimateTokens(t.Context(), &state); err != nil || n != 2 {
		t.Errorf("estimate %d, error %v", n, err)
	}
}
