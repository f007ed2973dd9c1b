package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/internal/agents/repo"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
)

// treeTarget is what a look at an unchanged tree may cost, in time of a processor: others may use the machine.
const treeTarget = 300 * time.Millisecond

// tree measures how long a session start takes for so many files of which none changed.
func tree(ctx context.Context, n int) error {
	dir, err := os.MkdirTemp("", "agents-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	root := filepath.Join(dir, "tree")
	old := time.Now().Add(-time.Hour)
	for i := range n {
		name := filepath.Join(root, fmt.Sprintf("d%03d", i/100), fmt.Sprintf("file%05d.go", i))
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(name, fmt.Appendf(nil, "package d\n\n// Handler%d answers requests of kind %d.\nfunc Handler%d() {}\n", i, i%37, i), 0o644); err != nil {
			return err
		}
		if err := os.Chtimes(name, old, old); err != nil {
			return err
		}
	}
	s, err := sqlite.Open(ctx, filepath.Join(dir, "s.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	source, err := repo.Open(s, project.Project{ID: "p-tree", Root: root}, repo.Options{})
	if err != nil {
		return err
	}
	first, err := source.Refresh(ctx, repo.Bounds{})
	if err != nil {
		return err
	}
	best := time.Hour
	var again repo.Report
	for range 5 {
		before := processor()
		if again, err = source.Refresh(ctx, repo.Bounds{}); err != nil {
			return err
		}
		best = min(best, processor()-before)
	}
	say(map[string]any{"files": n, "first": first, "unchanged": again, "processor_seconds": best.Seconds()})
	if again.Unchanged != n || !again.Done {
		return fmt.Errorf("%d of %d files are unchanged", again.Unchanged, n)
	}
	if best > treeTarget {
		return fmt.Errorf("an unchanged tree takes %s of a processor (want %s)", best, treeTarget)
	}
	return nil
}

// processor is the time that the process has used.
func processor() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
