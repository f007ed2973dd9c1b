package pdk

import (
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/abi/services"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/imports"
)

// The documents of the services, and their words.
type (
	// Side says whether a text is a question or a passage.
	Side = services.Side
	// SearchBy says how a search finds chunks.
	SearchBy = services.SearchBy
	// Condition is a part of the filter of a search.
	Condition = services.Condition
	// SearchHit is a chunk of a document that was found.
	SearchHit = services.SearchHit
	// LLMRequest is one request to a model.
	LLMRequest = services.LLMRequest
	// LLMMessage is a message to a model.
	LLMMessage = services.LLMMessage
	// LLMRole is who speaks in a message.
	LLMRole = services.LLMRole
	// LLMFinish says why an answer ended.
	LLMFinish = services.LLMFinish
	// ServiceWord says in one word why a service has no answer.
	ServiceWord = services.Word
)

// The sides of texts.
const (
	SideQuery    = services.SideQuery
	SideDocument = services.SideDocument
)

// The ways to search.
const (
	SearchByWords   = services.SearchByWords
	SearchByVectors = services.SearchByVectors
	SearchByHybrid  = services.SearchByHybrid
)

// The roles of messages, and why an answer ended: it is whole, or cut.
const (
	LLMSystem    = services.LLMSystem
	LLMUser      = services.LLMUser
	LLMAssistant = services.LLMAssistant
	LLMStop      = services.LLMStop
	LLMLength    = services.LLMLength
)

// The words of services. A plugin treats an unknown one as ServiceUnavailable.
const (
	ServiceTimeout     = services.Timeout
	ServiceUnavailable = services.Unavailable
	ServiceRefused     = services.Refused
	ServiceInvalid     = services.Invalid
	ServiceBudget      = services.Budget
	ServiceNotFound    = services.NotFound
)

const (
	// MaxEmbedTexts is the number of texts that [Embed] takes at most.
	MaxEmbedTexts = services.MaxEmbedTexts
	// MaxLLMRequests is the number of requests that [LLM] takes at most.
	MaxLLMRequests = services.MaxLLMRequests
)

// ServiceError says why one of the services [Embed], [Search] and [LLM] has no answer. The plugin
// can go on without it. What is malformed or not granted ends the call instead.
type ServiceError struct {
	// Service is embed, search or llm.
	Service string
	// Word is one of the words of services. Treat any other as [ServiceUnavailable].
	Word ServiceWord
	// Message is for people.
	Message string
}

// Error names the service, the word and the message.
func (e *ServiceError) Error() string { return fmt.Sprintf("%s: %s: %s", e.Service, e.Word, e.Message) }

// failure is the error of an answer, nil if there is one.
func failure(service string, f services.Failure) error {
	if f.Error == "" {
		return nil
	}
	return &ServiceError{Service: service, Word: f.Error, Message: f.Message}
}

// Embeddings are the vectors of texts.
type Embeddings struct {
	// Model names the model. Vectors of different models cannot be compared.
	Model string
	// Dimension is the length of each vector.
	Dimension int
	// Vectors are in the order of the texts.
	Vectors [][]float32
}

// Embed makes a vector of each text with the embedder that the operator grants. It needs the
// permission service: embed. side says whether the texts are questions or passages, which some
// models embed differently. There may be at most [MaxEmbedTexts]. The error is a
// [*ServiceError].
func Embed(side Side, texts []string) (*Embeddings, error) {
	if len(texts) > MaxEmbedTexts {
		return nil, Errorf("embed: %d texts at once (send at most %d)", len(texts), MaxEmbedTexts)
	}
	if texts == nil {
		texts = []string{} // null is no list
	}
	a, values, err := imports.Embed(services.EmbedRequest{Side: side, Texts: texts})
	if err == nil {
		err = failure("embed", a.Failure)
	}
	if err != nil {
		return nil, err
	}
	if len(values) != len(texts)*a.Dimension {
		return nil, Errorf("embed: the host answered %d numbers for %d texts", len(values), len(texts))
	}
	out := &Embeddings{Model: a.Model, Dimension: a.Dimension, Vectors: make([][]float32, len(texts))}
	for i := range out.Vectors {
		out.Vectors[i] = values[i*a.Dimension : (i+1)*a.Dimension : (i+1)*a.Dimension]
	}
	return out, nil
}

// SearchQuery is what to search for. It has a Text, a Vector or both.
type SearchQuery struct {
	// Collection is the first of the grant if it is empty.
	Collection string
	Text       string
	// Vector is that of the question. nil: the host embeds Text where it needs a vector.
	Vector []float32
	// By is [SearchByWords], [SearchByVectors] or [SearchByHybrid]. Empty: the query
	// and the collection decide.
	By SearchBy
	// K is the maximum number of hits. 0: 10.
	K int
	// Filter has conditions that all hold for each hit.
	Filter []Condition
}

// Search searches a collection that the operator grants, and returns the best hit first. It needs
// the permission service: search. The error is a [*ServiceError].
func Search(q SearchQuery) ([]SearchHit, error) {
	a, err := imports.Search(services.SearchRequest{Collection: q.Collection, Text: q.Text, By: q.By, K: q.K, Filter: q.Filter}, q.Vector)
	if err == nil {
		err = failure("search", a.Failure)
	}
	return a.Hits, err
}

// LLMAnswer is the answer of a model, or Err.
type LLMAnswer struct {
	Text string
	// JSON is Text as JSON, which fits the schema of the request. nil without a schema.
	JSON json.RawMessage
	// Model is the name of the model that answered.
	Model                     string
	InputTokens, OutputTokens int
	// Finish is [LLMLength] if the answer is cut at its maximum of tokens.
	Finish LLMFinish
	// Err is a [*ServiceError] if there is no answer.
	Err error
}

// LLM sends requests to models at the same time, and returns their answers in the same order when
// all have ended. It needs the permission service: llm. There may be at most
// [MaxLLMRequests]. The error says that there are no answers at all; why one is missing is
// its Err.
//
//	answers, err := pdk.LLM(pdk.LLMRequest{Messages: []pdk.LLMMessage{{Role: pdk.LLMUser, Content: "Say hello."}}})
func LLM(requests ...LLMRequest) ([]LLMAnswer, error) {
	if len(requests) > MaxLLMRequests {
		return nil, Errorf("llm: %d requests at once (send at most %d)", len(requests), MaxLLMRequests)
	}
	got, err := imports.LLM(services.LLMRequests{Requests: requests})
	if err != nil || len(got.Responses) != len(requests) {
		return nil, Errorf("llm: the host answered %d of %d requests: %v", len(got.Responses), len(requests), err)
	}
	out := make([]LLMAnswer, len(got.Responses))
	for i, a := range got.Responses {
		out[i] = LLMAnswer{
			Text: a.Text, JSON: a.JSON, Model: a.Model, InputTokens: a.InputTokens, OutputTokens: a.OutputTokens,
			Finish: a.Finish, Err: failure("llm", a.Failure),
		}
	}
	return out, nil
}
