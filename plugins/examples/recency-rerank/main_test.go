package main

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func call(settings string, items ...abi.Item) pdktest.Call {
	return pdktest.Call{
		Op:      abi.OpRerank,
		Request: &abi.ItemsRequest{Items: items, Settings: json.RawMessage(settings)},
		Reads:   []string{"score", "created_at"},
		Writes:  []abi.Change{abi.ChangeScore},
	}
}

func TestRerank(t *testing.T) {
	got := call(`{"half_life": "24h", "weight": 0.5, "missing": 0, "now": "2026-01-31T12:00:00Z"}`,
		abi.Item{Score: 0.8, CreatedAt: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)},
		abi.Item{Score: 0.8, CreatedAt: time.Date(2026, 1, 30, 12, 0, 0, 0, time.UTC)},
		abi.Item{Score: 0.8},
	).Run(t)
	want := []float64{0.9, 0.65, 0.4}
	if len(got.Scores) != len(want) {
		t.Fatalf("scores %v", got.Scores)
	}
	for i, s := range got.Scores {
		if int(s.Row) != i || math.Abs(s.Score-want[i]) > 1e-12 {
			t.Errorf("row %d has %v, want %v", s.Row, s.Score, want[i])
		}
	}
}

// TestRerankByTheClock asks in one lane after the other: the clock goes on
// between them, so that the answers are not the same to the last digit.
func TestRerankByTheClock(t *testing.T) {
	c := call(`{"half_life": "1h", "weight": 1}`,
		abi.Item{Score: 0.5, CreatedAt: time.Now().Add(-1000 * time.Hour)},
		abi.Item{Score: 0.5, CreatedAt: time.Now().Add(time.Hour)},
	)
	for _, lane := range []pdktest.Lane{pdktest.JSON, pdktest.Batch} {
		got, err := c.In(lane)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Scores) != 2 || got.Scores[0].Score > 0.001 || got.Scores[1].Score != 1 {
			t.Errorf("%s lane: scores %v", lane, got.Scores)
		}
	}
}

func TestNoItems(t *testing.T) {
	if got := call(``).Run(t); len(got.Scores) != 0 {
		t.Errorf("scores %v", got.Scores)
	}
}
