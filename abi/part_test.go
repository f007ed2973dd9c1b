package abi

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// Every operation's parts are parts, each part belongs to an operation, and each is one bit.
func TestPartsOfOperations(t *testing.T) {
	var used []Part
	for _, info := range Operations {
		used = append(used, info.Parts...)
	}
	seen := map[uint32]bool{}
	for _, p := range Parts {
		if bit := p.bit(); bit == 0 || seen[bit] || !slices.Contains(used, p) {
			t.Errorf("part %s: bit %b, used %v", p, bit, slices.Contains(used, p))
		}
		seen[p.bit()] = true
	}
	for _, p := range used {
		if p.bit() == 0 {
			t.Errorf("part %s is not in Parts", p)
		}
	}
}

func TestReadsOf(t *testing.T) {
	for _, tc := range []struct {
		op    Operation
		names []string
		want  string
	}{
		{OpFilter, nil, "columns , whole"},
		{OpFilter, []string{"score"}, "columns score, whole"},
		{OpFilter, []string{"score", "query_text"}, "columns score, parts query_text"},
		{OpRetrieve, []string{}, "columns , whole"},
		{OpMemory, []string{"chat_history"}, "columns , parts chat_history"},
		{OpProvide, nil, "columns , whole"},
		{OpProvide, []string{}, "columns , whole"},
		{OpProvide, []string{"none"}, "columns , parts none"},
		{OpFilter, []string{"score", "none"}, "columns score, parts none"},
		{OpFilter, []string{"none", "query_text"}, "columns , parts query_text"},
		{OpEstimateTokens, []string{"data", "messages"}, "columns , parts messages,data"},
		{OpProvide, []string{"message_parts", "messages"}, "columns , parts messages,message_parts"},
		{OpDistill, []string{"message_parts"}, "columns , parts message_parts"},
		{OpCompact, []string{"metadata", "content"}, "columns , parts content,metadata"},
		{OpObserve, []string{"error"}, "columns , parts error"},
		{OpFormat, []string{"text"}, "columns text, whole"},
		{OpFormat, []string{}, "columns , whole"},
		{OpFormat, []string{"text", "query_text"}, "columns text, parts query_text"},
	} {
		cols, parts, err := ReadsOf(tc.op, tc.names)
		got := "columns " + cols.String() + ", parts " + parts.String()
		if parts.Whole() {
			got = "columns " + cols.String() + ", whole"
		}
		if err != nil || got != tc.want {
			t.Errorf("%s %q: %s, %v (want %s)", tc.op, tc.names, got, err, tc.want)
		}
	}
	for op, name := range map[Operation]string{OpFormat: "error", OpProvide: "text", OpMemory: "text", OpFilter: "messages", OpCountTokens: "text", OpInit: "data"} {
		if _, _, err := ReadsOf(op, []string{name}); !errors.Is(err, ErrUnknownName) {
			t.Errorf("%s reads %s: %v", op, name, err)
		}
	}
}

// The list of an operator narrows: an empty one allows nothing.
func TestNarrowedReads(t *testing.T) {
	for _, tc := range []struct {
		op    Operation
		names []string
		cols  ColumnSet
		parts PartSet
	}{
		{OpFilter, nil, AllColumns, PartSet{}},
		{OpFilter, []string{}, 0, PartsOf()},
		{OpFilter, []string{"score"}, ColumnSet(0).With(ColumnScore), PartSet{}},
		{OpProvide, []string{}, 0, PartsOf()},
		{OpProvide, []string{"none"}, 0, PartsOf()},
		{OpProvide, []string{"data"}, 0, PartsOf(PartData)},
		{OpFormat, []string{}, 0, PartsOf()},
		{OpCountTokens, []string{}, 0, PartSet{}},
	} {
		cols, parts, err := NarrowedReads(tc.op, tc.names)
		if cols != tc.cols || parts != tc.parts || err != nil {
			t.Errorf("%s %q: %s, %s, %v", tc.op, tc.names, cols, parts, err)
		}
	}
	if _, _, err := NarrowedReads(OpProvide, []string{"text"}); !errors.Is(err, ErrUnknownName) {
		t.Errorf("error %v", err)
	}
}

// The messages of the state are absent only where they equal the messages.
func TestAbsentStateMessagesEqualTheMessages(t *testing.T) {
	hi := []Message{{Role: "user", Content: "hi"}}
	for _, tc := range []struct {
		state, messages []Message
		want            string
	}{
		{nil, hi, `{"messages":[]}`},
		{[]Message{}, hi, `{"messages":[]}`},
		{hi, hi, `{}`},
		{nil, nil, `{}`},
		{hi, nil, `{"messages":[{"role":"user","content":"hi"}]}`},
	} {
		for _, request := range []any{
			ProvideRequest{State: AgentState{Messages: tc.state}, Messages: tc.messages},
			map[string]any{"state": map[string]any{"messages": tc.state}, "messages": tc.messages, "budget": map[string]any{}},
		} {
			sent, err := PartsOf(PartMessages, PartStateMessages).Request(OpProvide, request)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := json.Marshal(sent.(ProvideRequest).State); string(got) != tc.want || err != nil {
				t.Errorf("%v beside %v: sent %s, %v (want %s)", tc.state, tc.messages, got, err, tc.want)
			}
		}
	}
}

