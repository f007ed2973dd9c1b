package pipeline

import (
	"sync"

	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// documents are what a build returns. They are one allocation, since whoever keeps one
// of them mostly keeps all.
type documents struct {
	result      Result
	window      Window
	diagnostics Diagnostics
}

// scratch is the memory of a build that nobody sees when the build is over, kept for the
// next one. It holds nothing of steps, items or results: only numbers, and the build
// itself and its lists, which are cleared.
type scratch struct {
	build  build
	counts []int
	order  []int32
	lists  lists
	// filling is cleared too.
	filling fill.Filling
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// newBuild begins a build of a query, which belongs to the build from now on.
func (p *Pipeline) newBuild(q *Query) *build {
	s := scratches.Get().(*scratch)
	docs := &documents{}
	docs.diagnostics.Steps = []StepDiagnostic{}
	now := p.now()
	s.build = build{
		p: p, query: q, began: now, at: now, diag: &docs.diagnostics, docs: docs, recorder: p.newRecorder(), filling: &s.filling, scratch: s,
	}
	return &s.build
}

// release ends the build. Every goroutine that it started has ended, or does not know
// it.
func (b *build) release() {
	s := b.scratch
	s.build, s.filling = build{}, fill.Filling{}
	s.lists.release()
	scratches.Put(s)
}

// countsFor returns n counts of any value.
func (s *scratch) countsFor(n int) []int { return values.Numbers(&s.counts, n) }

// indicesFor returns 0 to n-1.
func (s *scratch) indicesFor(n int) []int32 {
	indices := values.Numbers(&s.order, n)
	for i := range indices {
		indices[i] = int32(i)
	}
	return indices
}
