package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/memory"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// statusGone is the status of a request whose client is gone. One that has only ended its half of the
// connection reads it.
const statusGone = 499

// reasonStatus are the statuses of reasons of plugins. All others are 500.
var reasonStatus = map[abi.Reason]int{
	abi.ReasonTimeout:       http.StatusGatewayTimeout,
	abi.ReasonBusy:          http.StatusServiceUnavailable,
	abi.ReasonCircuitOpen:   http.StatusServiceUnavailable,
	abi.ReasonInputTooLarge: http.StatusUnprocessableEntity,
	"degraded":              http.StatusServiceUnavailable, // builds.strict
}

// causeStatus are the statuses of known errors, in the order in which they are checked, with their
// reasons. An empty reason leaves that of the document.
var causeStatus = []struct {
	cause  error
	status int
	reason string
}{
	{store.ErrUnknown, http.StatusServiceUnavailable, "outcome_unknown"}, // it may have any other as its cause
	{context.DeadlineExceeded, http.StatusGatewayTimeout, "timeout"},
	{anchor.ErrOwned, http.StatusForbidden, "forbidden"},
	{anchor.ErrShared, http.StatusForbidden, "forbidden"},
	{strict.ErrTooMany, http.StatusRequestEntityTooLarge, "too_many_values"},
	{retrieve.ErrNotFound, http.StatusNotFound, "not_found"},
	{store.ErrNotFound, http.StatusNotFound, "not_found"},
	{frames.ErrNoFrame, http.StatusNotFound, "not_found"},
	{memory.ErrNotFound, http.StatusNotFound, "not_found"},
	{retrieve.ErrExists, http.StatusConflict, "conflict"},
	{retrieve.ErrModel, http.StatusConflict, "conflict"},
	{retrieve.ErrEmpty, http.StatusConflict, "empty"},
	{store.ErrExists, http.StatusConflict, "conflict"},
	{store.ErrConflict, http.StatusConflict, "conflict"},
	{frames.ErrOrder, http.StatusConflict, "conflict"},
	{frames.ErrLifecycle, http.StatusConflict, "conflict"},
	{store.ErrBusy, http.StatusServiceUnavailable, "busy"},
	{store.ErrFull, http.StatusInsufficientStorage, "store_full"},
	{store.ErrReadOnly, http.StatusInsufficientStorage, "store_read_only"},
	{store.ErrVersion, http.StatusInsufficientStorage, "store_newer"},
	{store.ErrClosed, http.StatusServiceUnavailable, "draining"},
	{retrieve.ErrUnavailable, http.StatusServiceUnavailable, "unavailable"},
	{anchor.ErrNotKept, http.StatusConflict, "not_kept"},
	{pipeline.ErrBudget, http.StatusUnprocessableEntity, ""},
	{pipeline.ErrInvalid, http.StatusUnprocessableEntity, ""},
	{message.ErrLoss, http.StatusUnprocessableEntity, "invalid_request"},
	{anchor.ErrInvalid, http.StatusUnprocessableEntity, ""},
}

