package main

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// The kinds of operations of a client on a log, which is a conversation or a run.
type opKind int

const (
	appends opKind = iota
	reads
	deletes
)

// What a client knows of an operation.
type outcome int

const (
	done    outcome = iota
	refused         // the answer says that nothing was done
	unknown         // there is no answer, or it does not say
)

// entry is a turn or a frame, with its number.
type entry struct {
	text   string
	number int64
}

// operation is what one client did. Times are nanoseconds since the start of the history.
type operation struct {
	client    int
	tenant    string
	log       string // its kind and name
	kind      opKind
	entry     entry   // of an append; the number is 0 if there was no answer
	seen      []entry // of a read
	call, ret int64
	outcome   outcome
}

// verdict is what is wrong with a history.
type verdict struct {
	operations, logs, unknown int
	acknowledged              int
	took                      time.Duration
	faults                    []string
}

const maxFaults = 20

func (v *verdict) fault(format string, args ...any) {
	if len(v.faults) < maxFaults {
		v.faults = append(v.faults, fmt.Sprintf(format, args...))
	}
}

// mark begins the text of every turn and frame of a tenant.
func mark(tenant string) string { return tenant + "|" }

// judge checks a history, whose last operation on each log is a read that was done.
func judge(history []operation) *verdict {
	begin, v := time.Now(), &verdict{operations: len(history)}
	byLog := map[string][]operation{}
	for _, o := range history {
		name := o.tenant + "/" + o.log
		byLog[name] = append(byLog[name], o)
		switch {
		case o.outcome == unknown:
			v.unknown++
		case o.outcome == done && o.kind == appends:
			v.acknowledged++
		}
	}
	v.logs = len(byLog)
	for _, name := range slices.Sorted(maps.Keys(byLog)) {
		list := byLog[name]
		slices.SortFunc(list, func(a, b operation) int { return cmp.Compare(a.call, b.call) })
		v.log(name, list)
	}
	v.took = time.Since(begin)
	return v
}

// log checks the history of one log.
func (v *verdict) log(name string, list []operation) {
	last := &list[len(list)-1]
	if last.kind != reads || last.outcome != done {
		v.fault("%s: nobody read it at the end", name)
		return
	}
	deleted := slices.ContainsFunc(list, func(o operation) bool { return o.kind == deletes && o.outcome != refused })
	appended := map[string]*operation{}
	for i := range list {
		if o := &list[i]; o.kind == appends {
			appended[o.entry.text] = o
		}
	}
	numbers := map[string]int64{}
	for i := range list {
		if o := &list[i]; o.kind == reads && o.outcome == done {
			v.read(name, o, appended, numbers, deleted)
		}
	}
	at := map[string]bool{}
	for _, e := range last.seen {
		at[e.text] = true
	}
	for text, o := range appended {
		if o.outcome != done {
			continue
		}
		if number, seen := numbers[text]; seen && number != o.entry.number {
			v.fault("%s: %q was acknowledged as number %d and has %d", name, text, o.entry.number, number)
		}
		if !deleted && !at[text] {
			v.fault("%s: %q was acknowledged and is lost", name, text)
		}
	}
	v.order(name, list, numbers)
	switch porcupine.CheckOperationsTimeout(logModel, operations(list, numbers, deleted), 20*time.Second) {
	case porcupine.Illegal:
		v.fault("%s: %d operations are not linearizable", name, len(list))
	case porcupine.Unknown:
		v.fault("%s: no order of %d operations was found in 20 s", name, len(list))
	}
}

// order says in words what is wrong with the order of acknowledged appends and reads.
func (v *verdict) order(name string, list []operation, numbers map[string]int64) {
	for i := range list {
		a := &list[i]
		if a.kind != appends || a.outcome != done {
			continue
		}
		for j := range list {
			b := &list[j]
			switch {
			case b.outcome != done:
			case b.kind == appends && a.ret < b.call && a.entry.number >= b.entry.number:
				v.fault("%s: %q has number %d, and %q, which came after its acknowledgement, has %d", name, a.entry.text, a.entry.number, b.entry.text, b.entry.number)
			case b.kind == reads && a.ret < b.call && len(b.seen) > 0 && b.seen[len(b.seen)-1].number < a.entry.number:
				v.fault("%s: a read after the acknowledgement of number %d ends with %d", name, a.entry.number, b.seen[len(b.seen)-1].number)
			}
		}
	}
}

