package conversation

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/pipeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// quiet is a logger for failures that a test provokes.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// broken panics wherever it is called.
type broken struct{}

func (broken) Name() string                                          { return "broken" }
func (broken) Count(context.Context, ...string) ([]int, error)       { panic("boom") }
func (broken) Truncate(context.Context, string, int) (string, error) { panic("boom") }

// textLogger writes records without times.
func textLogger(to *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// compareAge compares items by time, and those of equal times by their sequence.
func compareAge(a, b pipeline.Item) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Sequence, b.Sequence))
}

func validateItems(items []pipeline.Item) error {
	for i := range items {
		if err := items[i].Validate(); err != nil {
			return err
		}
	}
	return nil
}
