package sourcescmd

import (
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest"
)

func TestLine(t *testing.T) {
	for _, c := range []struct {
		name string
		s    ingest.Progress
		want string
	}{
		{"files", ingest.Progress{Files: 1, TotalFiles: 3, Bytes: 20e6, TotalBytes: 80e6}, "ingest: 1 of 3 files, 20.0 MB of 80.0 MB, 2.0 MB/s, 30s left"},
		{"pages", ingest.Progress{Files: 1, TotalFiles: 5}, "ingest: 1 of 5 files, 0 B, 0.1 files/s, 40s left"},
		{"stdin", ingest.Progress{Files: 0, TotalFiles: 1, Bytes: 50e6}, "ingest: 0 of 1 files, 50.0 MB, 5.0 MB/s, - left"},
		{"a file that grew", ingest.Progress{Files: 0, TotalFiles: 1, Bytes: 50e6, TotalBytes: 1}, "ingest: 0 of 1 files, 50.0 MB, 5.0 MB/s, - left"},
	} {
		if got := line(c.s, 10*time.Second); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
