package steps

import (
	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/pipeline"
)

// scope is a set of sources, a bit for each.
type scope uint8

func (s scope) with(src pipeline.Source) scope { return s | bitOf(src) }

// has is asked once per item.
func (s scope) has(src pipeline.Source) bool { return s&bitOf(src) != 0 }

// bitOf is the bit of a source, 0 for what is none. Texts that are constant are compared
// without a call.
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

// defaultScope is what an operation sees: filters and rerankers what was found
// and said for this query, the others everything; none the system prompts.
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
