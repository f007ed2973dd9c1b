package steps

import (
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// Module implements pipeline.ModuleNamer.
func (s *changeStep) Module() explain.ModuleInfo { return s.o.module }

// Module implements pipeline.ModuleNamer.
func (r retriever) Module() explain.ModuleInfo { return r.o.module }

// Module implements pipeline.ModuleNamer.
func (p postProcessor) Module() explain.ModuleInfo { return p.o.module }

// Module implements pipeline.ModuleNamer.
func (r reranker) Module() explain.ModuleInfo { return r.o.module }

// Module implements pipeline.ModuleNamer.
func (f filter) Module() explain.ModuleInfo { return f.o.module }

// Module implements pipeline.ModuleNamer.
func (t queryTransformer) Module() explain.ModuleInfo { return t.o.module }

// Module implements pipeline.ModuleNamer.
func (c classifier) Module() explain.ModuleInfo { return c.o.module }

// Module implements pipeline.ModuleNamer.
func (m memoryProvider) Module() explain.ModuleInfo { return m.o.module }
