package pipeline

import (
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/internal/record"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// build is what one Build knows. It belongs to one goroutine.
type build struct {
	p      *Pipeline
	query  *Query
	list   *itemList
	counts []int // tokens of each of items, once counted; scratch
	// filling is the window, from its stage on, and the output if filling made it.
	filling *fill.Filling
	// writer makes the output: that of the pipeline, or its fallback.
	writer writer
	// recounted: everything was counted by the second tokenizer.
	recounted bool
	diag      *Diagnostics
	recorder  *record.Recorder // nil unless the pipeline explains

	began time.Time
	at    time.Time // when the last thing that is timed ended

	docs    *documents
	scratch *scratch
}

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
	build   build
	counts  []int
	order   []int32
	list    itemList
	filling fill.Filling
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// newRecorder returns a recorder if the pipeline explains its builds.
func (p *Pipeline) newRecorder() *record.Recorder {
	if !p.explain {
		return nil
	}
	return record.New(len(p.steps) + 2)
}

// newBuild begins a build of a query, which belongs to the build from now on.
func (p *Pipeline) newBuild(q *Query) *build {
	s := scratches.Get().(*scratch)
	docs := &documents{}
	docs.diagnostics.Steps = []StepDiagnostic{}
	now := p.now()
	s.build = build{
		p: p, query: q, list: &s.list, filling: &s.filling, writer: p.writer, recorder: p.newRecorder(),
		diag: &docs.diagnostics, docs: docs, began: now, at: now, scratch: s,
	}
	s.list.recorded = s.build.recorder != nil
	return &s.build
}

// release ends the build. Every goroutine that it started has ended, or does not know
// it.
func (b *build) release() {
	s := b.scratch
	s.build, s.filling = build{}, fill.Filling{}
	s.list.release()
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
