package sqlite

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

// victimEnv names the file to which a re-executed test binary writes until it is
// killed; victimRun makes the IDs of this process its own.
const (
	victimEnv = "ANCHOR_STORE_VICTIM"
	victimRun = "ANCHOR_STORE_VICTIM_RUN"

	victimWriters = 6
	batchSize     = 3
)

// ack is what a victim says about one of its writers after a call has returned.
type ack struct {
	Writer int   // each has a stream of its own, and one that all share
	Round  int   // of this writer
	First  int64 // of the batch in the shared stream
}

// payload is the data of a record of the kill test. Records of one batch name it.
type payload struct {
	Run, Writer, Round, Part int
	Text                     string
}

var shared = store.Key{Tenant: store.DefaultTenant, Kind: "turn", Stream: "shared"}

// ownKey is the stream in which a writer keeps one record, replaced every round, and
// the ID of the last round, deleted in the next.
func ownKey(run, writer int) store.Key {
	return store.Key{Tenant: store.DefaultTenant, Kind: "state", Stream: fmt.Sprintf("%d.%d", run, writer)}
}

func roundID(round int) string { return fmt.Sprintf("round-%d", round) }

// victim writes for ever and says what was acknowledged, one JSON line each.
func victim(path string) {
	var run int
	if _, err := fmt.Sscan(os.Getenv(victimRun), &run); err != nil {
		panic(err)
	}
	// A short log is carried into the file often, so that kills hit that too.
	s, err := Open(context.Background(), path, Options{checkpointPages: 20})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var mu sync.Mutex
	out := bufio.NewWriter(os.Stdout)
	say := func(a ack) {
		line, _ := json.Marshal(a)
		mu.Lock()
		defer mu.Unlock()
		_, _ = out.Write(append(line, '\n'))
		_ = out.Flush()
	}
	var wg sync.WaitGroup
	for w := range victimWriters {
		wg.Go(func() {
			for round := 1; ; round++ {
				first, err := victimRound(s, run, w, round)
				if err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				say(ack{Writer: w, Round: round, First: first})
			}
		})
	}
	wg.Wait()
}

// victimRound makes the writes of one round: a batch in the shared stream, a replaced
// record, and a change that deletes one record and inserts another.
func victimRound(s *Store, run, w, round int) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	batch := make([]store.Record, batchSize)
	for i := range batch {
		// Some records need several pages, so that a write can be torn.
		p := payload{Run: run, Writer: w, Round: round, Part: i, Text: fmt.Sprintf("%0*d", 1+(round*w*1777)%9000, round)}
		batch[i].Data, _ = json.Marshal(p)
	}
	first, err := s.Append(ctx, shared, batch...)
	if err != nil {
		return 0, err
	}
	state, _ := json.Marshal(round)
	if err := s.Put(ctx, ownKey(run, w), store.Record{ID: "state", Data: state}); err != nil {
		return 0, err
	}
	return first, s.Apply(ctx, store.Change{
		Key: ownKey(run, w), Delete: []string{roundID(round - 1)},
		Put: []store.Record{{ID: roundID(round), Data: state}},
	})
}
