package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/hostile"
)

// The sizes of hostile files, at most: almost 1 MB, for which there are bounds without its size, and
// one that has to be bounded by its size.
const (
	smallFile = 1_000_000
	largeFile = 16 << 20
	// folderFile is the size of those of a folder.
	folderFile = 100_000
)

// shortFiles are the kinds of a short run, by size: those that took most memory and time.
var shortFiles = map[int][]string{
	smallFile: {
		"long mapping.pdf", "wide ranges.pdf", "ranges of long texts.pdf", "codes of long texts.pdf", "a bomb.pdf", "one stream again and again.pdf",
		"one page again and again.pdf", "no text at many places.pdf", "tables.docx", "lists.html", "headings.md", "empty objects.jsonl",
	},
	largeFile: {"codes of long texts.pdf", "headings.md"},
}

// grown is a file of a kind that is almost as large as it may be. Where a small file says much, n ends
// it.
func grown(d hostile.Document, most int) (data string) {
	for n := 1000; n <= min(most/5, 500_000); n *= 2 {
		next := d.Make(n)
		if len(next) > most || len(next) == len(data) { // some kinds end earlier
			break
		}
		data = next
	}
	return data
}

// read is what happened to a file.
type read struct {
	name   string
	size   int
	took   time.Duration
	work   time.Duration // of processors
	peak   int64
	killed string
	says   string
}

// String formats it.
func (f read) String() string {
	text := fmt.Sprintf("%-36s %8d bytes: %s, of a processor %s, peak %s", f.name, f.size, short(f.took), short(f.work), mebibytes(f.peak))
	if f.killed != "" {
		return text + ", " + f.killed
	}
	return fmt.Sprintf("%s, %.120q", text, f.says)
}

// ingest reads a file or a folder with a process of its own.
func (s *suite) ingest(ctx context.Context, dir, path string, limit time.Duration) (f read, err error) {
	c, err := s.run(ctx, limit, dir, "ingest", path, "--collection", "c", "--store", filepath.Join(dir, "store.db"))
	if err != nil {
		return f, err
	}
	return read{name: path, took: c.took, work: c.work, peak: c.peak.Load(), killed: c.killed, says: c.stderr.String()}, ctx.Err()
}

// ingestFile makes a file of a kind and reads it.
func (s *suite) ingestFile(ctx context.Context, name string, data string) (f read, err error) {
	dir, err := os.MkdirTemp(s.dir, "ingest-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
		return f, err
	}
	f, err = s.ingest(ctx, dir, name, 4*killTime)
	f.size = len(data)
	return f, err
}

// files reads a file of each kind, once for all rows.
func (s *suite) files(ctx context.Context, most int) ([]read, error) {
	if all, ok := s.read[most]; ok {
		return all, nil
	}
	var all []read
	for _, d := range hostile.Documents {
		if s.short && !slices.Contains(shortFiles[most], d.Name) {
			continue
		}
		f, err := s.ingestFile(ctx, d.Name, grown(d, most))
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	s.read[most] = all
	return all, nil
}

// reading is a row of the worst file of some. It lists all of them, or the worst.
func (s *suite) reading(most int, list bool, figure func(read) float64) func(context.Context) (reading, error) {
	return func(ctx context.Context) (r reading, err error) {
		all, err := s.files(ctx, most)
		for _, f := range all {
			r.add(figure(f), f.String(), list)
			if f.killed != "" {
				r.failed = f.name + ": " + f.killed
			}
		}
		return r, err
	}
}

func (f read) mebibytes() float64 { return float64(f.peak) / (1 << 20) }
func (f read) seconds() float64   { return f.work.Seconds() }

// share is the peak as a part of what a file of that size may take.
func (f read) share() float64 { return float64(f.peak) / float64(256<<20+8*f.size) }

// aPDF is the file that tells how the others began: it says 200,000 times what 200,000 letters are. Its peak depends on
// when the collector runs, so it is read three times, and the least peak counts.
func (s *suite) aPDF(ctx context.Context) (read, error) {
	if all, ok := s.read[0]; ok {
		return all[0], nil
	}
	data := hostile.Named("long mapping.pdf").Make(200_000)
	f, err := s.ingestFile(ctx, "mapping.pdf", data)
	for try := 1; try < 3 && err == nil && f.killed == ""; try++ {
		var again read
		if again, err = s.ingestFile(ctx, "mapping.pdf", data); again.peak < f.peak || again.killed != "" {
			f = again
		}
	}
	s.read[0] = []read{f}
	return f, err
}

func (s *suite) pdf(figure func(read) float64) func(context.Context) (reading, error) {
	return func(ctx context.Context) (reading, error) {
		f, err := s.aPDF(ctx)
		return reading{value: figure(f), details: []string{f.String()}, failed: f.killed}, err
	}
}

// folder reads a folder of hostile files, which are of all kinds by turns.
func (s *suite) folder(ctx context.Context) (r reading, err error) {
	count, limit := 1000, 20*time.Minute
	if s.short {
		count, limit = 60, time.Minute
	}
	dir, err := os.MkdirTemp(s.dir, "folder-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	for i, d := range hostile.Documents[:min(count, len(hostile.Documents))] {
		data := grown(d, folderFile)
		for ; i < count; i += len(hostile.Documents) {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d %s", i, d.Name)), []byte(data), 0o600); err != nil {
				return r, err
			}
		}
	}
	f, err := s.ingest(ctx, dir, ".", limit)
	if err == nil && f.peak > 300_000_000 {
		f.killed = "it takes " + mebibytes(f.peak)
	}
	return reading{value: f.seconds(), details: []string{f.String()}, failed: f.killed}, err
}

// ingestRows are the attacks on ingest. Its time is that of processors, as a file waits for nothing
// else; a short run, on a machine that may be slow, has five times as much.
func (s *suite) ingestRows() []row {
	folder := 300.0
	if s.short {
		folder = 100
	}
	return []row{
		{"ingest/pdf", "peak of a PDF of 1.9 kB with a long mapping", " MiB", 95, 0, s.pdf(read.mebibytes)},
		{"ingest/pdf-time", "processor time of it", " s", 2, 10, s.pdf(read.seconds)},
		{"ingest/peak", "peak of the worst file below 1 MB, by kind", " MiB", 286, 0, s.reading(smallFile, true, read.mebibytes)},
		{"ingest/time", "processor time of the worst", " s", 5, 25, s.reading(smallFile, false, read.seconds)},
		{"ingest/large", "peak of the worst file up to 16 MiB, of 256 MiB and 8 times its size", "x", 1, 0, s.reading(largeFile, true, read.share)},
		{"ingest/folder", "processor time of a folder of 1,000 hostile files (60 in a short run)", " s", 300, folder, s.folder},
	}
}
