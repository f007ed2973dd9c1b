package bpe

import (
	"slices"
	"strings"
	"testing"
)

// newMerging returns a merger for white-box tests, and a cursor that is never
// stopped.
func newMerging(t testing.TB, name string) (*merger, *cursor) {
	m := &merger{vocab: vocabOf(t, name)}
	m.grow(64 << 10)
	return m, &cursor{}
}

// pieceFor returns bytes to merge: tokens joined, a small alphabet, or a text.
func pieceFor(g generator, v *vocab) string {
	switch g.IntN(3) {
	case 0:
		return g.joined(v, 1+g.IntN(60))
	case 1:
		b := make([]byte, 1+g.IntN(400))
		for i, alphabet := 0, "ab =\n\xe4\xb8\xad"[:1+g.IntN(8)]; i < len(b); i++ {
			b[i] = alphabet[g.IntN(len(alphabet))]
		}
		return string(b)
	}
	return strings.Repeat(g.mix(1+g.IntN(4)), 1+g.IntN(10)) + "x"
}

// The scan, the heap and the windows of every length must find the same tokens.
// Some short windows cannot be joined exactly, which must be noticed.
func TestMergesAgree(t *testing.T) {
	refused := 0
	for _, name := range Names() {
		m, c := newMerging(t, name)
		g := newGenerator(4)
		for range 400 {
			p := pieceFor(g, m.vocab)
			want := slices.Clone(m.pos[:m.byHeap(c, p)+1])
			ends := make([]int, len(want)-1)
			for i, end := range want[1:] {
				ends[i] = int(end)
			}
			if n := m.scanAll(p); !slices.Equal(m.pos[:n+1], want) {
				t.Fatalf("%s: scan of %q: %v, heap %v", name, p, m.pos[:n+1], want)
			}
			for _, window := range []int{16, 32, 64, 256, 1024} {
				if m.settleBy(c, p, len(p), window) == 0 {
					refused++
					continue
				}
				if !slices.Equal(m.ends, ends) {
					t.Fatalf("%s: windows of %d over %q: %v, heap %v", name, window, p, m.ends, ends)
				}
			}
		}
	}
	if refused == 0 {
		t.Error("no seam failed to hold: the test does not reach the check")
	}
}

// scanAll is scan without its bound: positions fit a byte there, so longer
// pieces are left to the heap.
func (m *merger) scanAll(p string) int {
	if len(p) > 255 {
		return m.byHeap(&cursor{}, p)
	}
	return m.scan(p)
}

// A token must be what its bytes merge to: otherwise a prefix of a piece could
// be one token by the vocabulary and two by the merge.
func TestEveryTokenMergesToItself(t *testing.T) {
	for _, name := range Names() {
		m, c := newMerging(t, name)
		check := func(token string) {
			if n := m.merge(c, token); n != 1 {
				t.Errorf("%s: token %q merges to %d parts", name, token, n)
			}
		}
		for _, key := range m.vocab.shortKeys {
			if key != 0 {
				check(strings.TrimRight(string([]byte{byte(key), byte(key >> 8), byte(key >> 16), byte(key >> 24),
					byte(key >> 32), byte(key >> 40), byte(key >> 48), byte(key >> 56)}), "\x00"))
			}
		}
		for _, s := range m.vocab.long {
			if s.length > 0 {
				check(m.vocab.arena[s.offset : s.offset+s.length])
			}
		}
	}
}

// prefix and reach must give what merging every prefix gives.
func TestPrefixesOfLongPieces(t *testing.T) {
	for _, name := range Names() {
		m, c := newMerging(t, name)
		g := newGenerator(5)
		for range 20 {
			p := pieceFor(g, m.vocab)
			counts := make([]int, len(p)+1)
			for n := 1; n <= len(p); n++ {
				counts[n] = m.merge(c, p[:n])
			}
			m.settle(c, p, len(p))
			for n := 1; n <= len(p); n++ {
				if got := m.prefix(c, p, n); got != counts[n] {
					t.Fatalf("%s: prefix of %d bytes of %q: %d tokens, want %d", name, n, p, got, counts[n])
				}
			}
			for room := range counts[len(p)] + 2 {
				want := len(p)
				for counts[want] > room {
					want--
				}
				if got := m.reach(c, p, room); got != want {
					t.Fatalf("%s: reach of %q with %d tokens: %d bytes, want %d", name, p, room, got, want)
				}
			}
		}
	}
}
