// Package builds keeps records of builds in a store: what each build was asked, which items it
// considered and why each is in the window or not.
//
// A record has two parts with the same ID: a [Summary] (kind "build"), which lists are made of, and
// a [Detail] (kind "build_detail"). Both are written and deleted together. A [Keeper] writes them
// off the path of the builds: a build never waits for the store, and what the keeper cannot write
// it counts.
//
// A search reads from an index in memory, because summaries take most of a second to read from the
// store for 100,000 builds, and an index in the store would have to be written with each build.
// The index only names candidates; each record is read and compared.
package builds

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/internal/appendjson"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/store"
)

// The kinds of records in the store. Their stream is empty.
const (
	KindSummary = "build"
	KindDetail  = "build_detail"
)

// Outcome says how a build ended.
type Outcome string

// The outcomes.
const (
	OK       Outcome = "ok"
	Degraded Outcome = "degraded" // its window lacks something: a step was skipped, a collection is missing
	Failed   Outcome = "failed"
)

// Outcomes lists the outcomes.
var Outcomes = []Outcome{OK, Degraded, Failed}

// Summary is what a list shows of a build.
type Summary struct {
	// ID names the build. IDs of one tenant are unique.
	ID string `json:"id"`
	// Time is when the build ended.
	Time time.Time `json:"time"`
	// Pipeline is the name of the pipeline, empty for that at the top level of the configuration.
	Pipeline string `json:"pipeline,omitempty"`
	// Conversation is the conversation of the store that the build belongs to.
	Conversation string `json:"conversation,omitempty"`
	// User and Session are those that the build was for. Key is the name of the key that asked for
	// it, and RequestID the name of the request, which its client knows. Each may be empty.
	User      string `json:"user,omitempty"`
	Session   string `json:"session,omitempty"`
	Key       string `json:"key,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	// Query is the beginning of the question, at most [QueryLength] characters of it. Without content
	// it is empty.
	Query string `json:"query,omitempty"`
	// Generation is the digest of the configuration and of the modules of its plugins, Request that
	// of what the build was asked: "sha256:" and 64 hex digits.
	Generation string `json:"generation"`
	Request    string `json:"request"`
	// Outcome says how the build ended. Reason and Step are those of a failure, Skipped the steps
	// that were skipped.
	Outcome Outcome  `json:"outcome"`
	Reason  string   `json:"reason,omitempty"`
	Step    string   `json:"step,omitempty"`
	Skipped []string `json:"skipped,omitempty"`
	// TookMS is how long the build took, in milliseconds.
	TookMS float64 `json:"build_time_ms"`
	// Included is the number of items in the window, Considered that of the items that reached the
	// window stage.
	Included   int `json:"items_included"`
	Considered int `json:"items_considered"`
	// UsedTokens is the number of tokens in the window, with the query and the tools, MaxTokens its
	// room.
	UsedTokens int `json:"used_tokens"`
	MaxTokens  int `json:"max_tokens"`
	// CostUSD is what models cost, in US dollars. It is 0 where the price of some tokens is not known,
	// which Unpriced says.
	CostUSD  float64 `json:"cost_usd,omitempty"`
	Unpriced bool    `json:"unpriced,omitempty"`
	// Fuel is the fuel that plugins used.
	Fuel int64 `json:"fuel,omitempty"`
	// Content is true if the record has the texts.
	Content bool `json:"content"`
	// Bytes is the size of the record. Until is the sum of the sizes of all records of the tenant
	// that were ever written, this one included, from which the size of those that are there
	// follows.
	Bytes int64 `json:"bytes"`
	Until int64 `json:"bytes_until"`
}

// Detail is the rest of a record.
type Detail struct {
	// Result is the result of the build, or the error document of one that failed, without the
	// output. Without content, each text is "sha256:" and the first 16 hex digits of its digest,
	// and excerpts, metadata, the query and messages of failures are empty.
	Result json.RawMessage `json:"result"`
	// Request is the document that "anchor-host build --request" builds again. It is nil without
	// content, and for a build that no document can state.
	Request json.RawMessage `json:"request,omitempty"`
	// Options are what the caller asked for beside the request. It is nil without content.
	Options *Options `json:"options,omitempty"`
	// LeftOut says what the record lacks because it was too large: "traces" or "items".
	LeftOut string `json:"left_out,omitempty"`
}

// Options are what a caller asks for beside the document of a request. Empty fields ask for nothing.
type Options struct {
	User         string   `json:"user,omitempty"`
	Session      string   `json:"session,omitempty"`
	Conversation string   `json:"conversation,omitempty"`
	Only         []string `json:"only,omitempty"`
	Skip         []string `json:"skip,omitempty"`
}

// ReasonBudget is the reason of a build that was refused because what it must have does not fit into the
// window.
const ReasonBudget = "budget"

// QueryLength is how much of a question a summary has, in characters.
const QueryLength = 200

// Record is a summary with its detail.
type Record struct {
	Summary
	Detail Detail `json:"detail"`
}

// WithoutContent returns the record as it would be if it had been kept without texts. It is r itself
// if there are none. The error wraps [store.ErrCorrupt] if the record cannot be read.
func (r *Record) WithoutContent() (*Record, error) {
	if !r.Content {
		return r, nil
	}
	out := *r
	out.Content, out.Query, out.Detail.Request, out.Detail.Options = false, "", nil, nil
	var err error
	if r.Outcome == Failed {
		out.Detail.Result, err = hiddenFailure(r.Detail.Result)
	} else {
		out.Detail.Result, err = hiddenResult(r.Detail.Result)
	}
	if err != nil {
		return nil, fmt.Errorf("build %.100q: read its record: %w: %w", r.ID, store.ErrCorrupt, err)
	}
	return &out, nil
}

func hiddenResult(doc json.RawMessage) (json.RawMessage, error) {
	var result pipeline.Result
	if err := json.Unmarshal(doc, &result); err != nil {
		return nil, err
	}
	if result.Window == nil || result.Diagnostics == nil {
		return nil, errors.New("the result has no window or no diagnostics")
	}
	return (&Build{Result: &result}).result("").AppendJSON(nil)
}

func hiddenFailure(doc json.RawMessage) (json.RawMessage, error) {
	var failed failureDoc
	if err := json.Unmarshal(doc, &failed); err != nil {
		return nil, err
	}
	if failed.Diagnostics == nil {
		return nil, errors.New("the error document has no diagnostics")
	}
	failed.Error.Message, failed.Diagnostics = "", (&Build{}).shown(failed.Diagnostics, "")
	return appendjson.Append(nil, failed)
}
