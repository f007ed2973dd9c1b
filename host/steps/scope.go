package steps

import (
	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
)

// scope is a set of sources, a bit for each.
type scope uint8

func (s scope) with(src pipeline.Source) scope { return s | bitOf(src) }

// has reports whether the scope contains a source. It runs once per item.
func (s scope) has(src pipeline.Source) bool { return s&bitOf(src) != 0 }

// bitOf returns the bit of a source, 0 for any other text. The compiler compares constant
// texts without a call.
func bitOf(src pipeline.Source) scope {
	switch src {
	case pipeline.SourceRetrieval:
		return 1 << 0
	case pipeline.SourceMemory:
		return 1 << 1
	case pipeline.SourceSystem:
		return 1 << 2
	case pipeline.SourceUser:
		return 1 << 3
	case pipeline.SourceTool:
		return 1 << 4
	case pipeline.SourceConversation:
		return 1 << 5
	}
	return 0
}

// defaultScope returns the sources that an operation sees by default. Filters and rerankers
// see the items that belong to this query, and the other operations all items. No operation
// sees system prompts.
func defaultScope(op abi.Operation) scope {
	var s scope
	sources := pipeline.Sources
	if op == abi.OpFilter || op == abi.OpRerank {
		sources = pipeline.ContextSources
	}
	for _, src := range sources {
		if src != pipeline.SourceSystem {
			s = s.with(src)
		}
	}
	return s
}
