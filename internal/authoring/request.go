package authoring

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// Request returns a request for measuring an operation: items of a hundred words with all
// properties that an item can have, or that many turns, messages or texts. Equal arguments
// give equal requests. The result is an *abi.ItemsRequest for operations that take one, the
// operation's own document for others, and nil for init, which cannot be called.
func Request(op abi.Operation, items int) any {
	w := newWriter()
	query := abi.Query{Text: "how does a context end when its deadline passes", Metadata: abi.Metadata{"tenant": "example"}, Embedding: w.vector()}
	info, _ := abi.LookupOperation(op)
	switch info.Request {
	case "ItemsRequest":
		r := &abi.ItemsRequest{Query: query, TopK: max(1, items), TokensLeft: tokensLeft}
		if len(info.Reads) > 0 {
			r.Items = w.items(items)
		}
		return r
	case "QueryRequest":
		return &abi.QueryRequest{Query: query}
	case "CompactRequest":
		return &abi.CompactRequest{Turns: w.turns(items), Summary: w.text(40)}
	case "DistillRequest":
		return &abi.DistillRequest{
			Mode: abi.DistillObserve, Messages: w.messages(items), Observations: []string{w.text(20)}, Reflection: w.text(20), MaxTokens: tokensLeft,
		}
	case "ExtractRequest":
		facts := []abi.Fact{{ID: "fact-1", Content: w.text(12), Type: "semantic", Relevance: 0.5}}
		return &abi.ExtractRequest{Turns: w.turns(items), Facts: facts}
	case "ProvideRequest":
		return &abi.ProvideRequest{
			State: abi.AgentState{RunID: "run-1", Observations: []string{w.text(20)}}, Messages: w.messages(items),
			Budget: abi.ProviderBudget{MaxTokens: tokensLeft, Phase: "llm"},
		}
	case "FormatRequest":
		return &abi.FormatRequest{Items: w.items(items), MaxTokens: tokensLeft, UsedTokens: tokensLeft / 2}
	case "CountRequest":
		texts := make([]string, items)
		for i := range texts {
			texts[i] = w.text(wordsPerText)
		}
		return &abi.CountRequest{Texts: texts}
	case "Event":
		return &abi.Event{Type: "step_end", Step: "docs", Query: query.Text, Items: items, TimeMS: 1.5}
	}
	return nil
}

// ReadRequest reads a request of an operation from the document of its JSON lane.
func ReadRequest(op abi.Operation, document []byte) (any, error) {
	request := Request(op, 0)
	if r, ok := request.(*abi.ItemsRequest); ok {
		read, err := abi.DecodeItemsRequest(document)
		if err != nil {
			return nil, fmt.Errorf("request of %s: %w", op, err)
		}
		*r = *read
		return r, nil
	}
	if request == nil {
		return nil, fmt.Errorf("request of %s: %w (there is none)", op, host.ErrNoOperation)
	}
	empty := reflect.New(reflect.TypeOf(request).Elem()).Interface()
	if err := json.Unmarshal(document, empty); err != nil {
		return nil, fmt.Errorf("request of %s: %w", op, err)
	}
	return empty, nil
}

// RequestSettings returns a pointer to the settings in a request. request is a result of
// [Request] or [ReadRequest].
func RequestSettings(request any) *json.RawMessage {
	switch r := request.(type) {
	case *abi.ItemsRequest:
		return &r.Settings
	case *abi.QueryRequest:
		return &r.Settings
	case *abi.CompactRequest:
		return &r.Settings
	case *abi.DistillRequest:
		return &r.Settings
	case *abi.ExtractRequest:
		return &r.Settings
	case *abi.ProvideRequest:
		return &r.Settings
	case *abi.FormatRequest:
		return &r.Settings
	case *abi.CountRequest:
		return &r.Settings
	case *abi.Event:
		return &r.Settings
	}
	return new(json.RawMessage)
}

// RequestItems returns the number of items, turns, messages, observations or texts of a request. For
// retrieve and memory it is the number of requested items.
func RequestItems(request any) int {
	switch r := request.(type) {
	case *abi.ItemsRequest:
		if r.Items == nil {
			return r.TopK
		}
		return len(r.Items)
	case *abi.CompactRequest:
		return len(r.Turns)
	case *abi.DistillRequest:
		if r.Mode == abi.DistillReflect {
			return len(r.Observations)
		}
		return len(r.Messages)
	case *abi.ExtractRequest:
		return len(r.Turns)
	case *abi.ProvideRequest:
		return len(r.Messages)
	case *abi.FormatRequest:
		return len(r.Items)
	case *abi.CountRequest:
		return len(r.Texts)
	case *abi.QueryRequest, *abi.Event:
		return 1
	}
	return 0
}

const (
	wordsPerText = 100
	tokensLeft   = 100_000
)

// vocabulary has short and long words, a number, code, and words in other scripts.
var vocabulary = strings.Fields(`the a of to and in is that for with on as context deadline cancel request server handler
	goroutine channel timeout error value function package method returns when after before retrieval window token budget
	plugin memory 42 ctx.Done() größer naïve 文脈 контекст`)

// start is the time of the first item.
var start = time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)

// writer makes random texts that are the same in each run.
type writer struct{ r, vectors *rand.Rand }

func newWriter() *writer {
	return &writer{rand.New(rand.NewPCG(1, 2)), rand.New(rand.NewPCG(3, 4))}
}

// dimension is that of the vectors: few enough for a small model, and enough to cost something.
const dimension = 256

func (w *writer) vector() []float32 {
	v := make([]float32, dimension)
	for i := range v {
		v[i] = float32(w.vectors.NormFloat64())
	}
	return v
}

func (w *writer) text(words int) string {
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(vocabulary[w.r.IntN(len(vocabulary))])
	}
	return b.String()
}

func (w *writer) items(n int) []abi.Item {
	items := make([]abi.Item, n)
	for i := range items {
		text := w.text(wordsPerText)
		items[i] = abi.Item{
			ID: fmt.Sprintf("docs:%d", i), Content: text, Source: "retrieval", Score: w.r.Float64(), Priority: 5,
			TokenCount: len(text) / 4, CreatedAt: start.Add(time.Duration(i) * time.Hour),
			Metadata:  abi.Metadata{"path": fmt.Sprintf("docs/%d.md", i), "line": int64(i), "public": i%2 == 0},
			Embedding: w.vector(),
		}
	}
	return items
}

// roles are the roles of alternating turns.
var roles = []string{"user", "assistant"}

func (w *writer) turns(n int) []abi.Turn {
	turns := make([]abi.Turn, n)
	for i := range turns {
		turns[i] = abi.Turn{Role: roles[i%2], Content: w.text(wordsPerText), Sequence: int64(i + 1), CreatedAt: start.Add(time.Duration(i) * time.Minute)}
	}
	return turns
}

func (w *writer) messages(n int) []abi.Message {
	messages := make([]abi.Message, n)
	for i := range messages {
		messages[i] = abi.Message{Role: roles[i%2], Content: w.text(wordsPerText)}
	}
	return messages
}
