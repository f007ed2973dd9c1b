package frames

import (
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline"
)

// Document is the stored form of a pipeline: its window, not its log. git-internal reads and
// writes the same JSON. MaxTokens is the only key that it does not have; it is left
// out when 0.
type Document struct {
	Header
	Frames []Frame
	// NextFrameID is at least one more than the last id. A lower number in a document is
	// corrected.
	NextFrameID   uint64
	Limits        Limits
	GlobalSummary string // empty for none
}

// MarshalJSON writes one object with the keys of the header and those of the document.
func (d Document) MarshalJSON() ([]byte, error) {
	if d.Frames == nil {
		d.Frames = []Frame{}
	}
	return json.Marshal(struct {
		Header
		Frames        []Frame `json:"frames"`
		NextFrameID   uint64  `json:"next_frame_id"`
		MaxFrames     uint32  `json:"max_frames"`
		MaxTokens     uint64  `json:"max_tokens,omitempty"`
		GlobalSummary string  `json:"global_summary,omitempty"`
	}{d.Header, d.Frames, d.NextFrameID, d.Limits.MaxFrames, d.Limits.MaxTokens, d.GlobalSummary})
}

// UnmarshalJSON reads a document strictly: unknown and repeated keys, a header of
// another type and ids that do not ascend are errors. On an error the document is
// unchanged.
func (d *Document) UnmarshalJSON(data []byte) error {
	var read Document
	err := decode.Object(data, read.members(
		decode.Optional("frames", &read.Frames), decode.Optional("next_frame_id", &read.NextFrameID),
		decode.Optional("max_frames", &read.Limits.MaxFrames), decode.Optional("max_tokens", &read.Limits.MaxTokens),
		decode.Optional("global_summary", &read.GlobalSummary))...)
	if err != nil {
		return fmt.Errorf("pipeline: %w", err)
	}
	if err := read.clean(); err != nil {
		return err
	}
	*d = read
	return nil
}

// clean checks a document and normalizes it.
func (d *Document) clean() error {
	if err := d.check(TypePipeline); err != nil {
		return fmt.Errorf("pipeline: %w", err)
	}
	for i := range d.Frames {
		f := &d.Frames[i]
		if err := f.clean(); err != nil {
			return fmt.Errorf("pipeline: frames[%d]: %w", i, err)
		}
		if i > 0 && f.ID <= d.Frames[i-1].ID {
			return fmt.Errorf("pipeline: frames[%d]: frame %d after %d: %w", i, f.ID, d.Frames[i-1].ID, ErrOrder)
		}
	}
	if d.NextFrameID > MaxFrameID+1 {
		return fmt.Errorf("pipeline: next_frame_id %d: %w (want %d or less)", d.NextFrameID, pipeline.ErrInvalid, uint64(MaxFrameID+1))
	}
	if n := len(d.Frames); n > 0 {
		// If it is absent or too low, ids would be assigned a second time.
		d.NextFrameID = max(d.NextFrameID, d.Frames[n-1].ID+1)
	}
	return nil
}
