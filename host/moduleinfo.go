package host

import "github.com/anchor-host/anchor-host/pipeline"

// Module names the plugin of an operation, for the stories of items.
func (o *operation) Module() pipeline.ModuleInfo {
	return pipeline.ModuleInfo{Plugin: o.plugin.name, Module: o.plugin.spec.Digest}
}

// Module implements pipeline.ModuleTeller.
func (s *changeStep) Module() pipeline.ModuleInfo { return s.o.Module() }

// Module implements pipeline.ModuleTeller.
func (s *functionStep) Module() pipeline.ModuleInfo { return s.o.Module() }

// Module implements pipeline.ModuleTeller.
func (r retriever) Module() pipeline.ModuleInfo { return r.o.Module() }

// Module implements pipeline.ModuleTeller.
func (p postProcessor) Module() pipeline.ModuleInfo { return p.o.Module() }

// Module implements pipeline.ModuleTeller.
func (r reranker) Module() pipeline.ModuleInfo { return r.o.Module() }

// Module implements pipeline.ModuleTeller.
func (f filter) Module() pipeline.ModuleInfo { return f.o.Module() }

// Module implements pipeline.ModuleTeller.
func (t queryTransformer) Module() pipeline.ModuleInfo { return t.o.Module() }

// Module implements pipeline.ModuleTeller.
func (c classifier) Module() pipeline.ModuleInfo { return c.o.Module() }

// Module implements pipeline.ModuleTeller.
func (m memoryProvider) Module() pipeline.ModuleInfo { return m.o.Module() }