// read checks what one read has seen, and enters the numbers.
func (v *verdict) read(name string, o *operation, appended map[string]*operation, numbers map[string]int64, deleted bool) {
	times := map[string]int{}
	for i, e := range o.seen {
		if times[e.text]++; times[e.text] == 2 {
			v.fault("%s: %q is there twice", name, e.text)
		}
		switch was := appended[e.text]; {
		case !strings.HasPrefix(e.text, mark(o.tenant)):
			v.fault("%s: %q is of another tenant", name, e.text)
		case was == nil:
			v.fault("%s: nobody wrote %q", name, e.text)
		case was.outcome == refused:
			v.fault("%s: %q was refused and is there", name, e.text)
		}
		if before, known := numbers[e.text]; known && before != e.number {
			v.fault("%s: %q had number %d and has %d", name, e.text, before, e.number)
		}
		numbers[e.text] = e.number
		if i > 0 && e.number != o.seen[i-1].number+1 {
			v.fault("%s: number %d comes after %d", name, e.number, o.seen[i-1].number)
		}
	}
	if len(o.seen) > 0 && !deleted && o.seen[0].number != 1 {
		v.fault("%s: the first number is %d", name, o.seen[0].number)
	}
}

// content is what a log has, so that two can be compared, and the last number that it has given.
type content struct {
	n    int
	hash uint64
	last int64
}

func (c content) with(text string, number int64) content {
	h := fnv.New64a()
	fmt.Fprintf(h, "%x\n%s", c.hash, text)
	return content{c.n + 1, h.Sum64(), number}
}

func contentOf(list []entry) (c content) {
	for _, e := range list {
		c = c.with(e.text, 0)
	}
	return c
}

// step is an operation as the model sees it.
type step struct {
	kind opKind
	// entry is what is appended. Number 0: it is not known.
	entry entry
	seen  content
	// maybe says that it may have done nothing.
	maybe bool
}

var nondeterministic = porcupine.NondeterministicModel{
	Init: func() []any { return []any{content{}} },
	Step: func(state, input, _ any) []any {
		c, s := state.(content), input.(step)
		switch {
		case s.kind == appends && s.entry.number == 0:
			return []any{c.with(s.entry.text, 0)}
		case s.kind == appends && s.entry.number == c.last+1:
			return []any{c.with(s.entry.text, s.entry.number)}
		case s.kind == deletes && s.maybe:
			return []any{c, content{last: c.last}}
		case s.kind == deletes:
			return []any{content{last: c.last}}
		case s.kind == reads && s.seen.n == c.n && s.seen.hash == c.hash:
			return []any{c}
		}
		return nil
	},
	Equal: func(a, b any) bool { return a == b },
}

// logModel is a list that clients append to, read and delete. It gives numbers in order, and none twice.
var logModel = nondeterministic.ToModel()

// operations are those that the model can check. An append of unknown outcome that nobody ever saw has done
// nothing that anybody could tell, and one that was seen was done before the first read that saw it had ended.
// Only where something was deleted it may have taken a number, so there the model does not look at numbers.
func operations(list []operation, numbers map[string]int64, deleted bool) (out []porcupine.Operation) {
	firstSeen, numbered := map[string]int64{}, true
	for i := range list {
		o := &list[i]
		if o.kind != reads || o.outcome != done {
			continue
		}
		for _, e := range o.seen {
			if at, seen := firstSeen[e.text]; !seen || o.ret < at {
				firstSeen[e.text] = o.ret
			}
		}
	}
	for i := range list {
		o := &list[i]
		s, ret := step{kind: o.kind, entry: o.entry, seen: contentOf(o.seen)}, o.ret
		switch seen, was := firstSeen[o.entry.text]; {
		case o.outcome == unknown && o.kind == appends && !was:
			numbered = numbered && !deleted
			continue
		case o.outcome == refused, o.outcome == unknown && o.kind == reads:
			continue
		case o.outcome == unknown && o.kind == appends:
			s.entry.number, ret = numbers[o.entry.text], seen
		case o.outcome == unknown:
			s.maybe, ret = true, math.MaxInt64
		}
		out = append(out, porcupine.Operation{ClientId: o.client, Input: s, Call: o.call, Return: ret})
	}
	for i := range out {
		if s := out[i].Input.(step); !numbered {
			s.entry.number = 0
			out[i].Input = s
		}
	}
	return out
}
