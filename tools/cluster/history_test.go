package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// journal is a log in memory that clients use, and that is broken in a way.
type journal struct {
	mu     sync.Mutex
	broken string
	list   []entry
	next   int64
	n      int
	stale  []entry
}

// append adds a text and returns its number.
func (j *journal) append(text string) int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.n++
	j.next++
	e := entry{text, j.next}
	j.stale = slices.Clone(j.list)
	if j.n != 40 {
		j.list = append(j.list, e)
		return e.number
	}
	switch j.broken {
	case "lost":
		j.next--
	case "twice":
		j.next++
		j.list = append(j.list, e, entry{text, j.next})
	case "gap":
		j.next++
		e.number = j.next
		j.list = append(j.list, e)
	case "number repeated":
		j.next--
		e.number = j.next
		j.list = append(j.list, e)
	case "other tenant":
		j.list = append(j.list, e)
		j.next++
		j.list = append(j.list, entry{mark("initech") + "secret", j.next})
	case "reordered":
		last := &j.list[len(j.list)-1]
		j.list = append(j.list[:len(j.list)-1], entry{text, last.number}, entry{last.text, e.number})
	default:
		j.list = append(j.list, e)
	}
	return e.number
}

func (j *journal) read() []entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.broken == "stale read" && j.n == 60 {
		return slices.Clone(j.stale[:len(j.stale)-3])
	}
	return slices.Clone(j.list)
}

func (j *journal) clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.list = nil
}

// record lets clients use a journal, and returns the history. A share of the answers is lost; what was written
// then counts as unknown.
func record(j *journal, refuse, remove bool) []operation {
	begin := time.Now()
	var mu sync.Mutex
	var history []operation
	add := func(o operation) {
		mu.Lock()
		defer mu.Unlock()
		history = append(history, o)
	}
	var wg sync.WaitGroup
	for client := range 4 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(7, uint64(client)))
			for i := range 25 {
				o := operation{client: client, tenant: "acme", log: "turns c", call: int64(time.Since(begin))}
				o.entry.text = fmt.Sprintf("%s%d-%d", mark("acme"), client, i)
				switch {
				case remove && random.IntN(20) == 0:
					o.kind = deletes
					j.clear()
				case random.IntN(3) == 0:
					o.kind, o.seen = reads, j.read()
				default:
					o.entry.number = j.append(o.entry.text)
				}
				if o.kind != reads && random.IntN(10) == 0 {
					o.outcome = unknown
				}
				if refuse && o.kind == appends && i == 10 {
					o.outcome = refused
				}
				o.ret = int64(time.Since(begin))
				add(o)
			}
		})
	}
	wg.Wait()
	now := int64(time.Since(begin))
	return append(history, operation{tenant: "acme", log: "turns c", kind: reads, seen: j.read(), call: now, ret: now + 1})
}

// Histories of a log that does what it should have no fault, with deletions and lost answers too.
func TestJudgeAcceptsWhatIsRight(t *testing.T) {
	for range 20 {
		for _, remove := range []bool{false, true} {
			v := judge(record(&journal{}, false, remove))
			for _, f := range v.faults {
				if !remove || !strings.Contains(f, "first number") {
					t.Errorf("deletions %v: %s", remove, f)
				}
			}
			if v.operations != 101 || v.acknowledged == 0 || v.unknown == 0 {
				t.Errorf("%+v", v)
			}
		}
	}
}

// Each way of being broken is found.
func TestJudgeFindsWhatIsWrong(t *testing.T) {
	for broken, want := range map[string]string{
		"lost": "", "twice": "is there twice", "gap": "comes after", "number repeated": "comes after",
		"other tenant": "of another tenant", "reordered": "", "stale read": "not linearizable",
	} {
		found := false
		for range 20 { // what is lost may be of unknown outcome by chance
			v := judge(record(&journal{broken: broken}, false, false))
			found = found || slices.ContainsFunc(v.faults, func(f string) bool { return strings.Contains(f, want) })
		}
		if !found {
			t.Errorf("%s: not found", broken)
		}
	}
	if v := judge(record(&journal{}, true, false)); !slices.ContainsFunc(v.faults, func(f string) bool { return strings.Contains(f, "was refused and is there") }) {
		t.Errorf("what was refused and is there: %v", v.faults)
	}
	j := &journal{}
	history := record(j, false, false)
	last := &history[len(history)-1] // becomes a turn that is written after all reads
	last.kind, last.seen, last.entry.text = appends, nil, mark("acme")+"last"
	last.entry.number = j.append(last.entry.text)
	if v := judge(history); !slices.ContainsFunc(v.faults, func(f string) bool { return strings.Contains(f, "nobody read it") }) {
		t.Error("a log that nobody read at the end has no fault")
	}
}
