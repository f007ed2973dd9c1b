package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
)

// ingestFiles measures the whole ingestion of files of Go, from the folder to the index.
func ingestFiles(ctx context.Context, j *job, dir string) (*figures, error) {
	folder := filepath.Join(dir, "src")
	size, n, err := goFiles(ctx, folder, int64(short(j, 16e6, 1e6)))
	if err != nil {
		return nil, err
	}
	s, err := sqlite.Open(ctx, filepath.Join(dir, "store.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	o := ingest.Options{Collection: docs}
	if j.Vectors {
		var e retrieve.Embedder
		if e, err = openTable(j.Table); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		o.Embedder = e
	}
	f := &figures{Documents: n, Bytes: size}
	before := startPeak()
	w := startWatch()
	report, err := ingest.Run(ctx, s.Index(), []ingest.Source{{Path: folder}}, o)
	f.ingested(w, before)
	if err == nil && report.Added != n {
		err = fmt.Errorf("%d of %d files were ingested", report.Added, n)
	}
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(folder); err != nil {
		return nil, err
	}
	f.Disk, err = diskBytes(dir)
	return f, err
}

// goFiles copies files of Go's standard library, comments and code, old enough for their times to be trusted.
func goFiles(ctx context.Context, dir string, most int64) (size int64, n int, err error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return 0, 0, fmt.Errorf("go env GOROOT: %w", err)
	}
	src, old := filepath.Join(strings.TrimSpace(string(out)), "src"), time.Now().Add(-time.Hour)
	err = filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || len(data) > 1e6 {
			return err
		}
		if size+int64(len(data)) > most {
			return fs.SkipAll
		}
		size, n = size+int64(len(data)), n+1
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, rel)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(to, data, 0o600); err != nil {
			return err
		}
		return os.Chtimes(to, old, old)
	})
	return size, n, err
}
