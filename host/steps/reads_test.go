package steps_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// reading is allops with another list of what an operation reads.
func reading(t *testing.T, op abi.Operation, names []string) *spec.Spec {
	t.Helper()
	s := *allopsSpec(t)
	s.Operations = slices.Clone(s.Operations)
	i := slices.IndexFunc(s.Operations, func(o spec.Operation) bool { return o.Operation == op })
	_, parts, err := abi.ReadsOf(op, names)
	if err != nil {
		t.Fatal(err)
	}
	s.Operations[i].Parts = parts
	return &s
}

// told calls an operation with a request whose parts have the texts of words, and returns the
// error in which the guest tells what it received.
func told(t *testing.T, p *host.Plugin, op abi.Operation, o steps.Options) error {
	t.Helper()
	o.Settings = map[string]any{"mode": "tell"}
	ctx, q := t.Context(), &pipeline.Query{Text: "<text>", Metadata: map[string]any{"m": "<meta>"}, ChatHistory: []pipeline.Turn{{Role: "user", Content: "<history>"}}}
	var err error
	switch op {
	case abi.OpRetrieve, abi.OpFilter:
		_, err = must[pipeline.Step](t)(steps.New(p, op, o)).Run(ctx, q, twoItems())
	case abi.OpTransformQuery:
		_, err = must[pipeline.QueryTransformer](t)(steps.QueryTransformer(p, o)).TransformQuery(ctx, q)
	case abi.OpClassify:
		_, err = must[pipeline.QueryClassifier](t)(steps.Classifier(p, o)).Classify(ctx, q)
	case abi.OpEnrichQuery:
		_, err = must[pipeline.QueryEnricher](t)(steps.Enricher(p, o)).Enrich(ctx, q.Text, twoItems())
	case abi.OpMemory:
		_, err = must[pipeline.MemoryProvider](t)(steps.Memory(p, o)).Items(ctx, q)
	case abi.OpCompact:
		turns := []pipeline.Turn{{Role: "user", Content: "<text>", Metadata: map[string]any{"m": "<meta>"}}}
		_, err = must[pipeline.Compactor](t)(steps.Compactor(p, o)).Compact(ctx, turns, "<summary>")
	case abi.OpDistill:
		_, err = must[agent.Distiller](t)(steps.Distiller(p, o)).Observe(ctx, agent.Observing{
			Messages: []pipeline.Message{message.New("user", "<message>")}, Observations: []string{"<seen>"}, Reflection: "<reflection>",
		})
	case abi.OpExtract:
		turns := []pipeline.Turn{{Role: "user", Content: "<text>", Metadata: map[string]any{"m": "<meta>"}}}
		_, err = must[memory.Extractor](t)(steps.Extractor(p, o)).Extract(ctx, turns, []memory.Entry{{ID: "f", Content: "<fact>"}})
	case abi.OpProvide:
		state := &agent.State{RunID: "<run>", Messages: []pipeline.Message{message.New("user", "<before>")},
			Observations: []string{"<seen>"}, Reflection: "<reflection>", Data: map[string]any{"d": "<data>"}}
		_, err = must[agent.Provider](t)(steps.Provider(p, o)).Apply(ctx, state, []pipeline.Message{message.New("user", "<message>")}, agent.Budget{Phase: agent.PhaseLLM})
	case abi.OpFormat:
		w := &pipeline.Window{Fixed: core.Fixed{Query: "<text>"}}
		_, err = must[pipeline.Formatter](t)(steps.Formatter(p, o)).Format(ctx, w)
	case abi.OpObserve:
		c := must[pipeline.Callback](t)(steps.Callback(p, o))
		err = errors.Join(c.OnPipelineStart(ctx, q), c.OnStepError(ctx, "s", errors.New("<error>")))
	}
	return err
}

// words are the texts of the parts of a request, as told sends them, that a guest received.
func words(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		t.Fatal("the guest told nothing")
	}
	var got []string
	text := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(err.Error())
	for _, w := range []string{"text", "meta", "history", "summary", "message", "before", "run", "seen", "reflection", "data", "error", "fact"} {
		if strings.Contains(text, "<"+w+">") {
			got = append(got, w)
		}
	}
	return strings.Join(got, " ")
}

