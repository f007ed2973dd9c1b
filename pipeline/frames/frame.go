package frames

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline"
)

// MaxFrameID is the highest id of a frame. It leaves room for one more, so that the
// next id fits into 63 bits as well.
const MaxFrameID = math.MaxInt64 - 1

// Frame is a short record of something that an agent did or found. It does not change once
// it is in a pipeline.
type Frame struct {
	// ID is assigned by the pipeline. Push ignores the ID of its argument.
	ID   uint64 `json:"frame_id"`
	Kind Kind   `json:"kind"`
	// Summary is the text for a model.
	Summary string `json:"summary"`
	// Data is any JSON value, for programs. It is nil if there is none.
	Data json.RawMessage `json:"data,omitempty"`
	// CreatedAt is filled in by the pipeline when zero.
	CreatedAt time.Time `json:"created_at"`
	// TokenEstimate is the caller's estimate of the frame's tokens. It is absent by
	// default.
	TokenEstimate Estimate `json:"token_estimate,omitzero"`
}

// Estimate is a number of tokens that may be absent. The zero value is absent.
type Estimate struct {
	tokens uint64
	known  bool
}

// Tokens returns an estimate of n tokens.
func Tokens(n uint64) Estimate { return Estimate{tokens: n, known: true} }

// Get returns the tokens and whether there is an estimate.
func (e Estimate) Get() (tokens uint64, ok bool) { return e.tokens, e.known }

// IsZero reports whether there is no estimate.
func (e Estimate) IsZero() bool { return !e.known }

// MarshalJSON writes a number, or null.
func (e Estimate) MarshalJSON() ([]byte, error) {
	if !e.known {
		return []byte("null"), nil
	}
	return json.Marshal(e.tokens)
}

// UnmarshalJSON reads a number, or null. On an error the estimate is unchanged.
func (e *Estimate) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*e = Estimate{}
		return nil
	}
	var n uint64
	if err := decode.Value("", data, &n); err != nil {
		return err
	}
	*e = Tokens(n)
	return nil
}

// maxWeight bounds the weight of a frame so that no sum of weights overflows.
const maxWeight = math.MaxUint32

// Weight returns the tokens that eviction counts for the frame: its estimate, or,
// when it has none, a quarter of the characters of summary and data, at least 1.
func (f *Frame) Weight() uint64 {
	if n, ok := f.TokenEstimate.Get(); ok {
		return min(n, maxWeight)
	}
	chars := utf8.RuneCountInString(f.Summary) + utf8.RuneCount(f.Data)
	return min(max(1, uint64(chars+3)/4), maxWeight)
}

// CountTokens sets the estimate to the tokens of summary and data.
func (f *Frame) CountTokens(ctx context.Context, t pipeline.Tokenizer) error {
	counts, err := t.Count(ctx, f.Summary, string(f.Data))
	switch {
	case err != nil:
		return fmt.Errorf("frame: count tokens: %w", err)
	case len(counts) != 2 || counts[0] < 0 || counts[1] < 0:
		return fmt.Errorf("frame: count tokens: %v: %w (want two counts)", counts, pipeline.ErrInvalid)
	}
	f.TokenEstimate = Tokens(uint64(counts[0]) + uint64(counts[1]))
	return nil
}

// UnmarshalJSON reads a frame strictly: unknown and repeated keys, and numbers out of
// bounds, are errors. On an error the frame is unchanged.
func (f *Frame) UnmarshalJSON(data []byte) error {
	var read Frame
	if err := decode.Object(data, read.members()...); err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	if err := read.clean(); err != nil {
		return err
	}
	*f = read
	return nil
}

// members returns the members of a frame, and others of the same object.
func (f *Frame) members(others ...decode.Member) []decode.Member {
	return append(others,
		decode.Required("frame_id", &f.ID), decode.Required("kind", &f.Kind), decode.Required("summary", &f.Summary),
		decode.Optional("data", &f.Data), decode.Required("created_at", &f.CreatedAt), decode.Optional("token_estimate", &f.TokenEstimate))
}

// clean checks a frame and normalizes it. The result shares nothing with the given frame.
func (f *Frame) clean() error {
	if f.ID > MaxFrameID {
		return fmt.Errorf("frame: frame_id %d: %w (want %d or less)", f.ID, pipeline.ErrInvalid, uint64(MaxFrameID))
	}
	if !f.Kind.Valid() {
		return fmt.Errorf("frame: kind %.100q: %w (want one of %v, or Other)", string(f.Kind), pipeline.ErrInvalid, Kinds)
	}
	data, err := cleanJSON(f.Data)
	if err != nil {
		return fmt.Errorf("frame: data: %w (want JSON)", err)
	}
	f.Data = data
	f.Summary = strings.ToValidUTF8(f.Summary, "\uFFFD")
	if err := cleanTime(&f.CreatedAt); err != nil {
		return fmt.Errorf("frame: created_at: %w", err)
	}
	return nil
}

// clone returns a copy that shares nothing.
func (f *Frame) clone() Frame {
	out := *f
	out.Data = slices.Clone(f.Data)
	return out
}
