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

// request is the question as the contract has it. It states no temperature: some models refuse any,
// so the operator decides.
func (q *Question) request() services.LLMRequest {
	r := services.LLMRequest{
		Model: q.Model, MaxTokens: q.MaxTokens,
		Messages: []services.LLMMessage{{Role: services.LLMSystem, Content: q.Task}, {Role: services.LLMUser, Content: q.Text}},
	}
	if q.Schema != "" {
		r.Schema = json.RawMessage(q.Schema)
	}
	return r
}

// Into asks one question, and decodes the answer.
func Into[T any](q Question, answer *T) error {
	answers, err := All[T]([]Question{q})
	if err == nil {
		*answer = answers[0]
	}
	return err
}

// maxBytes is the size of the questions that are asked together. The document in which they go to the
// host has at most services.MaxDocument bytes, and JSON makes texts longer.
const maxBytes = services.MaxDocument / 2

// All asks any number of questions, many at the same time, and decodes each answer. The error is that
// of the first question without an answer.
func All[T any](questions []Question) ([]T, error) {
	var answers []T
	for len(questions) > 0 {
		n, size := 0, 0
		for n < min(len(questions), services.MaxLLMRequests) {
			q := &questions[n]
			if size += len(q.Task) + len(q.Text) + len(q.Schema); n > 0 && size > maxBytes {
				break
			}
			n++
		}
		requests := make([]services.LLMRequest, n)
		for i := range requests {
			requests[i] = questions[i].request()
		}
		got, err := pdk.LLM(requests...)
		if err != nil {
			return nil, err
		}
		for i := range got {
			var answer T
			if got[i].Err != nil {
				return nil, got[i].Err
			}
			if err := json.Unmarshal(got[i].JSON, &answer); err != nil {
				return nil, pdk.Errorf("llm: the answer is not what the schema asks for: %w", err)
			}
			answers = append(answers, answer)
		}
		questions = questions[n:]
	}
	return answers, nil
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
