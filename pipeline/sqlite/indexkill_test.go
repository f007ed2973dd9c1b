package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

const (
	indexVictimEnv  = "ANCHOR_TEST_INDEX_VICTIM"
	indexVictimName = "ANCHOR_TEST_INDEX_VICTIM_NAME"
)

var killed = retrieve.Collection{Tenant: "t", Name: "killed"}

// indexVictim writes pairs of documents until it is killed, and prints the number of each
// pair that was written. Each tenth pair takes the place of the one before.
func indexVictim(path, name string) {
	fail := func(err error) {
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
	}
	ctx := context.Background()
	s, err := Open(ctx, path, Options{Sync: Normal, BusyTimeout: time.Minute})
	fail(err)
	fail(s.Index().Create(ctx, killed, retrieve.Settings{Model: retrieve.Model{ID: "m", Dimension: 4}}))
	for i := 1; ; i++ {
		fail(s.Index().Upsert(ctx, killed, pair(name, i)...))
		fmt.Println(i)
	}
}

// pair returns two documents that belong together.
func pair(name string, i int) []retrieve.Document {
	id := i
	if i%10 == 0 {
		id = i - 1
	}
	docs := make([]retrieve.Document, 2)
	for half := range docs {
		docs[half] = retrieve.Document{ID: fmt.Sprintf("%s-%d-%d", name, id, half), Hash: strconv.Itoa(i), Chunks: []retrieve.Chunk{
			{Text: fmt.Sprintf("word%s number%d", name, i), Vector: []float32{1, float32(i), 0, float32(half)}},
		}}
	}
	return docs
}

// TestIndexKilled kills two processes that write to one collection, again and again. What
// they wrote is there, in whole pairs, and a search of this process sees it.
func TestIndexKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := mustOpen(t, path, Options{Sync: Normal, BusyTimeout: time.Minute})
	rounds := 3
	if longTests {
		rounds = 100
	}
	last := map[string]int{}
	for round := range rounds {
		var wg sync.WaitGroup
		var mu sync.Mutex
		for _, half := range []string{"a", "b"} {
			name := fmt.Sprintf("%s%c%cx", half, 'a'+round/26, 'a'+round%26) // with an end that no stem loses
			wg.Go(func() {
				n := killIndexVictim(t, path, name, time.Duration(80+round*7%50)*time.Millisecond)
				mu.Lock()
				defer mu.Unlock()
				last[name] = n
			})
		}
		wg.Wait()
		for name, n := range last {
			checkPairs(t, s, name, n)
		}
	}
	must(t, s.Check(t.Context()))
	must(t, s.Index().Compact(t.Context(), killed))
	for name, n := range last {
		checkPairs(t, s, name, n)
	}
}

// killIndexVictim runs a victim, kills it a while after its first write, and returns the last
// number that it printed.
func killIndexVictim(t *testing.T, path, name string, after time.Duration) (last int) {
	return killVictim(t, name, after, indexVictimEnv+"="+path, indexVictimName+"="+name)
}

// killVictim runs this test in the given environment and kills it.
func killVictim(t *testing.T, name string, after time.Duration, env ...string) (last int) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return 0
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		n, err := strconv.Atoi(lines.Text())
		if err != nil {
			t.Errorf("%s: %s", name, lines.Text())
		}
		if n == 1 {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
		last = n
	}
	_ = cmd.Wait() // it was killed
	if last == 0 {
		t.Errorf("%s wrote nothing", name)
	}
	return last
}

// checkPairs checks that pairs 1 to n of a victim are there, and at most one more.
func checkPairs(t *testing.T, s *Store, name string, n int) {
	t.Helper()
	hits, err := s.Index().Search(t.Context(), killed, retrieve.Query{Text: "word" + name, K: retrieve.MaxK, KeepCopies: true})
	must(t, err)
	have := map[string]string{}
	for _, h := range hits {
		have[h.Document] = h.Hash
		if want := fmt.Sprintf("word%s number%s", name, h.Hash); h.Text != want || len(h.Vector) != 4 {
			t.Fatalf("%s: have %q, want %q", h.Document, h.Text, want)
		}
	}
	if len(have) != len(hits) {
		t.Fatalf("%s: %d hits for %d documents", name, len(hits), len(have))
	}
	next := pair(name, n+1)
	if have[next[0].ID] == next[0].Hash {
		n++ // it was killed between the commit and the print
	}
	want := map[string]string{}
	for i := 1; i <= n; i++ {
		for _, d := range pair(name, i) {
			want[d.ID] = d.Hash
		}
	}
	for id, hash := range want {
		if have[id] != hash {
			t.Errorf("%s: have version %q, want %s", id, have[id], hash)
		}
	}
	if len(have) != len(want) {
		t.Errorf("%s: have %d documents, want %d", name, len(have), len(want))
	}
}
