package frames

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
)

func records(ids ...uint64) []Record {
	out := make([]Record, len(ids))
	for i, id := range ids {
		out[i] = Record{Frame: Frame{ID: id, Kind: ToolCall, CreatedAt: epoch, Data: json.RawMessage("1")}, Limits: Limits{MaxFrames: 5}}
	}
	return out
}

func readIDs(t *testing.T, l Log, from uint64, limit int) []uint64 {
	t.Helper()
	found, err := l.Read(t.Context(), from, limit)
	if err != nil {
		t.Fatal(err)
	}
	return Window{Frames: framesOf(found)}.IDs()
}

func framesOf(records []Record) []Frame {
	out := make([]Frame, len(records))
	for i := range records {
		out[i] = records[i].Frame
	}
	return out
}

func TestMemoryLogReadsFromAnID(t *testing.T) {
	var l MemoryLog
	wantIDs(t, readIDs(t, &l, 0, 0))
	for _, part := range [][]uint64{{3, 4, 5}, {}, {9, 10}, {20}} {
		if err := l.Append(t.Context(), records(part...)); err != nil {
			t.Fatal(err)
		}
	}
	wantIDs(t, readIDs(t, &l, 0, 0), 3, 4, 5, 9, 10, 20)
	wantIDs(t, readIDs(t, &l, 3, 1), 3)
	wantIDs(t, readIDs(t, &l, 5, 2), 5, 9)
	wantIDs(t, readIDs(t, &l, 6, 2), 9, 10)
	wantIDs(t, readIDs(t, &l, 10, 9), 10, 20)
	wantIDs(t, readIDs(t, &l, 11, 1), 20)
	wantIDs(t, readIDs(t, &l, 21, 1))
	wantIDs(t, readIDs(t, &l, 1<<63, 0))
	if _, err := l.Read(t.Context(), 0, -1); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("negative limit: %v", err)
	}
}

func TestMemoryLogAppendsAllOrNone(t *testing.T) {
	var l MemoryLog
	for _, part := range [][]uint64{{5, 5}, {5, 4}} {
		if err := l.Append(t.Context(), records(part...)); !errors.Is(err, ErrOrder) || l.Len() != 0 {
			t.Errorf("%v: %v, %d records", part, err, l.Len())
		}
	}
	if err := l.Append(t.Context(), records(5)); err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]uint64{{5}, {0}, {6, 7, 7}} {
		if err := l.Append(t.Context(), records(part...)); !errors.Is(err, ErrOrder) || l.Len() != 1 {
			t.Errorf("%v: %v, %d records", part, err, l.Len())
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Append(ended, records(6)); !errors.Is(err, context.Canceled) || l.Len() != 1 {
		t.Errorf("ended context: %v", err)
	}
	if _, err := l.Read(ended, 0, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
}

func TestMemoryLogSharesNothing(t *testing.T) {
	var l MemoryLog
	given := records(1)
	if err := l.Append(t.Context(), given); err != nil {
		t.Fatal(err)
	}
	given[0].Data[0] = '2'
	for range 2 {
		read, err := l.Read(t.Context(), 0, 0)
		if err != nil || string(read[0].Data) != "1" || read[0].MaxFrames != 5 {
			t.Fatalf("read %+v, %v", read, err)
		}
		read[0].Data[0] = '3'
	}
}

// shuffledLog gives back what no log may.
type shuffledLog struct{ MemoryLog }

func (*shuffledLog) Read(_ context.Context, from uint64, _ int) ([]Record, error) {
	return append(records(from+1), records(from)...), nil
}

func TestRestoreChecksTheLog(t *testing.T) {
	d := newPipeline(t, Config{}).Document()
	if _, err := Restore(t.Context(), d, Config{Log: new(shuffledLog)}); !errors.Is(err, ErrOrder) {
		t.Errorf("a log out of order: %v", err)
	}
	var broken MemoryLog
	bad := records(0)
	bad[0].Kind = "none"
	if err := broken.Append(t.Context(), bad); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), d, Config{Log: &broken}); !errors.Is(err, pipeline.ErrInvalid) {
		t.Errorf("a log with a broken frame: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Restore(ended, d, Config{}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: %v", err)
	}
}