// failure returns the status and the document of an error, and sets fields of the answer.
func (c *call) failure(err error) (int, failure.Document) {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		maps.Copy(c.w.Header(), refusal.Header)
		c.retryAfter(refusal.RetryAfter)
		return refusal.Status, failure.Document{Error: failure.Detail{Message: refusal.Message, Reason: refusal.Reason, Remedy: refusal.Remedy}}
	}
	if errors.Is(c.ctx.Err(), context.Canceled) && c.r.Context().Err() != nil {
		if !c.s.cut.Load() {
			return statusGone, c.document(err)
		}
		doc := c.document(err)
		doc.Error.Reason, doc.Error.Remedy = "draining", "the service ends: send the request again"
		if errors.Is(err, store.ErrUnknown) { // the write had begun when the request was cut
			doc.Error.Reason, doc.Error.Remedy = "outcome_unknown", "the service ends: "+c.remedyUnknown()
		}
		return http.StatusServiceUnavailable, doc
	}
	if errors.Is(err, errPanic) {
		return http.StatusInternalServerError, failure.Public(err)
	}
	doc := c.document(err)
	status := c.statusOf(err, &doc)
	switch {
	case status == http.StatusServiceUnavailable:
		c.retryAfter(time.Second)
		if errors.Is(err, store.ErrUnknown) {
			doc.Error.Remedy = c.remedyUnknown()
		}
	case status == http.StatusGatewayTimeout && c.ctx.Err() != nil:
		doc.Error.Remedy = fmt.Sprintf("ask for more time with x-request-timeout; the most is %v (server.max_timeout)", c.s.o.MaxTimeout)
	case status == http.StatusInsufficientStorage && !c.info.Admin:
		// The message for others than the operator leaves out what SQLite says and which file it is.
		switch message := doc.Error.Message; {
		case strings.HasSuffix(message, store.ErrFull.Error()):
			doc.Error.Remedy = "the operator has to make room on the disk of the store: then send the request again; what reads goes on meanwhile"
		case strings.HasSuffix(message, store.ErrReadOnly.Error()):
			doc.Error.Remedy = "the operator has to make the file of the store and its folder writable: then send the request again; what reads goes on meanwhile"
		case strings.Contains(message, store.ErrVersion.Error()):
			doc.Error.Remedy = "a newer version of the service has the store: restart this service with that version"
		}
	case status == http.StatusInternalServerError:
		doc.Error.Remedy = "the log of the service has more"
	}
	return status, doc
}

// remedyUnknown is what to do after a write of which nobody knows whether it was carried out.
func (c *call) remedyUnknown() string {
	if c.r.Method == http.MethodDelete {
		return "send the request again: what is deleted stays deleted"
	}
	return "read whether it was written, all or nothing: if it was not, send the request again"
}

// document is the document of an error. Clients of the API do not see the addresses of other servers
// and what these have said; the log does.
func (c *call) document(err error) failure.Document {
	if c.info.Admin {
		return failure.Of(err)
	}
	return failure.Public(err)
}

// statusOf returns the status of an error, and completes the reason of its document.
func (c *call) statusOf(err error, doc *failure.Document) int {
	if c.namesOtherTenant(err) {
		doc.Error.Reason, doc.Error.Remedy = "forbidden", "the key decides the tenant: leave it out"
		return http.StatusForbidden
	}
	var reasoner pipeline.Reasoner
	if errors.As(err, &reasoner) {
		if status, ok := reasonStatus[abi.Reason(reasoner.Reason())]; ok {
			return status
		}
		if c.ctx.Err() == nil && (doc.Error.Reason == "invalid_config" || doc.Error.Reason == "not_found") {
			return http.StatusUnprocessableEntity // the request names a plugin that is not there, or wrongly
		}
		if c.ctx.Err() == nil {
			return http.StatusInternalServerError
		}
	}
	var problems strict.Problems
	if errors.As(err, &problems) || errors.Is(err, anchor.ErrInvalid) || errors.Is(err, pipeline.ErrInvalid) {
		if c.endpoint != nil && c.endpoint.body == jsonBody && len(c.body) > 0 && !strict.Valid(c.ctx, c.body) {
			doc.Error.Reason = "invalid_json"
			return http.StatusBadRequest
		}
	}
	if problems != nil {
		return http.StatusUnprocessableEntity
	}
	for _, known := range causeStatus {
		if errors.Is(err, known.cause) {
			if known.reason != "" {
				doc.Error.Reason = known.reason
			}
			return known.status
		}
	}
	return http.StatusInternalServerError
}

// namesOtherTenant reports whether a document was refused that names a tenant other than that of
// the key.
func (c *call) namesOtherTenant(err error) bool {
	var problems strict.Problems
	if c.endpoint == nil || c.endpoint.body != jsonBody || !errors.As(err, &problems) {
		return false
	}
	for i := range problems {
		if problems[i].Path == "tenant" {
			n, err := c.parse("", c.body)
			if err != nil {
				return false
			}
			named, ok := n.Find("tenant")
			return ok && named.Text != c.s.tenant(c.info.Principal)
		}
	}
	return false
}

// retryAfter says when the client may try again.
func (c *call) retryAfter(d time.Duration) {
	if d > 0 {
		c.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(d.Seconds()))))
	}
}
