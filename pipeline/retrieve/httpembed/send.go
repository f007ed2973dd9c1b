package httpembed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/anchor-host/anchor-host/internal/apiclient"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// maxTimeouts is how many requests for a text may get no answer in time, each with half of the texts of
// the one before. A single text is asked for twice.
const maxTimeouts = 4

// request is the body of a request.
type request struct {
	Model      string   `json:"model"`
	Input      []string `json:"input"`
	Dimensions int      `json:"dimensions,omitempty"`
	Encoding   string   `json:"encoding_format,omitempty"`
}

// send embeds texts with one request, which is repeated if that may help. If a slow server does not
// answer in time, the texts are sent in halves, and later requests have fewer texts too. dimension is 0
// if it is not known.
func (e *Embedder) send(ctx context.Context, texts []string, into [][]float32, dimension, timeouts int) error {
	err := e.post(ctx, texts, into, dimension)
	var failed *apiclient.Error
	if !errors.As(err, &failed) || failed.Kind != apiclient.Timeout || timeouts <= 1 {
		return err
	}
	if len(texts) == 1 {
		return e.send(ctx, texts, into, dimension, min(timeouts, 2)-1)
	}
	half := len(texts) / 2
	for most := e.most.Load(); most > int32(half) && !e.most.CompareAndSwap(most, int32(half)); most = e.most.Load() {
	}
	if err := e.send(ctx, texts[:half], into[:half], dimension, timeouts-1); err != nil {
		return err
	}
	return e.send(ctx, texts[half:], into[half:], dimension, timeouts-1)
}

// post embeds texts with one request.
func (e *Embedder) post(ctx context.Context, texts []string, into [][]float32, dimension int) error {
	body, err := json.Marshal(request{e.o.Model, texts, e.o.Dimensions, e.o.Encoding})
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	err = e.client.Post(ctx, apiclient.Request{
		Address: e.request, Body: body, MaxAnswer: maxAnswer(len(into), dimension),
		Read: func(answer io.Reader) error { return decode(answer, into, dimension) },
	})
	var failed *apiclient.Error
	if !errors.As(err, &failed) {
		return err
	}
	switch failed.Kind {
	case apiclient.Unavailable, apiclient.Timeout:
		return fmt.Errorf("%w: %w", retrieve.ErrUnavailable, err)
	case apiclient.TooLarge:
		return fmt.Errorf("%w: %w for %d vectors (is base_url that of an API for embeddings?)", retrieve.ErrVectors, err, len(into))
	}
	return err
}
