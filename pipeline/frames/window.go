package frames

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline"
)

// Positions is a half-open range of indices of the frame list of a pipeline at one moment.
// After an eviction the same indices name other frames; ids do not change.
type Positions struct{ Start, End uint32 }

// MarshalJSON writes [start, end].
func (p Positions) MarshalJSON() ([]byte, error) { return json.Marshal([2]uint32{p.Start, p.End}) }

// UnmarshalJSON reads [start, end]. It does not check that end comes after start. On an
// error the range is unchanged.
func (p *Positions) UnmarshalJSON(data []byte) error {
	var pair []uint32
	if err := decode.Value("", data, &pair); err != nil {
		return err
	}
	if len(pair) != 2 {
		return fmt.Errorf("%d positions: %w (want start and end)", len(pair), pipeline.ErrInvalid)
	}
	*p = Positions{pair[0], pair[1]}
	return nil
}

// Window holds the visible frames of a pipeline at one moment. It shares nothing with the
// pipeline.
type Window struct {
	Pipeline UUID
	// Frames are ordered by id.
	Frames []Frame
	// Positions is the range from the first to the last frame in the frame list of that
	// moment. It includes frames between them that the window leaves out.
	Positions Positions
}

// IDs returns the ids of the frames.
func (w Window) IDs() []uint64 {
	ids := make([]uint64, len(w.Frames))
	for i := range w.Frames {
		ids[i] = w.Frames[i].ID
	}
	return ids
}

// Slice returns the frames at the given indices of the frame list that the window has. If
// the window leaves frames out, the indices count the frames that it has, from
// Positions.Start on.
func (w Window) Slice(p Positions) Window {
	n := uint32(min(len(w.Frames), math.MaxUint32))
	first := w.Positions.Start
	start := min(max(p.Start, first)-first, n)
	end := max(start, min(max(p.End, first)-first, n))
	return Window{
		Pipeline:  w.Pipeline,
		Frames:    w.Frames[start:end:end],
		Positions: Positions{first + start, first + end},
	}
}

// TotalTokenEstimate is the sum of the estimates that are there, at most 2^64-1.
func (w Window) TotalTokenEstimate() uint64 {
	var sum uint64
	for i := range w.Frames {
		sum = addEstimate(sum, &w.Frames[i])
	}
	return sum
}

func addEstimate(sum uint64, f *Frame) uint64 {
	n, _ := f.TokenEstimate.Get()
	if sum += n; sum < n {
		return math.MaxUint64
	}
	return sum
}
