package agent

import (
	"context"

	"github.com/anchor-host/anchor-host/pipeline"
)

// Distiller turns what an agent has done into notes: messages into observations, and
// observations into a reflection. Implementations are safe for concurrent use, keep no
// reference to what they are given, and do not change it.
type Distiller interface {
	// Observe returns observations of messages, which the caller then removes from the list
	// of the agent. nil without an error means no change: the messages stay in the list.
	Observe(ctx context.Context, r Observing) (*Observed, error)
	// Reflect returns the text that replaces observations and the reflection so far. An
	// empty text without an error means no change.
	Reflect(ctx context.Context, r Reflecting) (string, error)
}

// Observing is the input from which a [Distiller] makes observations.
type Observing struct {
	// Messages are the messages to observe, oldest first.
	Messages []pipeline.Message
	// Observations and Reflection are the current ones of the agent.
	Observations []string
	Reflection   string
	// MaxTokens is the largest number of tokens of the new observations.
	MaxTokens int
}

// Observed is the answer to [Observing].
type Observed struct {
	// Replace are observations that replace the current ones. If it is nil, the current
	// ones stay.
	Replace []string
	// Add are observations to append.
	Add []string
}

// Reflecting is the input from which a [Distiller] makes a reflection.
type Reflecting struct {
	// Observations are the ones that the reflection will replace, oldest first.
	Observations []string
	// Reflection is the current one, empty at first. The new one replaces it.
	Reflection string
	// MaxTokens is the largest number of tokens of the new reflection.
	MaxTokens int
}
