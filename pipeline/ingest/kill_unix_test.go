//go:build unix

package ingest_test

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/sqlite"
)

// TestIngestProcess is the process that TestKill kills.
func TestIngestProcess(t *testing.T) {
	dir, store := os.Getenv("ANCHOR_TEST_INGEST"), os.Getenv("ANCHOR_TEST_STORE")
	if dir == "" {
		t.Skip("TestKill starts it")
	}
	s, err := sqlite.Open(t.Context(), store, sqlite.Options{Sync: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fmt.Println("begins")
	if _, err := ingest.Run(t.Context(), s.Index(), []ingest.Source{{Path: dir}}, ingest.Options{Collection: docs}); err != nil {
		t.Fatal(err)
	}
}

// TestKill kills an ingestion again and again. Every document that is visible afterwards is whole,
// and the last run completes the collection.
func TestKill(t *testing.T) {
	kills := 10
	if os.Getenv("ANCHOR_LONG_TESTS") != "" {
		kills = 200
	}
	dir, store := t.TempDir(), filepath.Join(t.TempDir(), "s.db")
	write := func(round int) map[string]int { // the chunks that each document must have
		want := map[string]int{}
		for i := range 40 {
			path := filepath.Join(dir, fmt.Sprintf("%d.md", i))
			if i%4 == round%4 || round == 0 {
				text := fmt.Sprintf("# Round %d\n\n", round) + strings.Repeat("Some words about trains and bread.\n\n", 3000)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want[filepath.Base(dir)+"/"+filepath.Base(path)] = 0
		}
		var lines strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&lines, "{\"id\":\"%d\",\"text\":\"record %d of round %d\"}\n", i, i, round)
			want[fmt.Sprintf("%s/r.jsonl#%d", filepath.Base(dir), i)] = 1
		}
		if err := os.WriteFile(filepath.Join(dir, "r.jsonl"), []byte(lines.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		want[filepath.Base(dir)+"/r.jsonl"] = 0
		return want
	}
	var want map[string]int
	killed := 0
	for round := range kills {
		want = write(round)
		cmd := exec.Command(os.Args[0], "-test.run=^TestIngestProcess$")
		cmd.Env = append(os.Environ(), "ANCHOR_TEST_INGEST="+dir, "ANCHOR_TEST_STORE="+store)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err == nil { // however busy the machine is, the kill falls into the work
			_, err = bufio.NewReader(out).ReadString('\n')
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(5+rand.IntN(150)) * time.Millisecond)
		_ = cmd.Process.Kill() // it may have ended
		if cmd.Wait() != nil {
			killed++
		}
	}
	if killed < kills/4 {
		t.Errorf("only %d of %d processes were killed at work", killed, kills)
	}
	index := openIndex(t, store)
	for d, err := range index.Export(t.Context(), docs) {
		if errors.Is(err, retrieve.ErrNotFound) {
			break // all were killed before their first write
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(d.ID, ".md") && (len(d.Chunks) == 0 || d.Chunks[len(d.Chunks)-1].Lines.To < 6000) {
			t.Errorf("%s is not whole", d.ID)
		}
	}
	if _, err := ingest.Run(t.Context(), index, []ingest.Source{{Path: dir}}, ingest.Options{Collection: docs}); err != nil {
		t.Fatal(err)
	}
	checkComplete(t, index, dir, want, kills-1)
}

func checkComplete(t *testing.T, index retrieve.Index, dir string, want map[string]int, round int) {
	t.Helper()
	n := 0
	for d, err := range index.Export(t.Context(), docs) {
		if err != nil {
			t.Fatal(err)
		}
		n++
		if _, ok := want[d.ID]; !ok {
			t.Errorf("%s should be gone", d.ID)
		}
		if strings.Contains(d.ID, "#") && !strings.HasSuffix(d.Chunks[0].Text, fmt.Sprintf("of round %d", round)) {
			t.Fatalf("%s is old: %q", d.ID, d.Chunks[0].Text)
		}
	}
	if n != len(want) {
		t.Errorf("%d documents of %s, want %d", n, dir, len(want))
	}
	r, err := ingest.Run(t.Context(), index, []ingest.Source{{Path: dir}}, ingest.Options{Collection: docs})
	if err != nil || r.Unchanged != 41 || r.Chunks != 0 {
		t.Errorf("the run after it: %+v, error %v", r, err)
	}
}
