// Package service says what an embedder of a host gives to serve the guests that ask for vectors,
// searches and the answers of models. The host checks every request against the grants of the
// plugin before it passes it on, and every answer before the guest gets it.
package service

import (
	"context"
	"encoding/json"

	"github.com/anchor-host/anchor-host/abi/services"
)

// Embedder makes vectors of texts. It must be safe for concurrent use.
type Embedder interface {
	// Embed returns one vector for each text, in the order of the texts. embedder is a name
	// of the grant, and there is at least one text. The error is an [*Error], or any other for
	// the word unavailable.
	Embed(ctx context.Context, embedder string, side services.Side, texts []string) (Vectors, error)
}

// Dimensioned is an [Embedder] that knows how long its vectors are. The host then refuses a request
// whose vectors would need more memory than the plugin may have, before they are made.
type Dimensioned interface {
	Embedder
	// Dimension is the length of each vector of an embedder. Errors are as those of [Embedder].
	Dimension(ctx context.Context, embedder string) (int, error)
}

// Vectors are the vectors of texts.
type Vectors struct {
	// Model names the model. Vectors of different models cannot be compared.
	Model string
	// Dimension is the length of each vector, 1 to [abi.MaxDimension].
	Dimension int
	// Values has the vectors one after another. All numbers are finite.
	Values []float32
}

// Searcher searches collections. It must be safe for concurrent use.
type Searcher interface {
	// Search returns at most K hits, the best first. Errors are as those of [Embedder].
	Search(ctx context.Context, q Search) ([]services.SearchHit, error)
}

// Search is a search in a collection of a tenant.
type Search struct {
	// Plugin is the name of the configured plugin that asks. Tenant is whom it was called for; see
	// host.WithTenant.
	Plugin, Tenant string
	// SearchRequest is what the guest asks for. Collection is one of the grant, K is 1 to
	// [services.MaxHits], and the handle Vector has no meaning.
	services.SearchRequest
	// Vector is the vector of the question, nil for none.
	Vector []float32
}

// Models asks models. It must be safe for concurrent use.
type Models interface {
	// Ask returns the answer to one request. Errors are as those of [Embedder]. Requests of
	// one call of a guest arrive at the same time.
	Ask(ctx context.Context, q Question) (Reply, error)
}

// Question is one request to a model.
type Question struct {
	// Plugin is the name of the configured plugin that asks, Tenant whom it was called for.
	Plugin, Tenant string
	// LLMRequest is what the guest asks for. Model is one of the grant.
	services.LLMRequest
	// Check holds an answer against Schema. It is nil if there is no schema. It takes a bounded
	// time. The host calls it too.
	Check func(answer json.RawMessage) error
}

// Reply is the answer of a model.
type Reply struct {
	// Text is the answer; with a schema it is JSON.
	Text string
	// InputTokens and OutputTokens are what the model counted.
	InputTokens, OutputTokens int
	// CachedTokens are those of InputTokens that the model's server had in a cache of prompts.
	CachedTokens int
	Finish       services.LLMFinish
	// Cached says that the answer was known, so that no model was asked. It costs nothing of
	// a budget.
	Cached bool
}

// Error is why a service has no answer. A guest sees Word and Message, the log has Err.
type Error struct {
	Word services.Word
	// Message is for the author of a guest. It must have no secrets and no addresses of servers.
	// Empty: the host says what Word means.
	Message string
	// Err is the cause, for the operator. It must have no secrets.
	Err error
}

// Error returns the text of the cause.
func (e *Error) Error() string {
	switch {
	case e.Err != nil:
		return e.Err.Error()
	case e.Message != "":
		return e.Message
	}
	return string(e.Word)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