// A guest receives the parts of its request that the manifest and the operator both name, in
// both lanes, and all of them where neither names any.
func TestPartsAreNarrowed(t *testing.T) {
	const query = "text meta history"
	for _, tc := range []struct {
		op              abi.Operation
		asked, operator []string
		want            string
	}{
		{abi.OpRetrieve, nil, nil, query},
		{abi.OpRetrieve, []string{}, nil, query},
		{abi.OpRetrieve, []string{"none"}, nil, ""},
		{abi.OpRetrieve, nil, []string{}, ""},
		{abi.OpFilter, []string{"score", "none"}, nil, ""},
		{abi.OpFilter, nil, []string{"score", "none"}, ""},
		{abi.OpFilter, nil, []string{"score"}, query},
		{abi.OpRetrieve, []string{"query_text"}, nil, "text"},
		{abi.OpRetrieve, nil, []string{"chat_history"}, "history"},
		{abi.OpFilter, []string{"score"}, nil, query},
		{abi.OpFilter, []string{"score", "query_metadata"}, nil, "meta"},
		{abi.OpFilter, nil, []string{"score", "query_text"}, "text"},
		{abi.OpTransformQuery, nil, nil, query},
		{abi.OpTransformQuery, []string{"query_text"}, nil, "text"},
		{abi.OpClassify, []string{"query_text", "chat_history"}, []string{"chat_history", "query_metadata"}, "history"},
		{abi.OpEnrichQuery, []string{"text"}, nil, "text"},
		{abi.OpEnrichQuery, []string{"text", "chat_history"}, nil, ""},
		{abi.OpMemory, nil, nil, query},
		{abi.OpMemory, []string{"query_metadata"}, nil, "meta"},
		{abi.OpCompact, nil, nil, "text meta summary"},
		{abi.OpCompact, []string{}, nil, "text meta summary"},
		{abi.OpCompact, []string{"content", "summary"}, nil, "text summary"},
		{abi.OpCompact, nil, []string{"content", "summary"}, "text summary"},
		{abi.OpDistill, nil, nil, "message seen reflection"},
		{abi.OpDistill, []string{"messages", "observations", "reflection"}, []string{"messages", "observations", "reflection"}, "message seen reflection"},
		{abi.OpExtract, nil, nil, "text meta fact"},
		{abi.OpExtract, []string{"content", "facts"}, nil, "text fact"},
		{abi.OpExtract, []string{"content", "facts"}, []string{"facts"}, "fact"},
		{abi.OpProvide, nil, nil, "message before run seen reflection data"},
		{abi.OpProvide, []string{"messages"}, nil, "message"},
		{abi.OpProvide, []string{"messages", "state_messages", "data"}, nil, "message before data"},
		{abi.OpProvide, []string{"messages", "observations", "data"}, []string{"data", "run_id"}, "data"},
		{abi.OpProvide, nil, []string{}, ""},
		{abi.OpFormat, nil, nil, "text"},
		{abi.OpFormat, []string{"text"}, nil, "text"},
		{abi.OpFormat, []string{"text", "none"}, nil, ""},
		{abi.OpFormat, nil, []string{}, ""},
		{abi.OpObserve, nil, nil, "text error"},
		{abi.OpProvide, []string{}, nil, "message before run seen reflection data"},
		{abi.OpProvide, []string{"none"}, nil, ""},
		{abi.OpObserve, []string{}, nil, "text error"},
		{abi.OpObserve, []string{"none"}, nil, ""},
		{abi.OpObserve, []string{"error"}, nil, "error"},
	} {
		of, err := allopsSpec(t).Operation(tc.op)
		if err != nil || len(of.Lanes) == 0 {
			t.Fatalf("%s has the lanes %v, error %v", tc.op, of.Lanes, err)
		}
		for _, lane := range of.Lanes {
			t.Run(fmt.Sprintf("%s/%s/%v/%v", tc.op, lane, tc.asked, tc.operator), func(t *testing.T) {
				p := loadSpec(t, shared(t), reading(t, tc.op, tc.asked), host.PluginConfig{Lane: lane})
				if got := words(t, told(t, p, tc.op, steps.Options{Reads: tc.operator})); got != tc.want {
					t.Errorf("received %q, want %q", got, tc.want)
				}
			})
		}
	}
}

