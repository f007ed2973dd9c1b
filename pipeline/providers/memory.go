package providers

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

// The bounds of a Memory. One conversation takes an entry each time that its beginning changes.
const (
	memoryEntries = 1024
	memoryBytes   = 32 << 20
)

// Memory remembers what became of lists that did not fit, so that the beginning of a prompt stays
// the same while its conversation grows: a list that begins with a remembered one gets the same
// beginning until it does not fit any more. It keeps hashes, places, and the texts of summaries
// and of cut results, of the last 1,024 lists and at most 32 MiB. Owners know nothing of each other's
// lists, and the owner that takes the most forgets first. It lasts as long as the process. The zero
// value works. It is safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	owners  map[string]*owned
	entries int
	bytes   int
	uses    uint64 // counts the uses of entries
}

// owned is what is remembered for an owner.
type owned struct {
	entries map[listKey]*list.Element // of *remembered
	recent  list.List                 // the most recently used first
	bytes   int
}

// share is how much of a memory an owner takes, in entries of usual size.
func (o *owned) share() int { return max(len(o.entries), o.bytes/(memoryBytes/memoryEntries)) }

// listKey is the hash of a list, of the budget, and of the provider.
type listKey [16]byte

// remembered is what became of a list.
type remembered struct {
	key    listKey
	length int // messages of the list
	pieces []piece
	bytes  int
	used   uint64 // when it was used last, see Memory
}

// piece is a message of a result: that at a place of the list, or a summary if the place is -1.
type piece struct {
	at      int
	summary string
	cuts    []string // the texts of its results, empty for one that was not cut; nil: none was
}

// find returns the entry of the longest remembered beginning of a list of an owner, or nil.
func (m *Memory) find(owner string, keys []listKey) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.owners[owner]
	if o == nil {
		return nil
	}
	for i := len(keys) - 1; i >= 0; i-- {
		if e := o.entries[keys[i]]; e != nil {
			o.recent.MoveToFront(e)
			r := e.Value.(*remembered)
			m.uses++
			r.used = m.uses
			return r
		}
	}
	return nil
}

// add remembers an entry of an owner, and forgets others if there is no room.
func (m *Memory) add(owner string, r *remembered) {
	r.bytes = 64
	for i := range r.pieces {
		r.bytes += 64 + len(r.pieces[i].summary)
		for _, text := range r.pieces[i].cuts {
			r.bytes += 16 + len(text)
		}
	}
	if r.bytes > memoryBytes/8 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.owners[owner]
	if o == nil {
		if m.owners == nil {
			m.owners = map[string]*owned{}
		}
		owner = strings.Clone(owner)
		o = &owned{entries: map[listKey]*list.Element{}}
		m.owners[owner] = o
	}
	if e := o.entries[r.key]; e != nil {
		m.forget(o, e)
	}
	m.uses++
	r.used = m.uses
	o.entries[r.key] = o.recent.PushFront(r)
	o.bytes += r.bytes
	m.entries++
	for m.bytes += r.bytes; m.bytes > memoryBytes || m.entries > memoryEntries; {
		m.forgetOne()
	}
}

// forgetOne forgets the least recently used entry of the owner that takes the most.
func (m *Memory) forgetOne() {
	var of string
	for name, o := range m.owners {
		if most := m.owners[of]; most == nil || o.share() > most.share() || o.share() == most.share() && o.last().used < most.last().used {
			of = name
		}
	}
	o := m.owners[of]
	if m.forget(o, o.recent.Back()); len(o.entries) == 0 {
		delete(m.owners, of)
	}
}

func (o *owned) last() *remembered { return o.recent.Back().Value.(*remembered) }

func (m *Memory) forget(o *owned, e *list.Element) {
	r := o.recent.Remove(e).(*remembered)
	delete(o.entries, r.key)
	o.bytes -= r.bytes
	m.bytes -= r.bytes
	m.entries--
}

// keysOf returns the keys of all beginnings of a list, or nil if a message cannot be written.
func keysOf(provider, run string, room size, msgs []pipeline.Message) []listKey {
	h := sha256.New()
	write := func(text string) {
		_ = binary.Write(h, binary.LittleEndian, uint64(len(text)))
		h.Write([]byte(text))
	}
	write(provider)
	write(run)
	_ = binary.Write(h, binary.LittleEndian, [2]uint64{uint64(room.tokens), uint64(room.messages)})
	keys := make([]listKey, len(msgs))
	for i := range msgs {
		m := &msgs[i]
		write(string(m.Role))
		if raw := m.Raw(); raw != "" && !m.Changed() {
			write(raw)
		} else if data := compactJSON(m); data != nil {
			write(string(data))
		} else {
			return nil
		}
		copy(keys[i][:], h.Sum(nil))
	}
	return keys
}

