package telemetry

import (
	"math"
	"testing"
	"time"
)

// Totals say what the metrics say.
func TestTotals(t *testing.T) {
	tel, err := New(Options{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	m := tel.metrics
	m.builds.WithLabelValues("other", "ok").Add(3)
	m.builds.WithLabelValues("gold", "failed").Add(2)
	m.skips.WithLabelValues("rerank", "timeout").Add(4)
	m.tokens.WithLabelValues("tool", "in").Add(100)
	m.tokens.WithLabelValues("tool", "out").Add(20)
	m.tokens.WithLabelValues("memory", "in").Add(7)
	m.prefix.WithLabelValues("common").Add(30)
	m.prefix.WithLabelValues("new").Add(10)
	m.cost.WithLabelValues("m", "other").Add(0.5)
	m.running.Set(2)
	for _, took := range []time.Duration{time.Millisecond, 40 * time.Millisecond, time.Hour} {
		m.buildTime.WithLabelValues("p", "ok").Observe(took.Seconds())
		m.buildTime.WithLabelValues("q", "failed").Observe(took.Seconds())
	}
	got, err := tel.Totals()
	if err != nil {
		t.Fatal(err)
	}
	if got.Builds != 5 || got.Failed != 2 || got.Skips != 4 || got.In["tool"] != 100 || got.Out["tool"] != 20 || got.In["memory"] != 7 ||
		got.Common != 30 || got.New != 10 || got.CostUSD != 0.5 || got.Running != 2 {
		t.Errorf("%+v", got)
	}
	n := len(got.Bounds)
	if n != len(bucketsLong)+1 || len(got.Buckets) != n || !math.IsInf(got.Bounds[n-1], 1) {
		t.Fatalf("%v, %v", got.Bounds, got.Buckets)
	}
	if got.Buckets[0] != 2 || got.Buckets[n-2] != 4 || got.Buckets[n-1] != 6 {
		t.Errorf("%v", got.Buckets)
	}
}