func TestPartSetAnd(t *testing.T) {
	a, b, whole := PartsOf(PartData, PartMessages), PartsOf(PartData, PartRunID), PartSet{}
	if a.And(b) != PartsOf(PartData) || a.And(whole) != a || whole.And(a) != a || !whole.And(whole).Whole() || PartsOf().Whole() || PartsOf().Has(PartData) {
		t.Errorf("%v", a.And(b))
	}
}

// partRequests are requests with every part, and what each part alone leaves of them.
var partRequests = []struct {
	op      Operation
	request any
	bare    string
	parts   map[Part]string // what is sent besides what is always sent
}{
	{OpClassify, QueryRequest{Query: fullQuery, Settings: json.RawMessage(`{}`)}, `{"query":{"query_str":""},"settings":{}}`, map[Part]string{
		PartQueryText:      `{"query":{"query_str":"q"},"settings":{}}`,
		PartQueryEmbedding: `{"query":{"query_str":"","embedding":[1]},"settings":{}}`,
		PartQueryMetadata:  `{"query":{"query_str":"","metadata":{"k":1}},"settings":{}}`,
		PartChatHistory:    `{"query":{"query_str":"","chat_history":[{"role":"user","content":"hi"}]},"settings":{}}`,
	}},
	{OpMemory, ItemsRequest{Query: fullQuery, TokensLeft: 3}, `{"query":{"query_str":""},"tokens_left":3}`, map[Part]string{
		PartQueryText: `{"query":{"query_str":"q"},"tokens_left":3}`,
	}},
	{OpCompact, CompactRequest{Turns: []Turn{{"user", "hi", 1, time.Unix(0, 0).UTC(), 2, Metadata{"k": 1}}}, Summary: "s"},
		`{"turns":[{"role":"","content":""}]}`, map[Part]string{
			PartRole:       `{"turns":[{"role":"user","content":""}]}`,
			PartContent:    `{"turns":[{"role":"","content":"hi"}]}`,
			PartTokenCount: `{"turns":[{"role":"","content":"","token_count":1}]}`,
			PartCreatedAt:  `{"turns":[{"role":"","content":"","created_at":"1970-01-01T00:00:00Z"}]}`,
			PartSequence:   `{"turns":[{"role":"","content":"","sequence":2}]}`,
			PartMetadata:   `{"turns":[{"role":"","content":"","metadata":{"k":1}}]}`,
			PartSummary:    `{"turns":[{"role":"","content":""}],"summary":"s"}`,
		}},
	{OpExtract, ExtractRequest{Turns: []Turn{{"user", "hi", 1, time.Unix(0, 0).UTC(), 2, Metadata{"k": 1}}}, Facts: []Fact{{ID: "f", Content: "c"}}},
		`{"turns":[{"role":"","content":""}]}`, map[Part]string{
			PartRole:       `{"turns":[{"role":"user","content":""}]}`,
			PartContent:    `{"turns":[{"role":"","content":"hi"}]}`,
			PartTokenCount: `{"turns":[{"role":"","content":"","token_count":1}]}`,
			PartCreatedAt:  `{"turns":[{"role":"","content":"","created_at":"1970-01-01T00:00:00Z"}]}`,
			PartSequence:   `{"turns":[{"role":"","content":"","sequence":2}]}`,
			PartMetadata:   `{"turns":[{"role":"","content":"","metadata":{"k":1}}]}`,
			PartFacts:      `{"turns":[{"role":"","content":""}],"facts":[{"id":"f","content":"c"}]}`,
		}},
	{OpDistill, DistillRequest{DistillObserve, []Message{{Role: "user", Content: "hi"}}, []string{"o"}, "f", 9, nil},
		`{"mode":"observe","messages":[],"max_tokens":9}`, map[Part]string{
			PartMessages:     `{"mode":"observe","messages":[{"role":"user","content":"hi"}],"max_tokens":9}`,
			PartObservations: `{"mode":"observe","messages":[],"observations":["o"],"max_tokens":9}`,
			PartReflection:   `{"mode":"observe","messages":[],"reflection":"f","max_tokens":9}`,
		}},
	{OpProvide, ProvideRequest{
		State:    AgentState{"r", []Message{{Role: "user", Content: "before"}}, []string{"o"}, "f", Metadata{"k": 1}},
		Messages: []Message{{Role: "user", Content: "hi", Name: "n", ToolCalls: json.RawMessage(`[]`), ToolCallID: "t"}},
		Budget:   ProviderBudget{MaxTokens: 1, Phase: "llm"},
	}, `{"state":{},"messages":[],"budget":{"max_tokens":1,"phase":"llm"}}`, map[Part]string{
		PartMessages:      `{"state":{},"messages":[{"role":"user","content":"hi","name":"n","tool_calls":[],"tool_call_id":"t"}],"budget":{"max_tokens":1,"phase":"llm"}}`,
		PartStateMessages: `{"state":{"messages":[{"role":"user","content":"before"}]},"messages":[],"budget":{"max_tokens":1,"phase":"llm"}}`,
		PartRunID:         `{"state":{"run_id":"r"},"messages":[],"budget":{"max_tokens":1,"phase":"llm"}}`,
		PartObservations:  `{"state":{"observations":["o"]},"messages":[],"budget":{"max_tokens":1,"phase":"llm"}}`,
		PartReflection:    `{"state":{"reflection":"f"},"messages":[],"budget":{"max_tokens":1,"phase":"llm"}}`,
		PartData:          `{"state":{"data":{"k":1}},"messages":[],"budget":{"max_tokens":1,"phase":"llm"}}`,
	}},
	{OpObserve, Event{"step_error", "s", "q", 2, 1.5, "e", nil}, `{"type":"step_error","step":"s","items":2,"time_ms":1.5}`, map[Part]string{
		PartQueryText: `{"type":"step_error","step":"s","query":"q","items":2,"time_ms":1.5}`,
		PartError:     `{"type":"step_error","step":"s","items":2,"time_ms":1.5,"error":"e"}`,
	}},
}

