package telemetry

import (
	"math"

	dto "github.com/prometheus/client_model/go"
)

// Totals are sums of metrics since the program began. The difference of two says what happened in
// between.
type Totals struct {
	// Builds and Failed count the builds and assemblies that ended, and those of them that failed.
	Builds, Failed float64
	// Buckets count the builds that took at most Bounds seconds, each bucket with those before it.
	// The last bound is infinite.
	Bounds, Buckets []float64
	// Skips counts what builds continued without.
	Skips float64
	// In and Out are the tokens of items that are in windows, and of those that were left out, by
	// source.
	In, Out map[string]float64
	// Common and New are the tokens that prompts shared with the one before, and the others.
	Common, New float64
	// CostUSD is what models cost, in US dollars, as far as prices are known.
	CostUSD float64
	// Running is the number of requests that are being answered.
	Running float64
}

// Totals reads the metrics.
func (t *Telemetry) Totals() (Totals, error) {
	out := Totals{In: map[string]float64{}, Out: map[string]float64{}}
	families, err := t.metrics.registry.Gather()
	for _, f := range families {
		for _, m := range f.GetMetric() {
			out.add(f.GetName(), m)
		}
	}
	return out, err
}

func (t *Totals) add(name string, m *dto.Metric) {
	n := m.GetCounter().GetValue()
	switch name {
	case metricBuilds:
		t.Builds += n
		if label(m, "outcome") == "failed" {
			t.Failed += n
		}
	case metricBuildDuration:
		t.addBuckets(m.GetHistogram())
	case metricSkips:
		t.Skips += n
	case metricTokens:
		by := t.In
		if label(m, "decision") == "out" {
			by = t.Out
		}
		by[label(m, "source")] += n
	case metricPrefixTokens:
		if label(m, "kind") == "common" {
			t.Common += n
		} else {
			t.New += n
		}
	case metricCost:
		t.CostUSD += n
	case metricRunning:
		t.Running = m.GetGauge().GetValue()
	}
}

// addBuckets adds a histogram. All of a metric have the same bounds.
func (t *Totals) addBuckets(h *dto.Histogram) {
	if t.Buckets == nil {
		for _, b := range h.GetBucket() {
			t.Bounds = append(t.Bounds, b.GetUpperBound())
		}
		t.Bounds = append(t.Bounds, math.Inf(1))
		t.Buckets = make([]float64, len(t.Bounds))
	}
	for i, b := range h.GetBucket() {
		t.Buckets[i] += float64(b.GetCumulativeCount())
	}
	t.Buckets[len(t.Buckets)-1] += float64(h.GetSampleCount())
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
