package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
)

// fiftyItems is a request with 50 items of a pipeline, as a program with a retriever of its own
// sends it.
func fiftyItems() string {
	var b strings.Builder
	b.WriteString(`{"query": "how do deadlines work", "pipeline": "p", "items": [`)
	for i := range 50 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id": "doc-%d", "content": "%s", "source": "retrieval", "score": 0.%d, "metadata": {"path": "docs/%d.md", "line": %d}}`, i, strings.Repeat("a deadline ends a build when its time is up ", 10), 10+i, i, i)
	}
	b.WriteString("]}")
	return b.String()
}

const benchConfig = "counting: {tokenizer: words}\npipelines: {p: {window: {max_tokens: 3000}, steps: [{name: s, use: sort}, {name: k, use: top_k, top_k: 30}]}}\n"

// fiftyKB is a request with 50 items of 1 KB, none of which is left out.
func fiftyKB() string {
	var b strings.Builder
	b.WriteString(`{"query": "how do deadlines work", "window": {"max_tokens": 20000}, "items": [`)
	for i := range 50 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id": "doc-%d", "content": "%s", "source": "retrieval", "score": 0.%d}`, i, strings.Repeat(fmt.Sprintf("a deadline ends build %d when its time is up ", i*i), 22), 10+i)
	}
	b.WriteString("]}")
	return b.String()
}

// percentile returns the value below which a share of the sorted values lies.
func percentile(sorted []time.Duration, share float64) time.Duration {
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))]
}

// BenchmarkOverhead measures one client: the median of a request, of the same build in the process,
// and their difference. The client is that of Go as it comes, which asks for gzip.
func BenchmarkOverhead(b *testing.B) {
	for _, c := range []struct{ name, doc string }{{"empty", `{"query": "q"}`}, {"pipeline", fiftyItems()}, {"50KB", fiftyKB()}} {
		b.Run(c.name, func(b *testing.B) { overhead(b, c.doc) })
	}
}

func overhead(b *testing.B, doc string) {
	l := start(b, benchConfig, Options{Unwatched: true})
	l.client = &http.Client{}
	b.Cleanup(l.client.CloseIdleConnections)
	measure := func(once func()) time.Duration {
		times := make([]time.Duration, 0, b.N)
		for range min(b.N, 100) {
			once()
		}
		for range b.N {
			begin := time.Now()
			once()
			times = append(times, time.Since(begin))
		}
		slices.Sort(times)
		return percentile(times, 0.5)
	}
	inside := measure(func() {
		if _, err := l.app.BuildRequest(b.Context(), "request", strings.NewReader(doc), anchor.BuildOptions{}); err != nil {
			b.Fatal(err)
		}
	})
	b.ResetTimer()
	outside := measure(func() { post(b, l, doc) })
	b.ReportMetric(float64(inside.Microseconds()), "µs-in-process")
	b.ReportMetric(float64(outside.Microseconds()), "µs-request")
	b.ReportMetric(float64((outside - inside).Microseconds()), "µs-overhead")
}

func post(b *testing.B, l *live, doc string) {
	resp, err := l.client.Post("http://"+l.data+"/v1/builds", "application/json", bytes.NewReader([]byte(doc)))
	if err != nil {
		b.Error(err)
		return
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		b.Errorf("status %d, %v", resp.StatusCode, err)
	}
}

// BenchmarkThroughput measures 64 clients: builds of a second, beside those of 64 goroutines in the
// process, and the 50th and 99th percentile of a request.
func BenchmarkThroughput(b *testing.B) {
	const clients = 64
	l := start(b, benchConfig, Options{Unwatched: true})
	doc := fiftyItems()
	measure := func(once func()) (perSecond float64, times []time.Duration) {
		var mu sync.Mutex
		var wg sync.WaitGroup
		begin := time.Now()
		for range clients {
			wg.Go(func() {
				own := make([]time.Duration, 0, b.N/clients+1)
				for range b.N/clients + 1 {
					start := time.Now()
					once()
					own = append(own, time.Since(start))
				}
				mu.Lock()
				defer mu.Unlock()
				times = append(times, own...)
			})
		}
		wg.Wait()
		perSecond = float64(len(times)) / time.Since(begin).Seconds()
		slices.Sort(times)
		return perSecond, times
	}
	inside, _ := measure(func() {
		if _, err := l.app.BuildRequest(b.Context(), "request", strings.NewReader(doc), anchor.BuildOptions{}); err != nil {
			b.Error(err)
		}
	})
	b.ResetTimer()
	outside, times := measure(func() { post(b, l, doc) })
	p50, p99 := percentile(times, 0.5), percentile(times, 0.99)
	b.ReportMetric(inside, "builds/s-in-process")
	b.ReportMetric(outside, "builds/s")
	b.ReportMetric(100*outside/inside, "%-of-in-process")
	b.ReportMetric(float64(p50.Microseconds()), "µs-p50")
	b.ReportMetric(float64(p99)/float64(p50), "p99/p50")
}
