package agent

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/pipeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBoom = errors.New("boom")

var seedEpoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// textLogger writes records without times.
func textLogger(to *bytes.Buffer) *slog.Logger {
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// fromJSON reads a message with a role and other members, in JSON.
func fromJSON(role pipeline.Role, members string) (m pipeline.Message) {
	if err := m.UnmarshalJSON([]byte(`{"role":"` + string(role) + `",` + members + `}`)); err != nil {
		panic(err)
	}
	return m
}
