//go:build unix

package ingest_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
)

// goSources copies 16 MB of the standard library, old enough for its times to be trusted.
func goSources(b *testing.B) (dir string, size int64) {
	b.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		b.Skip(err)
	}
	dir, old := b.TempDir(), time.Now().Add(-time.Hour)
	src := filepath.Join(strings.TrimSpace(string(out)), "src")
	err = filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) > 1e6 {
			return err
		}
		if size += int64(len(data)); size > 16e6 {
			size -= int64(len(data))
			return fs.SkipAll
		}
		rel, _ := filepath.Rel(src, path) // path is below src
		to := filepath.Join(dir, rel)
		for _, err := range []error{os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, data, 0o600), os.Chtimes(to, old, old)} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return dir, size
}

// processorTime is what this process has used so far. Other processes do not change it much,
// unlike the time on a clock.
func processorTime(b testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkIngest asks how fast files are ingested by words, and how fast a run is that finds
// all of them unchanged. Run it with -cpu 1.
func BenchmarkIngest(b *testing.B) {
	dir, size := goSources(b)
	var first, again time.Duration
	n := 0
	for b.Loop() {
		s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "s.db"), sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for _, sum := range []*time.Duration{&first, &again} {
			began := processorTime(b)
			if _, err := ingest.Run(b.Context(), s.Index(), []ingest.Source{{Path: dir}}, ingest.Options{Collection: docs}); err != nil {
				b.Fatal(err)
			}
			*sum += processorTime(b) - began
		}
		n++
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size)*float64(n)/1e6/first.Seconds(), "MB/cpu-s")
	b.ReportMetric(float64(again.Microseconds())/1e3/float64(n), "again-cpu-ms")
	b.ReportMetric(float64(first)/float64(again), "times-faster")
}
