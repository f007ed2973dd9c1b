package assemble

import (
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

// The defaults of the scorers of the seed.
const (
	defaultRecencyLowest = 0.5
	defaultRecencyRate   = 2
)

// eviction returns the policy that a conversation names. nil evicts the oldest turns first.
func eviction(c *config.Conversation) memory.EvictionPolicy {
	switch c.Eviction {
	case "paired":
		return memory.EvictPairs
	case "exchange":
		return memory.EvictExchanges
	}
	if c.Eviction == "importance" {
		return memory.EvictLeastImportant(importance)
	}
	return nil
}

// importantWindows says how many turns of a stored conversation are searched for important ones
// when it is first loaded: as many as have this many times the tokens of the window.
const importantWindows = 8

// defaultImportance is the importance of a turn that states none.
const defaultImportance = 0.5

// importance returns the importance that the metadata of a turn states.
func importance(t *pipeline.Turn) float64 {
	switch v := t.Metadata["importance"].(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	}
	return defaultImportance
}

// recency returns the scorer that a conversation names. nil is the default of the pipeline.
func recency(c *config.Conversation) memory.RecencyScorer {
	switch c.Recency {
	case "linear":
		return memory.LinearRecency(or(c.RecencyLowest, defaultRecencyLowest))
	case "exponential":
		return memory.ExponentialRecency(or(c.RecencyRate, defaultRecencyRate))
	}
	return nil
}

// or returns the value that p points to, or fallback if p is nil.
func or(p *float64, fallback float64) float64 {
	if p == nil {
		return fallback
	}
	return *p
}
