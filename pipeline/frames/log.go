package frames

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/anchor-host/anchor-host/internal/decode"
	"github.com/anchor-host/anchor-host/pipeline"
)

// Errors that callers decide on.
var (
	// ErrOrder means that ids of frames do not ascend, or that a log has them already.
	ErrOrder = errors.New("frame ids out of order")
	// ErrNoFrame means that no frame has an id.
	ErrNoFrame = errors.New("no such frame")
)

// Limits bound a window. Protected frames stay even if they alone exceed the limits.
type Limits struct {
	// MaxFrames is the number of frames; 0 is no limit.
	MaxFrames uint32 `json:"max_frames,omitempty"`
	// MaxTokens is the sum of the weights ([Frame.Weight]); 0 is no limit.
	MaxTokens uint64 `json:"max_tokens,omitempty"`
}

// Record is one entry of a log: a frame, and the limits that its push applied. The window
// can be rebuilt from these.
type Record struct {
	Frame
	Limits
}

// UnmarshalJSON reads a record as strictly as a frame. On an error it is unchanged.
func (r *Record) UnmarshalJSON(data []byte) error {
	var read Record
	err := decode.Object(data, read.members(decode.Optional("max_frames", &read.MaxFrames), decode.Optional("max_tokens", &read.MaxTokens))...)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	if err := read.clean(); err != nil {
		return err
	}
	*r = read
	return nil
}

// Log holds every frame that was ever pushed to one pipeline. Implementations are safe for
// concurrent use, and keep only copies of their arguments. A log serves one writing
// [Pipeline] at a time; a second one gets [ErrOrder].
type Log interface {
	// Append adds records of ascending ids, all or none, and returns when they are as
	// durable as the log promises. If an id is not above the last one, the error is
	// ErrOrder. The ids of pushes have no gaps; those of a restored document may have some.
	// After an error the log holds all of the records or none; the pipeline reads the log
	// to find out.
	Append(ctx context.Context, records []Record) error
	// Read returns the records with an id of at least from, ascending, at most limit of
	// them; a limit of 0 means all. After the last record it returns an empty list.
	Read(ctx context.Context, from uint64, limit int) ([]Record, error)
}

// MemoryLog is a Log in memory. The zero value is empty and ready for use.
type MemoryLog struct {
	mu      sync.RWMutex
	records []Record
}

// Append adds records. See [Log].
func (l *MemoryLog) Append(ctx context.Context, records []Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := checkOrder(l.records, records); err != nil {
		return err
	}
	for i := range records {
		l.records = append(l.records, records[i].clone())
	}
	return nil
}

func (r *Record) clone() Record { return Record{Frame: r.Frame.clone(), Limits: r.Limits} }

// checkOrder refuses new records that do not ascend from the last of the old ones.
func checkOrder(before, records []Record) error {
	last, any := uint64(0), false
	if n := len(before); n > 0 {
		last, any = before[n-1].ID, true
	}
	for i := range records {
		if any && records[i].ID <= last {
			return fmt.Errorf("log: frame %d after %d: %w (has another pipeline written to the log?)", records[i].ID, last, ErrOrder)
		}
		last, any = records[i].ID, true
	}
	return nil
}

// Read returns records from an id on. See [Log].
func (l *MemoryLog) Read(ctx context.Context, from uint64, limit int) ([]Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if limit < 0 {
		return nil, fmt.Errorf("log: limit %d: %w (want 0 or more)", limit, pipeline.ErrInvalid)
	}
	l.mu.RLock()
	found := l.records[l.index(from):]
	l.mu.RUnlock()
	if limit > 0 && len(found) > limit {
		found = found[:limit]
	}
	// Records never change, so copying needs no lock.
	out := slices.Clone(found)
	for i := range out {
		out[i].Data = slices.Clone(out[i].Data)
	}
	return out, nil
}

// index returns the index of the first record with an id of at least from. If the ids have
// no gaps, the index is the difference between from and the first id.
func (l *MemoryLog) index(from uint64) int {
	n := len(l.records)
	if n == 0 || from <= l.records[0].ID {
		return 0
	}
	end := n
	if ahead := from - l.records[0].ID; ahead < uint64(n) {
		if end = int(ahead); l.records[end].ID == from {
			return end
		}
	}
	return sort.Search(end, func(i int) bool { return l.records[i].ID >= from })
}

// Len returns the number of records.
func (l *MemoryLog) Len() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.records)
}

var _ Log = (*MemoryLog)(nil)
