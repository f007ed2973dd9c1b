package sqlite

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

// TestKill kills processes that write, at random points, and checks after each that
// everything they had acknowledged is there and nothing is half there.
func TestKill(t *testing.T) {
	kills := 25
	if longTests {
		kills = 250
	} else if testing.Short() {
		kills = 5
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	for total := 0; total < kills && !t.Failed(); {
		k := killer{t: t, path: filepath.Join(t.TempDir(), "store.db"), firsts: make(map[int64]payload)}
		for run := 0; total+k.kills < kills && k.kills < killsPerFile && !t.Failed(); run++ {
			delays := make([]time.Duration, 1+run%3/2) // every third run has two processes
			for i := range delays {
				delays[i] = time.Duration(random.IntN(60_000)) * time.Microsecond
			}
			// Every fourth run may die while it makes, opens or recovers the file.
			k.round(run*2, delays, run%4 == 0)
		}
		total += k.kills
		t.Logf("%d kills, %d rounds acknowledged, %d records", k.kills, k.acked, k.records)
		if k.acked < k.kills {
			t.Errorf("only %d rounds were acknowledged before %d kills: the kills come too early to show anything", k.acked, k.kills)
		}
	}
}

// killsPerFile keeps the file small enough to be read after every kill.
const killsPerFile = 25

// killer keeps the acknowledgements of the victims.
type killer struct {
	t       *testing.T
	path    string
	kills   int
	acked   int
	records int
	firsts  map[int64]payload // acknowledged batches by first seq
	highest int64             // of the seqs seen so far
}

// round starts processes, kills each after its delay, counted from its start or from
// its first acknowledgement, and checks the file.
func (k *killer) round(run int, delays []time.Duration, early bool) {
	type end struct{ acks []ack }
	ends := make([]chan end, len(delays))
	for i, delay := range delays {
		ends[i] = make(chan end, 1)
		go func() { ends[i] <- end{k.victim(run+i, delay, early)} }()
	}
	before := k.highest
	states := make(map[store.Key]int)
	for i := range ends {
		for _, a := range (<-ends[i]).acks {
			if a.First <= before {
				k.t.Errorf("seq %d was given again", a.First)
			}
			if _, twice := k.firsts[a.First]; twice {
				k.t.Errorf("seq %d was given twice", a.First)
			}
			k.firsts[a.First] = payload{Run: run + i, Writer: a.Writer, Round: a.Round}
			states[ownKey(run+i, a.Writer)] = a.Round
			k.acked++
		}
		k.kills++
	}
	k.check(states)
}

// victim runs one process and returns what it had acknowledged when it was killed.
func (k *killer) victim(run int, delay time.Duration, early bool) []ack {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimEnv+"="+k.path, fmt.Sprintf("%s=%d", victimRun, run))
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		k.t.Error(err)
		return nil
	}
	var timer *time.Timer
	kill := func() { _ = cmd.Process.Kill() }
	if early {
		timer = time.AfterFunc(delay, kill)
	}
	var acks []ack
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var a ack
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			break // the last line may be cut short
		}
		if timer == nil {
			timer = time.AfterFunc(delay, kill)
		}
		acks = append(acks, a)
	}
	if err := cmd.Wait(); err == nil || stderr.Len() > 0 {
		k.t.Errorf("victim: %v: %s", err, stderr.String())
	}
	return acks
}

// check opens the file as the next process would.
func (k *killer) check(states map[store.Key]int) {
	t := k.t
	s, err := Open(t.Context(), k.path, Options{})
	if err != nil {
		t.Error(err)
		return
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	batches := k.batches(s)
	for first, want := range k.firsts {
		if have := batches[first]; have != want {
			t.Errorf("acknowledged batch at %d: have %+v, want %+v", first, have, want)
		}
	}
	for key, round := range states {
		checkState(t, s, key, round)
	}
}

// batches reads the shared stream and checks that every batch in it is whole.
func (k *killer) batches(s *Store) map[int64]payload {
	found := make(map[int64]payload)
	n := 0
	var batch payload
	for r, err := range store.All(k.t.Context(), s, shared, 0) {
		if err != nil {
			k.t.Error(err)
			return nil
		}
		var p payload
		if err := json.Unmarshal(r.Data, &p); err != nil {
			k.t.Errorf("seq %d: %v", r.Seq, err)
		}
		p.Text = ""
		if p.Part == 0 {
			batch = p
			found[r.Seq] = p
		}
		batch.Part = n % batchSize
		if p != batch || r.Seq != int64(n+1) {
			k.t.Errorf("seq %d: part %+v in the place of %+v", r.Seq, p, batch)
		}
		n++
		k.highest = max(k.highest, r.Seq)
	}
	if n%batchSize != 0 {
		k.t.Errorf("the last of %d records is a part of a batch", n)
	}
	k.records = n
	return found
}

// checkState checks a writer's own stream: it has done the round it acknowledged, and
// of the next a beginning at most.
func checkState(t *testing.T, s *Store, key store.Key, round int) {
	recs, err := s.Read(t.Context(), key, 0, 0)
	if err != nil || len(recs) != 2 {
		t.Errorf("%s after round %d: have %d records, %v, want 2", key, round, len(recs), err)
		return
	}
	state, last := string(recs[0].Data), recs[1].ID
	next := round + 1
	switch {
	case state == fmt.Sprint(round) && last == roundID(round):
	case state == fmt.Sprint(next) && (last == roundID(round) || last == roundID(next)):
	default:
		t.Errorf("%s after round %d: state %s, %s", key, round, state, last)
	}
}
