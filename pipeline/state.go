package pipeline

import (
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/fill"
	"github.com/anchor-host/anchor-host/pipeline/internal/record"
	"github.com/anchor-host/anchor-host/pipeline/internal/values"
)

// build is the state of one call of Build. It belongs to one goroutine.
type build struct {
	p      *Pipeline
	query  *Query
	list   *itemList
	fixed  core.Fixed
	counts []int // the tokens of each item, after the count stage; scratch memory
	// filling holds the window, once the window stage has begun. It also holds the output
	// if filling made one.
	filling *fill.Filling
	// writer makes the output. It is the writer of the pipeline, or its fallback.
	writer writer
	// recounted means that the second tokenizer of a [FallbackTokenizer] has counted
	// everything.
	recounted bool
	// partial means that something was left out because of the time.
	partial  bool
	noted    []core.Degradation // by steps
	diag     *Diagnostics
	recorder *record.Recorder // nil unless the pipeline explains its builds

	began time.Time
	at    time.Time // when the last measured stage or step ended

	docs    *documents
	scratch *scratch
}

// documents are the values that a build returns. They share one allocation, because a caller
// who keeps one of them usually keeps all.
type documents struct {
	result      Result
	window      Window
	diagnostics Diagnostics
}

// scratch is the private memory of a build, reused by the next one. Between builds it refers
// to no step, item or result: it keeps only numbers and cleared lists.
type scratch struct {
	build   build
	counts  []int
	order   []int32
	list    itemList
	filling fill.Filling
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// newRecorder returns a recorder if the pipeline explains its builds, and nil otherwise.
func (p *Pipeline) newRecorder() *record.Recorder {
	if !p.explain {
		return nil
	}
	return record.New(len(p.steps) + 2)
}

// newBuild begins a build of a query. The build owns the query from now on.
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

// release ends the build and returns its memory for reuse. By then every goroutine that the
// build started has ended, or has no reference to the build.
func (b *build) release() {
	s := b.scratch
	s.build, s.filling = build{}, fill.Filling{}
	s.list.release()
	scratches.Put(s)
}

// countsFor returns n numbers of arbitrary value.
func (s *scratch) countsFor(n int) []int { return values.Numbers(&s.counts, n) }

// indicesFor returns the numbers from 0 to n-1.
func (s *scratch) indicesFor(n int) []int32 {
	indices := values.Numbers(&s.order, n)
	for i := range indices {
		indices[i] = int32(i)
	}
	return indices
}
