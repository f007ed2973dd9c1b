//go:build !wasip1

package pdktest

import (
	"errors"
	"testing"

	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/imports"
)

// Services are the services of the host for a plugin under test. The zero value has an empty
// store, answers no HTTP request and counts words as tokens.
type Services struct {
	// Config holds the values that pdk.Config returns.
	Config map[string]string
	// HTTP answers pdk.HTTP, and each request of pdk.HTTPBatch, one after another. Status 0
	// stands for no answer; Error then says why. nil means that no server answers.
	HTTP func(pdk.HTTPRequest) pdk.HTTPResponse
	// CountTokens answers pdk.CountTokens. nil counts words.
	CountTokens func(text string) int
	// Embed answers pdk.Embed: one vector for each text, all of one length, or a
	// [*pdk.ServiceError]. Search answers pdk.Search. LLM answers each request of pdk.LLM, one
	// after another; set Err for none. A service that is nil is unavailable.
	Embed  func(side pdk.Side, texts []string) ([][]float32, error)
	Search func(pdk.SearchQuery) ([]pdk.SearchHit, error)
	LLM    func(pdk.LLMRequest) pdk.LLMAnswer
	// KVFull makes pdk.KVSet fail with pdk.ErrQuota.
	KVFull bool

	stub *imports.Stub
}

// Log is one message that the plugin logged.
type Log struct {
	Level pdk.Level
	Text  string
}

// Use offers s to the plugin until the test ends, and returns it.
func Use(tb testing.TB, s Services) *Services {
	tb.Helper()
	s.stub = &imports.Stub{Config: s.Config}
	if s.KVFull {
		s.stub.KVStatus = 1
	}
	if s.HTTP != nil {
		s.stub.HTTP = func(r imports.HTTPRequest) imports.HTTPResponse {
			return imports.HTTPResponse(s.HTTP(pdk.HTTPRequest(r)))
		}
	}
	if s.CountTokens != nil {
		s.stub.CountTokens = func(text string) int64 { return int64(s.CountTokens(text)) }
	}
	s.offer()
	previous := imports.Host
	imports.Host = s.stub
	tb.Cleanup(func() { imports.Host = previous })
	return &s
}

// Logs returns the messages that the plugin has logged.
func (s *Services) Logs() []Log {
	logs := make([]Log, len(s.stub.Logs))
	for i, l := range s.stub.Logs {
		logs[i] = Log{Level: pdk.Level(l.Level), Text: l.Text}
	}
	return logs
}

// offer offers the services embed, search and llm.
func (s *Services) offer() {
	if s.Embed != nil {
		s.stub.Embed = s.embed
	}
	if s.Search != nil {
		s.stub.Search = func(q services.SearchRequest, vector []float32) services.SearchAnswer {
			hits, err := s.Search(pdk.SearchQuery{Collection: q.Collection, Text: q.Text, Vector: vector, By: q.By, K: q.K, Filter: q.Filter})
			return services.SearchAnswer{Hits: hits, Failure: failureOf(err)}
		}
	}
	if s.LLM != nil {
		s.stub.LLM = func(r pdk.LLMRequest) services.LLMAnswer {
			a := s.LLM(r)
			return services.LLMAnswer{
				Text: a.Text, JSON: a.JSON, Model: a.Model, InputTokens: a.InputTokens, OutputTokens: a.OutputTokens,
				Finish: a.Finish, Failure: failureOf(a.Err),
			}
		}
	}
}

// embed answers as a host does, with the vectors in one list.
func (s *Services) embed(q services.EmbedRequest) (services.EmbedAnswer, []float32) {
	vectors, err := s.Embed(q.Side, q.Texts)
	if err != nil {
		return services.EmbedAnswer{Failure: failureOf(err)}, nil
	}
	var values []float32
	for _, v := range vectors {
		values = append(values, v...)
	}
	a := services.EmbedAnswer{Model: "test"}
	if len(vectors) > 0 {
		a.Dimension = len(vectors[0])
	}
	return a, values
}

// failureOf is what a host tells a guest of an error.
func failureOf(err error) services.Failure {
	var known *pdk.ServiceError
	switch {
	case err == nil:
		return services.Failure{}
	case errors.As(err, &known):
		return services.Failure{Error: known.Word, Message: known.Message}
	}
	return services.Failure{Error: services.Unavailable, Message: err.Error()}
}
