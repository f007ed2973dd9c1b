package meter_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

func TestMemory(t *testing.T) {
	m := meter.New(t.Context(), meter.Budget{Memory: 1000, Work: 1 << 20})
	if !m.Take(600) || !m.Take(400) || m.Held() != 1000 {
		t.Errorf("%d held, want 1000: %v", m.Held(), m.Err())
	}
	m.Give(900)
	if !m.Take(100) || m.Held() != 200 || m.Peak() != 1000 {
		t.Errorf("%d held, peak %d, want 200 and 1000", m.Held(), m.Peak())
	}
	if m.Take(801) || !errors.Is(m.Err(), meter.ErrCostly) || !strings.Contains(m.Err().Error(), "memory") {
		t.Errorf("error %v", m.Err())
	}
	m.Give(801)
	if m.Take(1) || m.Work(1) {
		t.Error("a draw succeeds after one that failed")
	}
}

func TestWork(t *testing.T) {
	m := meter.New(t.Context(), meter.Budget{Memory: 1000, Work: 1_000_000})
	n := 0
	for m.Work(100) {
		n++
	}
	if n != 10_000 || !strings.Contains(m.Err().Error(), "steps") {
		t.Errorf("%d draws, error %v", n, m.Err())
	}
	m = meter.New(t.Context(), meter.Budget{Work: 10})
	if m.Grow(100, 1_000_000); !m.Work(900_000) || !m.Take(100) || m.Work(200_000) {
		t.Errorf("error %v", m.Err())
	}
}

func TestEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := meter.New(ctx, meter.Budget{Work: 1 << 40})
	cancel()
	for m.Work(1000) {
	}
	if !errors.Is(m.Err(), context.Canceled) {
		t.Errorf("error %v", m.Err())
	}
	m = meter.New(t.Context(), meter.Budget{Work: 1 << 40, Time: time.Nanosecond})
	for m.Work(1000) {
	}
	if !errors.Is(m.Err(), meter.ErrCostly) || !strings.Contains(m.Err().Error(), "1ns") {
		t.Errorf("error %v", m.Err())
	}
}

// TestWait holds that a slow server does not use up the time of a file.
func TestWait(t *testing.T) {
	m := meter.New(t.Context(), meter.Budget{Work: 1 << 40, Time: time.Minute})
	failed := errors.New("failed")
	if err := m.Wait(func() error { return failed }); !errors.Is(err, failed) || !m.Work(1<<20) {
		t.Errorf("error %v, then %v", err, m.Err())
	}
}

func TestSlices(t *testing.T) {
	m := meter.New(t.Context(), meter.Budget{Memory: 1 << 10, Work: 1 << 20})
	var list []int64
	for i := range 1000 {
		list = meter.Append(m, list, int64(i))
	}
	if m.Err() == nil || len(list) > 100 || len(list) < 40 {
		t.Errorf("%d numbers in 1024 bytes, error %v", len(list), m.Err())
	}
	for i, n := range list {
		if n != int64(i) {
			t.Fatalf("number %d is %d", i, n)
		}
	}
	if _, ok := meter.Room(m, list, 1000); ok {
		t.Error("there is room after the budget is spent")
	}
}