// recall is a list of an owner and what is remembered of its beginning.
type recall struct {
	memory *Memory
	owner  string
	keys   []listKey
	entry  *remembered // nil if nothing is known
}

// recall looks for the beginning of a list.
func (m *Memory) recall(owner, provider, run string, room size, msgs []pipeline.Message) recall {
	r := recall{memory: m, owner: owner, keys: keysOf(provider, run, room, msgs)}
	if len(r.keys) > 0 {
		r.entry = m.find(owner, r.keys)
	}
	return r
}

// knows reports whether the list continues one that did not fit: more will follow.
func (r *recall) knows() bool { return r.entry != nil }

// again returns the list with the remembered beginning. It returns nil if nothing is known, if it
// does not fit, or if new messages belong to messages that are not whole in it.
func (r *recall) again(ctx context.Context, c *agent.Counter, v *view, room size) ([]pipeline.Message, []piece, error) {
	if r.entry == nil {
		return nil, nil, nil
	}
	n := r.entry.length
	whole := make([]bool, n)
	pieces := make([]piece, 0, len(r.entry.pieces)+len(v.msgs)-n)
	pieces = append(pieces, r.entry.pieces...)
	for i := range pieces {
		if pieces[i].at >= 0 {
			whole[pieces[i].at] = true
		}
	}
	units := agent.Units(v.msgs)
	broken := make([]bool, n) // units
	for i, unit := range units[:n] {
		broken[unit] = broken[unit] || !whole[i]
	}
	for i := n; i < len(v.msgs); i++ {
		if u := units[i]; u < n && broken[u] {
			return nil, nil, nil
		}
		pieces = append(pieces, piece{at: i})
	}
	out := made(v.msgs, pieces)
	took, err := c.Total(ctx, out)
	if err != nil || (size{took, len(out)}).exceeds(room) {
		return nil, nil, err
	}
	return out, pieces, nil
}

// keep remembers what became of the list.
func (r *recall) keep(pieces []piece) {
	if n := len(r.keys); n > 0 {
		r.memory.add(r.owner, &remembered{key: r.keys[n-1], length: n, pieces: pieces})
	}
}

// made makes the messages of pieces.
func made(msgs []pipeline.Message, pieces []piece) []pipeline.Message {
	out := make([]pipeline.Message, len(pieces))
	for i := range pieces {
		switch p := &pieces[i]; {
		case p.at < 0:
			out[i] = summaryMessage(p.summary)
		case p.cuts == nil:
			out[i] = msgs[p.at]
		default:
			at := 0
			out[i] = mapResults(&msgs[p.at], func(text string) string {
				if at++; at <= len(p.cuts) && p.cuts[at-1] != "" {
					return p.cuts[at-1]
				}
				return text
			})
		}
	}
	return out
}

// pieceOf returns the piece of a message that may have been cut.
func pieceOf(at int, before, after *pipeline.Message) piece {
	p := piece{at: at}
	if before == after || len(after.Results()) == 0 {
		return p
	}
	var old, cuts []string
	read := func(texts *[]string) func(string) string {
		return func(text string) string {
			*texts = append(*texts, text)
			return text
		}
	}
	mapResults(before, read(&old))
	mapResults(after, read(&cuts))
	changed := false
	for i := range cuts {
		if i < len(old) && cuts[i] == old[i] {
			cuts[i] = ""
		} else {
			cuts[i], changed = strings.Clone(cuts[i]), true
		}
	}
	if changed {
		p.cuts = cuts
	}
	return p
}

// keepCuts passes on the originals of the results that pieces have cut.
func keepCuts(keep func(handle, text string), msgs []pipeline.Message, pieces []piece) {
	for i := range pieces {
		p := &pieces[i]
		if keep == nil || p.cuts == nil {
			continue
		}
		at := 0
		mapResults(&msgs[p.at], func(text string) string {
			if at++; at <= len(p.cuts) && strings.Contains(p.cuts[at-1], cutCommand) {
				if handle := Handle(text); strings.Contains(p.cuts[at-1], handle) {
					keep(handle, text)
				}
			}
			return text
		})
	}
}
