// Package ask puts one question to a model through the host. The plugins that ask models share it.
package ask

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
)

// Question is a question to a model.
type Question struct {
	// Model is the name that the operator gave to the model. Empty: the first of the grant.
	Model string
	// Task says what to do, and Text is what to do it with, such as the query of a user.
	Task, Text string
	// Schema is the JSON Schema of the answer, as text. Empty: the answer is text.
	Schema string
	// MaxTokens bounds the answer.
	MaxTokens int
}

// request is the question as the contract has it. Temperature 0 makes answers repeat, and lets the
// host keep them.
func (q *Question) request() services.LLMRequest {
	var zero float64
	r := services.LLMRequest{
		Model: q.Model, MaxTokens: q.MaxTokens, Temperature: &zero,
		Messages: []services.LLMMessage{{Role: services.LLMSystem, Content: q.Task}, {Role: services.LLMUser, Content: q.Text}},
	}
	if q.Schema != "" {
		r.Schema = json.RawMessage(q.Schema)
	}
	return r
}

// Into asks, and decodes the answer into what answer points to. An answer that was cut is none.
func Into(q Question, answer any) error {
	got, err := pdk.LLM(q.request())
	if err == nil {
		err = got[0].Err
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(got[0].JSON, answer); err != nil {
		return pdk.Errorf("llm: the answer is not what the schema asks for: %w", err)
	}
	return nil
}

// Texts asks several questions at the same time. An answer that is missing is empty; the error is
// that of the first question if all are missing.
func Texts(questions ...Question) ([]string, error) {
	requests := make([]services.LLMRequest, len(questions))
	for i := range questions {
		requests[i] = questions[i].request()
	}
	got, err := pdk.LLM(requests...)
	if err != nil {
		return nil, err
	}
	texts, answered := make([]string, len(got)), false
	for i := range got {
		if got[i].Err == nil {
			texts[i], answered = strings.TrimSpace(got[i].Text), true
		}
	}
	if !answered && len(got) > 0 {
		return nil, got[0].Err
	}
	return texts, nil
}

// Cut returns the beginning of a text, at most n bytes, without half a character.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
