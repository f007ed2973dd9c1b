package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestMissing(t *testing.T) {
	lost := missing("round-1", []string{"a", "b", "c"}, []string{"c", "a", "c", "x"})
	if len(lost) != 2 || !strings.Contains(lost[0].Error(), `"b" is stored 0 times`) || !strings.Contains(lost[1].Error(), `"c" is stored 2 times`) {
		t.Errorf("b is lost and c is there twice, got %v", lost)
	}
	if lost := missing("round-1", []string{"a"}, []string{"b", "a"}); lost != nil {
		t.Errorf("what was not acknowledged may be there, got %v", lost)
	}
}

// A missed target fails the run, and a short run judges no speed.
func TestRows(t *testing.T) {
	var b bytes.Buffer
	s := &suite{report: report{out: &b}, short: true}
	s.growth("memory", 100, 104, 0.05, mib)
	s.heapGrowth(10<<20, 12<<20, 0.1)
	s.speed("throughput", "10 %", "at least 60 %", false, "")
	if s.missed != 0 {
		t.Errorf("no row is missed, got %d:\n%s", s.missed, &b)
	}
	s.growth("memory", 100, 106, 0.05, mib)
	s.heapGrowth(10<<20, 13<<20, 0.1)
	s.short = false
	s.speed("throughput", "10 %", "at least 60 %", false, "")
	if s.missed != 3 || strings.Count(b.String(), "MISSED") != 3 {
		t.Errorf("three rows are missed, got %d:\n%s", s.missed, &b)
	}
}

func TestPercentile(t *testing.T) {
	var list []time.Duration
	for i := range 100 {
		list = append(list, time.Duration(100-i)*time.Millisecond)
	}
	if p50, p99 := percentile(list, 0.5), percentile(list, 0.99); p50 != 51*time.Millisecond || p99 != 100*time.Millisecond {
		t.Errorf("p50 %s, p99 %s", p50, p99)
	}
	if percentile(nil, 0.5) != 0 || median(nil) != 0 || median([]float64{3, 1, 2}) != 2 {
		t.Error("wrong middle value")
	}
}

// Successes, refusals and failures are counted apart, each once.
func TestLoops(t *testing.T) {
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Header.Get("Authorization") != "Bearer k" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch n.Add(1) % 4 {
		case 0:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 1:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	c := newClient(server.URL, "k", 4)
	defer c.CloseIdleConnections()
	once := func(ctx context.Context) error {
		_, err := c.send(ctx, http.MethodPost, "/", "application/json", []byte("{}"))
		return err
	}
	got := closedLoop(t.Context(), 4, times(40), once)
	if len(got.times) != 20 || got.refused != 10 || got.failed != 10 || got.first == nil {
		t.Errorf("closed loop: %d, refused %d, failed %d (%v)", len(got.times), got.refused, got.failed, got.first)
	}
	got = openLoop(t.Context(), 200, 200*time.Millisecond, 100, once)
	if len(got.times) != 20 || got.refused != 10 || got.failed != 10 {
		t.Errorf("open loop: %d, refused %d, failed %d", len(got.times), got.refused, got.failed)
	}
	c.key = "wrong"
	var status *statusError
	if err := once(t.Context()); !errors.As(err, &status) || status.status != http.StatusUnauthorized {
		t.Errorf("want status 401, got %v", err)
	}
}

// An open loop does not wait for answers: those that find no place count as failed.
func TestOpenLoopDoesNotWait(t *testing.T) {
	block := make(chan struct{})
	time.AfterFunc(200*time.Millisecond, func() { close(block) })
	got := openLoop(t.Context(), 100, 100*time.Millisecond, 2, func(context.Context) error {
		<-block
		return nil
	})
	if len(got.times) != 2 || got.failed != 8 {
		t.Errorf("want 2 answers and 8 failures, got %d and %d", len(got.times), got.failed)
	}
	if percentile(got.times, 0) < 150*time.Millisecond {
		t.Errorf("the time counts from when a request is due, got %s", percentile(got.times, 0))
	}
}

func TestBuildRequests(t *testing.T) {
	requests, err := buildRequests("../..")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Items []struct{ ID, Content string }
	}
	if err := json.Unmarshal(requests[0], &doc); err != nil || len(doc.Items) != ownItems || doc.Items[0].Content == doc.Items[1].Content {
		t.Errorf("want %d different items, got %d (%v)", ownItems, len(doc.Items), err)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"unknown"}, {"-count", "-1", "kill"}, {"kill", "soak"}} {
		var b bytes.Buffer
		if status := run(t.Context(), args, &b, &b); status != 2 {
			t.Errorf("%v: status %d, want 2", args, status)
		}
	}
}
