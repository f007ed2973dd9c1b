package mcpserver

import (
	"container/list"
	"crypto/sha256"
	"hash/maphash"
	"strings"
	"sync"
	"unicode"
)

const (
	// shingle is how many words in a row are compared: fewer are common in any language.
	shingle = 5
	// maxShingles bounds what is remembered of the texts from outside that one caller was given, and maxCallers how
	// many callers are remembered. Together they take at most 64 MiB.
	maxShingles, maxCallers = 1 << 14, 256
)

// untrusted remembers which words were given out that came from outside, so that they do not become facts: a
// document or a tool's result that tells the agent to remember something speaks for a stranger, not for the
// user. It is safe for concurrent use.
type untrusted struct {
	seed maphash.Seed

	mu      sync.Mutex
	callers map[[32]byte]*list.Element
	order   *list.List // of *heard, the last used first
}

// heard is what one caller was given.
type heard struct {
	who  [32]byte
	ring []uint64
	next int
	set  map[uint64]int
}

func newUntrusted() *untrusted {
	return &untrusted{seed: maphash.MakeSeed(), callers: map[[32]byte]*list.Element{}, order: list.New()}
}

// shingles returns the digests of all runs of words of a text. Case and punctuation do not count.
func (u *untrusted) shingles(text string) []uint64 {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	n := min(shingle, len(words))
	if n == 0 {
		return nil
	}
	out := make([]uint64, 0, len(words)-n+1)
	for i := range len(words) - n + 1 {
		out = append(out, maphash.String(u.seed, strings.Join(words[i:i+n], " ")))
	}
	return out
}

// of returns what a caller was given. The caller holds the lock.
func (u *untrusted) of(who caller) *heard {
	id := sha256.Sum256([]byte(who.header.Get("Authorization")))
	if e := u.callers[id]; e != nil {
		u.order.MoveToFront(e)
		return e.Value.(*heard)
	}
	if u.order.Len() >= maxCallers {
		last := u.order.Back()
		delete(u.callers, last.Value.(*heard).who)
		u.order.Remove(last)
	}
	h := &heard{who: id, set: map[uint64]int{}}
	u.callers[id] = u.order.PushFront(h)
	return h
}

// gave notes a text from outside that a caller gets.
func (u *untrusted) gave(who caller, text string) {
	list := u.shingles(text)
	list = list[:min(len(list), maxShingles)]
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.of(who)
	for _, d := range list {
		if len(h.ring) < maxShingles {
			h.ring = append(h.ring, d)
		} else {
			old := h.ring[h.next]
			if h.set[old]--; h.set[old] == 0 {
				delete(h.set, old)
			}
			h.ring[h.next], h.next = d, (h.next+1)%maxShingles
		}
		h.set[d]++
	}
}

// repeats reports whether a text is in large part what the caller was given from outside: a third of its runs of
// words. A text with fewer words than a run cannot be told from what anybody would say.
func (u *untrusted) repeats(who caller, text string) bool {
	list := u.shingles(text)
	u.mu.Lock()
	defer u.mu.Unlock()
	h, n := u.of(who), 0
	for _, d := range list {
		if h.set[d] > 0 {
			n++
		}
	}
	return n > 0 && 3*n >= len(list)
}
