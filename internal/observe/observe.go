// Package observe tells an observer which work goes on under a context, such as a step of a build or
// a call of a plugin. It is what those who do the work and those who watch it agree on, so that
// neither has to know the other.
//
// An observer gets a context and returns one, because a span must exist before the work below it
// begins. A callback could not change the context of that work. Without an observer a look costs
// some 20 ns.
package observe

import (
	"context"
	"net/http"
	"time"

	"github.com/anchor-host/anchor-host/internal/ledger"
)

// Kind says what a piece of work is.
type Kind uint8

// The kinds of work.
const (
	Build    Kind = iota // one context window
	Assembly             // the messages of an agent
	Stage                // a stage of a build
	Step                 // a step of a build
	Provider             // a provider of an assembly
	Call                 // a call of a plugin
	Model                // a question to a model
	Embed                // texts for which vectors are made
	Search               // a search in a collection
	Store                // records read from a store or written to it
)

// Work describes a piece of work when it begins. Fields that do not apply are empty.
type Work struct {
	Kind Kind
	// Name is what works or is asked: the pipeline, stage, step, provider, plugin, model of the
	// configuration, embedding model, collection, or what is done with a store ("read", "write").
	Name string
	// Operation is that of a plugin.
	Operation string
	// Plugin is the plugin that a step runs.
	Plugin string
	// API, ServerModel and Address are those of a model: the form of its API, its name for the server
	// that serves it, and the address of that server.
	API, ServerModel, Address string
	// Tenant owns what a build or an assembly reads.
	Tenant string
	// Count is the number of results that a search asks for, of texts that are embedded, or of tokens
	// of the longest answer of a model.
	Count int
	// Text returns content: the query, or the messages to a model. Observers call it only if they may
	// see content. It may be nil.
	Text func() string
}

// Result describes how a piece of work ended. Fields that do not apply are 0.
type Result struct {
	// Err is why it failed, nil if it did not. Reason is its stable word, such as "timeout".
	Err    error
	Reason string
	// Skipped says that the build continues without a step that failed.
	Skipped bool
	// Items is the number of items, hits or messages there are afterwards.
	Items int
	// Fuel is what a plugin used, BytesIn and BytesOut are the sizes of its request and its answer, and
	// Memory that of its linear memory.
	Fuel, BytesIn, BytesOut, Memory int64
	// Waited is how long a call waited for an instance and a processor.
	Waited time.Duration
	// Cached says that a model was not asked because its answer was kept.
	Cached bool
	// InputTokens are those that a model read, the CachedTokens that its server had in a cache
	// included. OutputTokens are those of its answer.
	InputTokens, CachedTokens, OutputTokens int64
	// Text returns content: the answer of a model, or what a search found. See Work.Text.
	Text func() string
	// Window is that of a build or an assembly that succeeded.
	Window *Window
	// Failures are the steps, parts and providers that a build or an assembly had to do without.
	Failures []Failure
	// Services are what a build asked models, embedders and collections for.
	Services []ledger.Line
}

// Window is what a build or an assembly put into a window.
type Window struct {
	// Tokens are the tokens of its items by source.
	Tokens []Tokens
	// Used is the number of its tokens, and Max that of the tokens it has room for.
	Used, Max int
	// Compared says that the output was compared with the previous one. CommonTokens then begin both,
	// and NewTokens follow.
	Compared                bool
	CommonTokens, NewTokens int
}

// Tokens are tokens of items of one source.
type Tokens struct {
	Source string
	// In are the tokens in the window, Out those that were left out.
	In, Out int
}

// Failure is a step, a part or a provider without which the work continued.
type Failure struct{ Name, Plugin, Reason string }

// Observer hears of work. It is safe for concurrent use, and does not block.
type Observer interface {
	// Begin is called when work begins. The work goes on under the context that it returns.
	Begin(ctx context.Context, w Work) (context.Context, Ending)
	// Header adds the fields by which a server finds out what its request belongs to.
	Header(ctx context.Context, h http.Header)
}

// Ending hears, once, how a piece of work ended. It may be called on another goroutine than Begin.
type Ending interface{ End(Result) }

type key struct{}

// Under returns a context whose work o observes.
func Under(ctx context.Context, o Observer) context.Context { return context.WithValue(ctx, key{}, o) }

// Begin tells the observer of ctx that work begins. The work goes on under the context that Begin
// returns, and ends with End.
func Begin(ctx context.Context, w Work) (context.Context, Span) {
	o, ok := ctx.Value(key{}).(Observer)
	if !ok {
		return ctx, Span{}
	}
	ctx, e := o.Begin(ctx, w)
	return ctx, Span{e}
}

type noteKey struct{}

// Noting returns a context under which note is told, in a line, why work waits, such as for a server
// that asks to come back later. note is safe for concurrent use.
func Noting(ctx context.Context, note func(line string)) context.Context {
	return context.WithValue(ctx, noteKey{}, note)
}

// Note tells who works under ctx why it waits.
func Note(ctx context.Context, line string) {
	if note, ok := ctx.Value(noteKey{}).(func(line string)); ok {
		note(line)
	}
}

// Header adds to the header of a request what its server needs to continue the trace of ctx. It
// adds nothing if ctx is not observed.
func Header(ctx context.Context, h http.Header) {
	if o, ok := ctx.Value(key{}).(Observer); ok {
		o.Header(ctx, h)
	}
}

// Span is a piece of work that goes on. The zero value is one that nobody observes.
type Span struct{ ending Ending }

// Observed reports whether somebody hears of the end.
func (s Span) Observed() bool { return s.ending != nil }

// End says how the work ended. It is called once.
func (s Span) End(r Result) {
	if s.ending != nil {
		s.ending.End(r)
	}
}
