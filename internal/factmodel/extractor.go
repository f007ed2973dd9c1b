package factmodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/internal/ledger"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/llm"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Bounds of what a model is sent, in bytes. The rest of a longer turn is left out.
const (
	maxTurn  = 8 << 10
	maxTurns = 128 << 10
)

// Extractor is a [memory.Extractor] that asks models. It is safe for concurrent use.
type Extractor struct {
	// Extracts takes facts from turns, and Consolidates merges and removes facts. Either may be
	// nil: then its work is an error.
	Extracts, Consolidates *Model
	// Tenant is for whom answers are kept, where models keep answers.
	Tenant string
}

// Model is a model with its name in the configuration.
type Model struct {
	Name  string
	Model *llm.Model
}

var errNoModel = errors.New("no model is configured for it (name one as model in memory.facts.extract or memory.facts.consolidate)")

// Extract implements [memory.Extractor]. An answer that is not what was asked for is an error, and
// nothing of it is used. If the model cannot work for now, or its budget is spent, the error wraps
// [retrieve.ErrUnavailable].
func (x *Extractor) Extract(ctx context.Context, turns []pipeline.Turn, known []memory.Entry) (memory.Extraction, error) {
	m, system, schema, add := x.Extracts, extractText, extractSchema, maxAdded
	if len(turns) == 0 {
		m, system, schema, add = x.Consolidates, consolidateText, consolidateSchema, 0
	}
	if m == nil {
		return memory.Extraction{}, errNoModel
	}
	question, err := json.Marshal(document(turns, known))
	if err != nil {
		return memory.Extraction{}, err
	}
	a := answer{known: known, maxAdded: add}
	reply, err := m.Model.Ask(ctx, llm.Request{
		Messages: []llm.Message{{Role: llm.RoleSystem, Content: system}, {Role: llm.RoleUser, Content: string(question)}},
		Schema:   schema, Check: func(data json.RawMessage) error { return a.read(data) }, Scope: x.Tenant,
	})
	m.note(ctx, &reply, err)
	if err != nil {
		return memory.Extraction{}, unavailable(err)
	}
	if reply.Cached { // a kept answer is not checked again
		if err := a.read(json.RawMessage(reply.Text)); err != nil {
			return memory.Extraction{}, err
		}
	}
	return a.extraction, nil
}

// note adds a request to the accounts of the build or promotion.
func (m *Model) note(ctx context.Context, a *llm.Answer, err error) {
	_, l := ledger.Under(ctx)
	used := ledger.Amount{Calls: 1, InputTokens: int64(a.InputTokens), OutputTokens: int64(a.OutputTokens)}
	switch {
	case err != nil:
		used.Failed = 1
	case a.Cached:
		used = ledger.Amount{Calls: 1, Cached: 1}
	}
	l.Note(ledger.Use{Service: "llm", Name: m.Name}, used)
}

// unavailable marks the errors of models that fewer turns would not help.
func unavailable(err error) error {
	if failed, ok := errors.AsType[*llm.Error](err); ok && (failed.Kind == llm.Unavailable || failed.Kind == llm.Timeout || failed.Kind == llm.Budget) {
		return fmt.Errorf("%w: %w", err, retrieve.ErrUnavailable)
	}
	return err
}

// question is what a model is asked about.
type question struct {
	Turns []askedTurn `json:"turns,omitempty"`
	Facts []askedFact `json:"facts"`
}

type askedTurn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// askedFact is a known fact. Its ID is its number: a model copies numbers without mistakes.
type askedFact struct {
	ID      string   `json:"id"`
	Content string   `json:"content"`
	Tags    []string `json:"tags,omitempty"`
}

func document(turns []pipeline.Turn, known []memory.Entry) question {
	q := question{Facts: make([]askedFact, len(known))}
	for i := range known {
		q.Facts[i] = askedFact{strconv.Itoa(i + 1), known[i].Content, known[i].Tags}
	}
	each := maxTurn
	if len(turns) > 0 {
		each = min(each, maxTurns/len(turns))
	}
	for i := range turns {
		text := turns[i].Content
		if len(text) > each {
			text = strings.ToValidUTF8(text[:each], "") + " …"
		}
		q.Turns = append(q.Turns, askedTurn{string(turns[i].Role), text})
	}
	return q
}