var fullQuery = Query{"q", []float32{1}, Metadata{"k": 1}, []Turn{{Role: "user", Content: "hi"}}}

// A request is sent with the parts that are read and no others, in whichever form the caller
// has it, and the caller's request stays as it was.
func TestPartSetRequest(t *testing.T) {
	encode := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, tc := range partRequests {
		before := encode(tc.request)
		check := func(s PartSet, want string) {
			t.Helper()
			for _, request := range []any{tc.request, json.RawMessage(before)} {
				out, err := s.Request(tc.op, request)
				if got := encode(out); err != nil || got != want {
					t.Errorf("%s %T reads %s: error %v\ngot  %s\nwant %s", tc.op, request, s, err, got, want)
				}
			}
		}
		check(PartSet{}, before)
		check(PartsOf(), tc.bare)
		for p, want := range tc.parts {
			check(PartsOf(p), want)
		}
		if after := encode(tc.request); after != before {
			t.Errorf("%s: the caller's request became %s", tc.op, after)
		}
	}
}

// conversation is a request of provide with n messages of about 400 bytes, twice.
func conversation(n int) ProvideRequest {
	msgs := make([]Message, n)
	for i := range msgs {
		msgs[i] = Message{Role: "user", Content: strings.Repeat("forty bytes of what a user has to say. \n", 10)}
	}
	return ProvideRequest{State: AgentState{RunID: "r", Messages: msgs, Data: Metadata{"account_id": "a-42"}}, Messages: slices.Clone(msgs),
		Budget: ProviderBudget{MaxTokens: 8000, Phase: "llm"}}
}

func sentBytes(tb testing.TB, reads []string) int {
	_, parts, err := ReadsOf(OpProvide, reads)
	if err != nil {
		tb.Fatal(err)
	}
	out, err := parts.Request(OpProvide, conversation(200))
	if err != nil {
		tb.Fatal(err)
	}
	doc, err := json.Marshal(out)
	if err != nil {
		tb.Fatal(err)
	}
	return len(doc)
}

// A manifest that says what it reads is sent a conversation once, or not at all.
func TestProvideSendsMessagesOnce(t *testing.T) {
	whole := sentBytes(t, nil)
	once := sentBytes(t, []string{"messages", "state_messages", "run_id", "observations", "reflection", "data"})
	if once > whole/2+100 {
		t.Errorf("%d bytes with the messages once, %d with the whole request", once, whole)
	}
	if none := sentBytes(t, []string{"data"}); none > 200 {
		t.Errorf("%d bytes without messages", none)
	}
}

func BenchmarkProvideRequest(b *testing.B) {
	for _, reads := range [][]string{nil, {"messages", "data"}, {"data"}} {
		b.Run(fmt.Sprintf("reads=%v", reads), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(sentBytes(b, reads)), "B-sent/op")
			}
		})
	}
}

// A value that is not the document of an operation is taken as its JSON.
func TestRequestOfAnyType(t *testing.T) {
	for _, op := range Operations {
		given := map[string]any{}
		got, err := PartsOf().Request(op.Op, given)
		want := any(given)
		if len(op.Parts) > 0 {
			want = reflect.ValueOf(NewDocument(op.Request)).Elem().Interface()
		}
		if err != nil || reflect.TypeOf(got) != reflect.TypeOf(want) {
			t.Errorf("%s: got %T, %v, want %T", op.Op, got, err, want)
		}
		if len(op.Parts) > 0 {
			if got, err := PartsOf().Request(op.Op, []int{1}); err == nil {
				t.Errorf("%s: a list was taken as %T", op.Op, got)
			}
		}
	}
}
