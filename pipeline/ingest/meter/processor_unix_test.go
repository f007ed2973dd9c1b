//go:build unix

package meter_test

import (
	"errors"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

// TestBusyMachine holds that a file is not refused because others use the processors.
func TestBusyMachine(t *testing.T) {
	m := meter.New(t.Context(), meter.Budget{Work: 1 << 60, Time: 300 * time.Millisecond})
	time.Sleep(400 * time.Millisecond)
	if !m.Work(1 << 20) {
		t.Fatal(m.Err())
	}
	for m.Work(1000) {
	}
	if !errors.Is(m.Err(), meter.ErrCostly) {
		t.Errorf("error %v", m.Err())
	}
}