// What a provider was not sent it cannot replace, be it messages or notes about the state.
func TestUnreadStateStays(t *testing.T) {
	loadAllops(t, host.PluginConfig{})
	sent := []pipeline.Message{message.New("user", "hey")}
	forget := steps.Options{Settings: map[string]any{"mode": "forget"}}
	for _, tc := range []struct {
		reads []string
		o     steps.Options
		want  string // what is refused
	}{
		{[]string{"data"}, steps.Options{}, "messages"},
		{[]string{"messages"}, steps.Options{}, "observations"},
		{[]string{"reflection", "data"}, forget, "observations"},
		{[]string{"observations", "data"}, forget, "reflection"},
		{[]string{"observations", "reflection"}, forget, "data"},
		{[]string{"observations", "reflection", "data"}, forget, ""},
	} {
		state := &agent.State{Observations: []string{"seen"}, Reflection: "look closer", Data: map[string]any{"k": 1}}
		p := loadSpec(t, shared(t), reading(t, abi.OpProvide, tc.reads), host.PluginConfig{})
		_, err := must[agent.Provider](t)(steps.Provider(p, tc.o)).Apply(t.Context(), state, sent, agent.Budget{Phase: agent.PhaseLLM})
		if tc.want == "" {
			if err != nil || len(state.Observations)+len(state.Data) > 0 || state.Reflection != "" {
				t.Errorf("reads %v: state %+v, error %v", tc.reads, state, err)
			}
			continue
		}
		perr := checkReason(t, err, abi.ReasonInvalidOutput)
		if !strings.Contains(perr.Error(), tc.want+": a provider that does not read them must not replace them (name "+tc.want+" in reads") {
			t.Errorf("reads %v: error %v (want one about %s)", tc.reads, perr, tc.want)
		}
		if len(state.Observations) != 1 || state.Reflection != "look closer" || len(state.Data) != 1 {
			t.Errorf("reads %v: the state became %+v", tc.reads, state)
		}
	}
}

// What an answer takes the place of neither a manifest nor an operator can keep from the guest.
func TestReplacedPartsMustBeRead(t *testing.T) {
	p := loadAllops(t, host.PluginConfig{})
	for _, tc := range []struct {
		op      abi.Operation
		reads   []string
		missing string
	}{
		{abi.OpCompact, []string{}, "content"},
		{abi.OpCompact, []string{"none"}, "content"},
		{abi.OpCompact, []string{"summary"}, "content"},
		{abi.OpCompact, []string{"role", "content"}, "summary"},
		{abi.OpDistill, []string{}, "messages"},
		{abi.OpDistill, []string{"none"}, "messages"},
		{abi.OpDistill, []string{"observations"}, "messages"},
		{abi.OpDistill, []string{"reflection"}, "messages"},
		{abi.OpDistill, []string{"messages", "reflection"}, "observations"},
		{abi.OpDistill, []string{"messages", "observations"}, "reflection"},
	} {
		prepare := func(p *host.Plugin, o steps.Options) (err error) {
			if tc.op == abi.OpCompact {
				_, err = steps.Compactor(p, o)
			} else {
				_, err = steps.Distiller(p, o)
			}
			return err
		}
		errs := []error{prepare(p, steps.Options{Reads: tc.reads})}
		if len(tc.reads) > 0 { // an empty list of a manifest names all parts
			errs = append(errs, prepare(loadSpec(t, shared(t), reading(t, tc.op, tc.reads), host.PluginConfig{}), steps.Options{}))
		}
		for _, err := range errs {
			if !errors.Is(err, host.ErrConfig) || !strings.Contains(err.Error(), "reads: ") || !strings.Contains(err.Error(), "name "+tc.missing) {
				t.Errorf("%s reads %q: error %v", tc.op, tc.reads, err)
			}
		}
	}
}

