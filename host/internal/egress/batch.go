package egress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// MaxBatch bounds the requests of a batch.
const MaxBatch = 32

// DecodeBatch reads the document of a batch, {"requests": […]}. body returns the body of a
// request by its handle, and is not asked for handle 0.
func DecodeBatch(document []byte, body func(handle uint64) ([]byte, error)) ([]Request, error) {
	if len(document) > maxDocument {
		return nil, fmt.Errorf("URLs and headers take %d bytes, allowed %d", len(document), maxDocument)
	}
	var d struct {
		Requests json.RawMessage `json:"requests"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	in := json.NewDecoder(bytes.NewReader(d.Requests))
	if open, err := in.Token(); err != nil || open != json.Delim('[') {
		return nil, errors.New("requests: is not a list")
	}
	var requests []Request
	for i := 0; in.More(); i++ {
		if i == MaxBatch {
			return nil, fmt.Errorf("has more than %d requests", MaxBatch)
		}
		var r struct {
			Request
			Handle uint64 `json:"body"`
		}
		if err := in.Decode(&r); err != nil {
			return nil, fmt.Errorf("requests[%d]: %w", i, err)
		}
		if r.Handle != 0 {
			var err error
			if r.Body, err = body(r.Handle); err != nil {
				return nil, fmt.Errorf("requests[%d]: %w", i, err)
			}
		}
		requests = append(requests, r.Request)
	}
	return requests, nil
}

// Outcome is what became of one request of a batch.
type Outcome struct {
	Answer
	// Failure is why there is no answer, nil if there is one.
	Failure *Failure
}

// SendAll sends requests at the same time, and returns their outcomes in the same order. The
// client's bound holds for the bodies of all requests together, and for those of all answers.
//
// Errors: as those of Send. Nothing is sent if one of the requests is not permitted or
// malformed. A redirect that is not permitted, and answers that are too large, end the others.
func (c *Client) SendAll(ctx context.Context, requests []Request) ([]Outcome, error) {
	if len(requests) > MaxBatch {
		return nil, fmt.Errorf("has more than %d requests", MaxBatch)
	}
	ready := make([]prepared, len(requests))
	stated := newBound(c.limit)
	for i, r := range requests {
		var err error
		if ready[i], err = c.prepare(r, stated); err != nil {
			return nil, fmt.Errorf("requests[%d]: %w", i, err)
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	outcomes := make([]Outcome, len(requests))
	bodies, headers := newBound(c.limit), newBound(maxHeader)
	var sending sync.WaitGroup
	for i := range ready {
		sending.Go(func() {
			answer, err := c.send(ctx, ready[i], bodies)
			if err == nil && !headers.take(len(answer.Headers)) {
				err = &TooLarge{fmt.Sprintf("http response headers of more than %d bytes", maxHeader)}
			}
			if failure, ok := errors.AsType[*Failure](err); ok {
				outcomes[i].Failure = failure
			} else if err != nil {
				cancel(err)
			}
			outcomes[i].Answer = answer
		})
	}
	sending.Wait()
	var refusal *Refusal
	var large *TooLarge
	if cause := context.Cause(ctx); errors.As(cause, &refusal) || errors.As(cause, &large) {
		return nil, cause
	}
	return outcomes, nil
}
