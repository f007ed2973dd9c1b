package assemble

import (
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

// graphMemory returns a provider of the facts that the graph of the store leads to. It returns
// nil if the configuration has no graph.
func graphMemory(b *Build, m *memory.Manager) pipeline.MemoryProvider {
	f := b.Config.Facts
	if f == nil || f.Graph == nil {
		return nil
	}
	g := &memory.GraphMemory{
		Manager: m, Graph: memory.NewStoreGraph(b.Store, b.Config.TenantName()), Filter: factFilter(b.Config), MaxItems: f.Graph.MaxItems,
	}
	if d := f.Graph.MaxDepth; d != nil {
		if g.MaxDepth = *d; *d == 0 {
			g.MaxDepth = -1
		}
	}
	return g
}
