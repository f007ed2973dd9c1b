package builds

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/internal/appendjson"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// maxDetail bounds the detail of a record, in bytes. A build of 5,000 items with texts of 200
// characters takes about 4 MiB.
const maxDetail = 8 << 20

// Build is what is to be kept of a build. What it refers to must not change.
type Build struct {
	ID, Tenant, Pipeline, Conversation string
	// User, Session, Key and RequestID are those of the summary.
	User, Session, Key, RequestID string
	Time                          time.Time
	Generation, RequestDigest     string
	// Query is the question. Records without content do not have it.
	Query   string
	Request json.RawMessage
	// Options are what was asked beside the request. nil: nothing.
	Options *Options
	// Result is nil for a build that failed; Failure then says how.
	Result  *pipeline.Result
	Failure *pipeline.BuildError
	// Content says whether texts are kept.
	Content bool
	// Took is how long a build that failed took.
	Took time.Duration

	// reached is closed when all builds before this one are written. A build with it is none.
	reached chan struct{}
}

// Take notes how the build ended, and reports whether it began. It copies what the caller of the build
// may change.
func (b *Build) Take(result *pipeline.Result, err error) bool {
	if result != nil {
		r, w := *result, *result.Window
		r.Window, r.Output, r.Diagnostics = &w, nil, own(r.Diagnostics)
		w.Items, r.Overflow = slices.Clone(w.Items), slices.Clone(r.Overflow)
		b.Result = &r
		return true
	}
	var failed *pipeline.BuildError
	if !errors.As(err, &failed) {
		return false
	}
	f := *failed
	f.Diagnostics = own(f.Diagnostics)
	b.Failure = &f
	return true
}

// own returns a copy of diagnostics.
func own(d *pipeline.Diagnostics) *pipeline.Diagnostics {
	out := *d
	out.Steps, out.StepFailures = slices.Clone(d.Steps), slices.Clone(d.StepFailures)
	return &out
}

// diagnostics are those of the build, however it ended.
func (b *Build) diagnostics() *pipeline.Diagnostics {
	if b.Result != nil {
		return b.Result.Diagnostics
	}
	return b.Failure.Diagnostics
}

// size estimates how much memory the build holds, in bytes.
func (b *Build) size() int64 {
	n := int64(4<<10 + len(b.Request))
	if b.Result == nil {
		return n
	}
	const item = 512 // with its trace
	n += item * int64(len(b.Result.Window.Items)+len(b.Result.Overflow))
	for i := range b.Result.Window.Items {
		n += int64(len(b.Result.Window.Items[i].Content))
	}
	for i := range b.Result.Overflow {
		n += int64(len(b.Result.Overflow[i].Content))
	}
	return n
}

// summary sums the build up.
func (b *Build) summary() Summary {
	d := b.diagnostics()
	s := Summary{
		ID: b.ID, Time: b.Time.UTC().Round(0), Pipeline: b.Pipeline, Conversation: b.Conversation,
		User: b.User, Session: b.Session, Key: b.Key, RequestID: b.RequestID, Generation: b.Generation, Request: b.RequestDigest,
		Outcome: OK, Skipped: d.SkippedSteps, Considered: d.TotalItemsConsidered, Included: d.ItemsIncluded, Content: b.Content,
	}
	if b.Content {
		s.Query = beginning(b.Query, QueryLength)
	}
	s.CostUSD = d.CostUSD
	for i := range d.Services {
		s.Unpriced = s.Unpriced || d.Services[i].Unpriced
	}
	for i := range d.Steps {
		s.Fuel += d.Steps[i].Fuel
	}
	for i := range d.StepFailures {
		s.Fuel += d.StepFailures[i].Fuel
	}
	if b.Result == nil {
		s.Outcome, s.Step, s.Reason, s.TookMS = Failed, b.Failure.Step, pipeline.ReasonOf(b.Failure), float64(b.Took.Microseconds())/1e3
		if s.Reason == "" && errors.Is(b.Failure, pipeline.ErrBudget) {
			s.Reason = ReasonBudget
		}
		return s
	}
	if len(d.SkippedSteps)+len(b.Result.Degraded) > 0 {
		s.Outcome = Degraded
	}
	r := b.Result
	s.TookMS, s.UsedTokens, s.MaxTokens = r.BuildTimeMS, r.Window.UsedTokens+r.Window.Reserved(), r.Window.MaxTokens
	return s
}

// beginning is a text of at most so many characters.
func beginning(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return text[:i]
		}
		n++
	}
	return text
}

