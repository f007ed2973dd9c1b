package steps

import (
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

func (s *changeStep) Module() explain.ModuleInfo { return s.o.module }

func (r retriever) Module() explain.ModuleInfo { return r.o.module }

func (p postProcessor) Module() explain.ModuleInfo { return p.o.module }

func (r reranker) Module() explain.ModuleInfo { return r.o.module }

func (f filter) Module() explain.ModuleInfo { return f.o.module }

func (t queryTransformer) Module() explain.ModuleInfo { return t.o.module }

func (c classifier) Module() explain.ModuleInfo { return c.o.module }

func (m memoryProvider) Module() explain.ModuleInfo { return m.o.module }
