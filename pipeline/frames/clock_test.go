package frames

import (
	"testing"
	"time"
)

// Frames are in the order in which they were pushed, and their ids rise, when the clock jumps back and
// forth, also before the first day that a UUID can have.
func TestFramesWhenTheClockJumps(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	start := now
	p := newPipeline(t, Config{Now: func() time.Time { return now }})
	jumps := []time.Duration{0, time.Hour, -time.Hour, 0, -876_000 * time.Hour, 0}
	seen := map[UUID]bool{}
	for i, jump := range jumps {
		now = start.Add(jump)
		if id, err := p.Push(t.Context(), Frame{Kind: ToolCall, Summary: "x"}); err != nil || id != uint64(i) {
			t.Errorf("at %v from then: frame %d, %v, want %d", jump, id, err, i)
		}
		for range 100 { // of the same time: none twice
			id := NewUUID(now)
			if again, err := ParseUUID(id.String()); err != nil || again != id || seen[id] {
				t.Errorf("at %v from then: id %s, %v, seen before: %v", jump, id, err, seen[id])
			}
			seen[id] = true
		}
	}
	w := p.Window()
	if len(w.Frames) != len(jumps) {
		t.Fatalf("the window has %d frames, want %d", len(w.Frames), len(jumps))
	}
	for i, f := range w.Frames {
		if f.ID != uint64(i) || !f.CreatedAt.Equal(start.Add(jumps[i])) {
			t.Errorf("frame %d of the window: %d of %v, want that of %v", i, f.ID, f.CreatedAt, start.Add(jumps[i]))
		}
	}
}
