package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/anchor/eval"
)

// job is what one process measures.
type job struct {
	Set, Engine, Data, Table string
	Vectors, Short           bool
}

// figures are the results of a job. 0 means that a figure was not measured.
type figures struct {
	NDCG   float64 `json:"ndcg@10,omitempty"`
	Recall float64 `json:"recall@100,omitempty"`
	// Ingest is in MB of text a second of processor time, which other processes change little, and IngestWall in MB a
	// second on the clock.
	Ingest     float64 `json:"ingest_mb_cpu_s"`
	IngestWall float64 `json:"ingest_mb_s"`
	// P50 and P99 are milliseconds of a query on the clock, and CPU the mean milliseconds of the processor.
	P50  float64 `json:"query_p50_ms,omitempty"`
	P99  float64 `json:"query_p99_ms,omitempty"`
	CPU  float64 `json:"query_cpu_ms,omitempty"`
	Disk int64   `json:"disk_bytes,omitempty"`
	// Peak is by how many bytes the process grew from before the ingestion to its end, at most.
	Peak int64 `json:"peak_bytes"`

	Documents int   `json:"documents"`
	Questions int   `json:"questions"`
	Bytes     int64 `json:"bytes"`
}

// runJob measures one job and writes its figures as JSON.
func runJob(ctx context.Context, text string, stdout io.Writer) error {
	j := &job{}
	if err := json.Unmarshal([]byte(text), j); err != nil {
		return err
	}
	runtime.GOMAXPROCS(1)
	dir, err := os.MkdirTemp("", "retrieve-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	measure := measureIndex
	if j.Set == setFiles {
		measure = ingestFiles
	}
	f, err := measure(ctx, j, dir)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(f)
}

// measureIndex measures one engine with one set.
func measureIndex(ctx context.Context, j *job, dir string) (*figures, error) {
	e, err := engineOf(j.Engine)
	if err != nil {
		return nil, err
	}
	c, err := load(ctx, j)
	if err != nil {
		return nil, err
	}
	x, err := e.open(ctx, dir, c.dim)
	if err != nil {
		return nil, err
	}
	f := &figures{Documents: len(c.documents), Questions: len(c.questions), Bytes: int64(c.bytes)}
	before := startPeak()
	w := startWatch()
	if err := fill(ctx, x, c.documents); err != nil {
		return nil, err
	}
	f.ingested(w, before)
	if err := f.quality(ctx, x, c.questions); err != nil {
		return nil, err
	}
	if err := f.queries(ctx, x, c.questions, short(j, 3, 1)); err != nil {
		return nil, err
	}
	if err := x.close(); err != nil {
		return nil, err
	}
	f.Disk, err = diskBytes(dir)
	return f, err
}

// batchBytes is the size of a batch, which all engines take whole.
const batchBytes = 2 << 20

// fill ingests the documents in batches.
func fill(ctx context.Context, x index, docs []document) error {
	for len(docs) > 0 {
		n, bytes := 0, 0
		for n < len(docs) && bytes < batchBytes {
			bytes += len(docs[n].title) + len(docs[n].text)
			n++
		}
		if err := x.add(ctx, docs[:n]); err != nil {
			return err
		}
		docs = docs[n:]
	}
	return x.finish(ctx)
}

// ingested sets the figures of an ingestion that began at w.
func (f *figures) ingested(w watch, before int64) {
	wall, cpu := w.stop()
	f.Ingest = float64(f.Bytes) / 1e6 / cpu.Seconds()
	f.IngestWall = float64(f.Bytes) / 1e6 / wall.Seconds()
	f.Peak = peakBytes() - before
}

// quality judges the answers, and warms up the index.
func (f *figures) quality(ctx context.Context, x index, questions []question) error {
	for i := range questions {
		q := &questions[i]
		ids, err := x.search(ctx, q, 100)
		if err != nil {
			return fmt.Errorf("%q: %w", q.text, err)
		}
		if len(ids) == 0 {
			return fmt.Errorf("%q: nothing was found", q.text)
		}
		if q.grades != nil {
			s := eval.NewScored(ids, q.grades)
			f.NDCG += eval.Metric{Kind: "ndcg", K: 10}.Of(s) / float64(len(questions))
			f.Recall += eval.Metric{Kind: "recall", K: 100}.Of(s) / float64(len(questions))
		}
	}
	return nil
}

// queries measures the time of the best ten documents.
func (f *figures) queries(ctx context.Context, x index, questions []question, passes int) error {
	var times []time.Duration
	all := startWatch()
	for range passes {
		for i := range questions {
			w := startWatch()
			if _, err := x.search(ctx, &questions[i], 10); err != nil {
				return err
			}
			wall, _ := w.stop()
			times = append(times, wall)
		}
	}
	_, cpu := all.stop()
	slices.Sort(times)
	f.P50, f.P99 = ms(times[len(times)/2]), ms(times[len(times)*99/100])
	f.CPU = ms(cpu) / float64(len(times))
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// watch measures time on the clock and of the processor.
type watch struct {
	wall time.Time
	cpu  time.Duration
}

func startWatch() watch { return watch{time.Now(), cpuTime()} }

func (w watch) stop() (wall, cpu time.Duration) { return time.Since(w.wall), cpuTime() - w.cpu }

// startPeak forgets how large the process has been, and returns how large it is.
func startPeak() int64 {
	debug.FreeOSMemory()
	resetPeak()
	return peakBytes()
}

// diskBytes is the size of all files of an index that is closed.
func diskBytes(dir string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
