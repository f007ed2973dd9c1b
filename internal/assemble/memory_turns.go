package assemble

import (
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/conversation"
)

// eviction returns the policy that a conversation names. nil evicts the oldest turns first.
func eviction(c *config.Conversation) conversation.EvictionPolicy {
	switch c.Eviction {
	case "paired":
		return conversation.EvictPairs
	case "exchange":
		return conversation.EvictExchanges
	case "importance":
		return conversation.EvictLeastImportant(importance)
	}
	return nil
}

// importantWindows says how many turns of a stored conversation are searched for important ones
// when it is first loaded: as many as have this many times the tokens of the window.
const importantWindows = 8

// defaultImportance is the importance of a turn that states none.
const defaultImportance = 0.5

// importance is what the metadata of a turn say, the default if that is no number from 0
// to 1.
func importance(t *pipeline.Turn) float64 {
	v := defaultImportance
	switch stated := t.Metadata["importance"].(type) {
	case float64:
		v = stated
	case int64:
		v = float64(stated)
	case int:
		v = float64(stated)
	}
	if v >= 0 && v <= 1 { // not a number is neither
		return v
	}
	return defaultImportance
}
