package steps

import (
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/pipeline"
)

// moduleOf names a plugin, for the stories of items.
func moduleOf(p *host.Plugin) pipeline.ModuleInfo {
	return pipeline.ModuleInfo{Plugin: p.Name(), Module: p.Spec().Digest}
}

// Module implements pipeline.ModuleTeller.
func (s *changeStep) Module() pipeline.ModuleInfo { return s.o.module }

// Module implements pipeline.ModuleTeller.
func (r retriever) Module() pipeline.ModuleInfo { return r.o.module }

// Module implements pipeline.ModuleTeller.
func (p postProcessor) Module() pipeline.ModuleInfo { return p.o.module }

// Module implements pipeline.ModuleTeller.
func (r reranker) Module() pipeline.ModuleInfo { return r.o.module }

// Module implements pipeline.ModuleTeller.
func (f filter) Module() pipeline.ModuleInfo { return f.o.module }

// Module implements pipeline.ModuleTeller.
func (t queryTransformer) Module() pipeline.ModuleInfo { return t.o.module }

// Module implements pipeline.ModuleTeller.
func (c classifier) Module() pipeline.ModuleInfo { return c.o.module }

// Module implements pipeline.ModuleTeller.
func (m memoryProvider) Module() pipeline.ModuleInfo { return m.o.module }