// failureDoc is the document of a build that failed.
type failureDoc struct {
	Error       failure               `json:"error"`
	Diagnostics *pipeline.Diagnostics `json:"diagnostics"`
}

type failure struct {
	Message string `json:"message"`
	Reason  string `json:"reason"`
	Step    string `json:"step"`
	Plugin  string `json:"plugin"`
}

// encode writes the detail of the build. It leaves out the traces, and then the items, if the
// detail would be too large.
func (b *Build) encode() (json.RawMessage, error) {
	for _, leave := range []string{"", "traces", "items"} {
		doc, err := b.detail(leave)
		if err != nil {
			return nil, fmt.Errorf("build %s: write its record: %w", b.ID, err)
		}
		if len(doc) <= maxDetail {
			return doc, nil
		}
	}
	return nil, fmt.Errorf("build %s: its record takes more than %d MiB", b.ID, maxDetail>>20)
}

// detail writes a [Detail].
func (b *Build) detail(leave string) ([]byte, error) {
	doc := []byte(`{"result":`)
	var err error
	if b.Result != nil {
		doc, err = b.result(leave).AppendJSON(doc)
	} else {
		doc, err = appendjson.Append(doc, b.failureDoc(leave))
	}
	if err != nil {
		return nil, err
	}
	if b.Content && leave != "items" {
		if doc, err = b.appendAsked(doc); err != nil {
			return nil, err
		}
	}
	if leave != "" {
		doc = append(append(append(doc, `,"left_out":"`...), leave...), '"')
	}
	return append(doc, '}'), nil
}

// failureDoc returns the error document of a build that failed, as it is kept.
func (b *Build) failureDoc(leave string) *failureDoc {
	f := b.Failure
	doc := failureDoc{Diagnostics: b.shown(f.Diagnostics, leave), Error: failure{Reason: pipeline.ReasonOf(f), Step: f.Step, Plugin: pipeline.PluginOf(f)}}
	if b.Content {
		doc.Error.Message = f.Error()
	}
	return &doc
}

// appendAsked writes the members of a detail that say what the build was asked for.
func (b *Build) appendAsked(dst []byte) ([]byte, error) {
	if len(b.Request) > 0 {
		out := bytes.NewBuffer(append(dst, `,"request":`...))
		if err := json.Compact(out, b.Request); err != nil {
			return nil, fmt.Errorf("its request: %w", err)
		}
		dst = out.Bytes()
	}
	if b.Options == nil {
		return dst, nil
	}
	return appendjson.Append(append(dst, `,"options":`...), b.Options)
}

// result returns the result as it is kept. It is a copy.
func (b *Build) result(leave string) *pipeline.Result {
	r := *b.Result
	w := *r.Window
	r.Window, r.Output, r.Diagnostics = &w, nil, b.shown(r.Diagnostics, leave)
	w.Items, r.Overflow = slices.Clone(w.Items), slices.Clone(r.Overflow)
	if leave == "items" {
		w.Items, r.Overflow = []pipeline.Item{}, []pipeline.OverflowItem{}
	}
	if b.Content {
		return &r
	}
	w.Query = ""
	for i := range w.Items {
		hide(&w.Items[i])
	}
	for i := range r.Overflow {
		hide(&r.Overflow[i].Item)
	}
	return &r
}

// hide takes the texts out of an item, and its parts, which can be images and files.
func hide(it *pipeline.Item) {
	it.Content, it.Metadata = digestOf(it.Content), nil
	_ = it.SetParts(nil) // no parts are always valid
}

// digestOf stands for a text that is not kept.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256:" + hex.EncodeToString(sum[:8])
}

// Digest returns the digest of a document in the form of [Summary].
func Digest(doc []byte) string {
	sum := sha256.Sum256(doc)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// shown returns the diagnostics as they are kept. It is a copy.
func (b *Build) shown(d *pipeline.Diagnostics, leave string) *pipeline.Diagnostics {
	out := *d
	if leave != "" {
		out.Items = nil
	}
	if b.Content {
		return &out
	}
	if out.Items != nil {
		items := slices.Clone(out.Items.All())
		for i := range items {
			items[i].Excerpt = ""
		}
		out.Items = explain.NewTrace(func() []explain.ItemTrace { return items })
	}
	out.StepFailures = slices.Clone(out.StepFailures)
	for i := range out.StepFailures {
		out.StepFailures[i].Message = ""
	}
	out.Lost = nil
	if out.Cache != nil && out.Cache.BrokenBy != nil {
		cache, by := *out.Cache, *out.Cache.BrokenBy
		by.Text = explain.Change[string]{}
		cache.BrokenBy, out.Cache = &by, &cache
	}
	return &out
}
