package agent

import (
	"context"

	"github.com/anchor-host/anchor-host/pipeline"
)

// Distiller turns what an agent has done into notes: messages into observations, and
// observations into a reflection. Implementations are safe for concurrent use, keep no
// reference to what they are given, and do not change it.
type Distiller interface {
	// Observe returns observations of messages that then leave the list of the agent. nil
	// without an error is no change: the messages stay in the list.
	Observe(ctx context.Context, r Observing) (*Observed, error)
	// Reflect returns the text that stands for observations and for the reflection so far.
	// An empty text without an error is no change.
	Reflect(ctx context.Context, r Reflecting) (string, error)
}

// Observing is what a [Distiller] makes observations of.
type Observing struct {
	// Messages are the messages to observe, oldest first.
	Messages []pipeline.Message
	// Observations and Reflection are those so far.
	Observations []string
	Reflection   string
	// MaxTokens is how many tokens the new observations may have.
	MaxTokens int
}

// Observed is the answer to [Observing].
type Observed struct {
	// Replace are observations in the place of those so far. If it is nil, those stay.
	Replace []string
	// Add are observations that follow them.
	Add []string
}

// Reflecting is what a [Distiller] makes a reflection of.
type Reflecting struct {
	// Observations are those that the reflection is to stand for, oldest first.
	Observations []string
	// Reflection is the one so far, empty at first. The new one replaces it.
	Reflection string
	// MaxTokens is how many tokens the new reflection may have.
	MaxTokens int
}