// What an operator lets a provider read holds for its estimate too.
func TestEstimateIsNarrowed(t *testing.T) {
	p := loadAllops(t, host.PluginConfig{})
	state := &agent.State{Messages: []pipeline.Message{message.New("user", "hey")}}
	for _, tc := range []struct {
		reads []string
		want  int
	}{{nil, 2}, {[]string{"messages"}, 2}, {[]string{"data"}, 1}} {
		provider := must[agent.Provider](t)(steps.Provider(p, steps.Options{Reads: tc.reads}))
		if n, err := provider.EstimateTokens(context.Background(), state); err != nil || n != tc.want {
			t.Errorf("reads %v: estimate %d, error %v (want %d)", tc.reads, n, err, tc.want)
		}
	}
}

// A guest that reads message_parts takes away an image and shortens a result, and all the rest
// stays byte for byte. A guest that does not read them is sent none, and cannot answer with them.
func TestProviderEditsParts(t *testing.T) {
	loadAllops(t, host.PluginConfig{})
	const sent = `[{"role":"assistant", "content":[{"type":"thinking","thinking":"<hm>","signature":"c2ln\u0061"} , {"type":"tool_use","id":"t1","name":"f","input":{ "q":1.50}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"long text"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]} ,{"type":"text","text":"\u0041"}]}]`
	want := strings.NewReplacer("long text", "long", `,{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}`, "").Replace(sent)
	msgs, err := message.DecodeList([]byte(sent))
	if err != nil {
		t.Fatal(err)
	}
	apply := func(reads, operator []string, mode string) (string, error) {
		p := loadSpec(t, shared(t), reading(t, abi.OpProvide, reads), host.PluginConfig{})
		provider := must[agent.Provider](t)(steps.Provider(p, steps.Options{Settings: map[string]any{"mode": mode}, Reads: operator}))
		out, err := provider.Apply(t.Context(), &agent.State{Messages: msgs}, msgs, agent.Budget{Phase: agent.PhaseLLM})
		if err != nil {
			return "", err
		}
		doc, err := message.AppendList(nil, out, message.FormAny)
		return string(doc), err
	}
	for _, operator := range [][]string{nil, {"messages", "message_parts"}} {
		if got, err := apply([]string{"messages", "message_parts"}, operator, "trim"); err != nil || got != want {
			t.Errorf("became %s, %v\nwant   %s", got, err, want)
		}
	}
	for _, tc := range []struct{ reads, operator []string }{
		{nil, nil}, {[]string{}, nil}, {[]string{"messages", "state_messages"}, nil},
		{nil, []string{"messages", "message_parts"}}, {[]string{"messages", "message_parts"}, []string{"messages"}},
	} {
		if _, err := apply(tc.reads, tc.operator, "tell"); err == nil || strings.Contains(err.Error(), `"parts"`) || strings.Contains(err.Error(), `\"parts\"`) {
			t.Errorf("reads %q, allowed %q: the guest was sent parts: %v", tc.reads, tc.operator, err)
		}
		if got, err := apply(tc.reads, tc.operator, "trim"); err != nil || got != sent {
			t.Errorf("reads %q: became %s, %v", tc.reads, got, err)
		}
		_, err := apply(tc.reads, tc.operator, "parts")
		checkReason(t, err, abi.ReasonInvalidOutput)
	}
	if _, err := apply([]string{"messages", "message_parts"}, nil, "tell"); err == nil || !strings.Contains(err.Error(), `"parts":[{"index":0,"type":"thinking"},`) || strings.Contains(err.Error(), "aGk=") || strings.Contains(err.Error(), "<hm>") {
		t.Errorf("a guest that reads parts was sent %v", err)
	}
	_, err = apply([]string{"messages", "message_parts"}, nil, "parts")
	checkReason(t, err, abi.ReasonInvalidOutput)
}
