package linear

import (
	"bytes"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
)

// counter is an account with a limit.
type counter struct{ limit, used int64 }

func (c *counter) account(delta int64) bool {
	if c.used+delta > c.limit {
		return false
	}
	c.used += delta
	return true
}

// kinds are the two kinds of memory.
var kinds = map[string]func(*Memory){
	"mapped": func(m *Memory) {},
	"slice": func(m *Memory) {
		if m.mapped != nil {
			release(m.mapped)
			m.mapped = nil
		}
	},
}

func newMemory(t *testing.T, kind string, limit uint64, c *counter) *Memory {
	t.Helper()
	m := New(limit, c.account)
	if kind == "mapped" && m.mapped == nil {
		t.Skip("this system has no reservations")
	}
	kinds[kind](m)
	t.Cleanup(m.Free)
	return m
}

func TestMemoryGrowsWithinItsLimitAndAccount(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			c := &counter{limit: 6 * PageSize}
			m := newMemory(t, kind, 8*PageSize, c)
			b := m.Reallocate(2 * PageSize)
			if len(b) != 2*PageSize || m.Refused {
				t.Fatal(len(b), m.Refused)
			}
			b[2*PageSize-1] = 9
			if b = m.Reallocate(5 * PageSize); len(b) != 5*PageSize || b[2*PageSize-1] != 9 || b[2*PageSize] != 0 {
				t.Fatal("growth lost the content")
			}
			if m.Reallocate(7*PageSize) != nil || !m.Refused {
				t.Error("grew beyond the account")
			}
			m.Refused = false
			if m.Reallocate(9*PageSize) != nil || !m.Refused {
				t.Error("grew beyond the limit")
			}
			if c.used < 5*PageSize || c.used > 6*PageSize {
				t.Errorf("%d bytes accounted for", c.used)
			}
			m.Free()
			m.Free()
			if c.used != 0 || m.Reallocate(PageSize) != nil {
				t.Errorf("%d bytes held after Free", c.used)
			}
		})
	}
}

func TestMappedMemoryDoesNotMove(t *testing.T) {
	m := newMemory(t, "mapped", 64*PageSize, &counter{limit: 1 << 30})
	a := m.Reallocate(PageSize)
	if b := m.Reallocate(64 * PageSize); &a[0] != &b[0] {
		t.Error("the memory moved")
	}
}

func TestMapsOnKnownSystems(t *testing.T) {
	known := runtime.GOOS == "linux" || runtime.GOOS == "darwin"
	if Maps() != known {
		t.Errorf("reserved mappings: %v on %s", Maps(), runtime.GOOS)
	}
}

func TestImageRestores(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		mem := make([]byte, r.IntN(8)*PageSize)
		for range r.IntN(20) {
			if len(mem) > 0 {
				at := r.IntN(len(mem))
				copy(mem[at:], bytes.Repeat([]byte{byte(1 + r.IntN(255))}, r.IntN(3*grain)))
			}
		}
		want := bytes.Clone(mem)
		im := Capture(mem)
		defer im.Free()
		clear(mem)
		if im.Size() != len(want) || im.Held() > int64(len(want)) {
			t.Fatalf("size %d, held %d of %d", im.Size(), im.Held(), len(want))
		}
		fresh := make([]byte, len(want)+PageSize)
		im.Fill(fresh)
		dirty := bytes.Repeat([]byte{0xee}, len(want)+PageSize)
		im.Restore(dirty)
		for name, got := range map[string][]byte{"filled": fresh, "restored": dirty} {
			if !bytes.Equal(got[:len(want)], want) || !bytes.Equal(got[len(want):], make([]byte, PageSize)) {
				t.Fatalf("%s memory differs from the image", name)
			}
		}
	}
}

// Memories of one image are separate, and the image stays what it was.
func TestMemoriesOfAnImageAreSeparate(t *testing.T) {
	if !Shares() {
		t.Skip("this system has no copy-on-write images")
	}
	content := make([]byte, 3*PageSize)
	content[5], content[2*PageSize+1] = 5, 6
	im := Capture(content)
	c := &counter{limit: 1 << 30}
	a, filledA := NewFrom(im, 8*PageSize, c.account, false)
	b, filledB := NewFrom(im, 8*PageSize, c.account, false)
	if !filledA || !filledB {
		t.Fatal("the image was not mapped")
	}
	small, filled := NewFrom(im, 2*PageSize, c.account, false)
	if small.Free(); filled {
		t.Error("the image was mapped into less room than it needs")
	}
	ma, mb := a.Reallocate(3*PageSize), b.Reallocate(4*PageSize)
	if !bytes.Equal(ma, content) || !bytes.Equal(mb[:3*PageSize], content) || mb[3*PageSize] != 0 {
		t.Fatal("the memories differ from the image")
	}
	for i := range ma {
		ma[i] = 9
	}
	if !bytes.Equal(mb[:3*PageSize], content) {
		t.Fatal("one memory changed the other")
	}
	if im.Restore(ma); !bytes.Equal(ma, content) {
		t.Error("the image changed")
	}
	im.Free()
	if ma[0] = 1; !bytes.Equal(mb[:3*PageSize], content) {
		t.Error("a memory went with its image")
	}
	a.Free()
	b.Free()
	if c.used != 0 {
		t.Errorf("%d bytes held", c.used)
	}
}

// finders set a memory up for each way to find the pages that differ.
var finders = map[Finder]func(*Memory){
	Compares: func(m *Memory) { m.image = nil },
	ReadsMap: func(m *Memory) { m.resets = trackAfter },
	Tracks:   func(m *Memory) { m.resets = trackAfter - 1 },
}

// A reset leaves nothing of what was written, however it finds the pages.
func TestRestoreFindsAllThatWasWritten(t *testing.T) {
	content := make([]byte, 40*PageSize)
	r := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		at := r.IntN(len(content) - 3*grain)
		copy(content[at:], bytes.Repeat([]byte{byte(1 + r.IntN(255))}, r.IntN(3*grain)))
	}
	source, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	if _, err := source.WriteString(strings.Repeat("written by the kernel", 500)); err != nil {
		t.Fatal(err)
	}
	im := Capture(content)
	defer im.Free()
	for finder, prepare := range finders {
		t.Run(finder.String(), func(t *testing.T) {
			if finder > Finds() {
				t.Skip("this system has better or nothing")
			}
			m, filled := NewFrom(im, 64*PageSize, (&counter{limit: 1 << 30}).account, false)
			defer m.Free()
			if !filled {
				im.Fill(m.Reallocate(40 * PageSize))
			}
			prepare(m)
			for round := range 60 {
				mem := m.Reallocate(uint64(40+r.IntN(3)*12) * PageSize)
				for range r.IntN(50) {
					mem[r.IntN(len(mem))]++
				}
				if at := r.IntN(len(mem) - 4*grain); round%3 == 0 {
					if _, err := source.ReadAt(mem[at:at+2*grain], 0); err != nil {
						t.Fatal(err)
					}
				}
				m.Restore(im, mem)
				if !bytes.Equal(mem[:im.size], content) || !bytes.Equal(mem[im.size:], make([]byte, len(mem)-im.size)) {
					t.Fatalf("round %d left something", round)
				}
			}
			if tracked := m.track != nil; tracked != (finder == Tracks) {
				t.Errorf("tracked: %v", tracked)
			}
		})
	}
}

func TestFindsOnKnownSystems(t *testing.T) {
	if !Shares() && Finds() != Compares {
		t.Errorf("finds by %v, without images that are shared", Finds())
	}
}

// BenchmarkRestore puts back a memory of the size of a stock Go guest's, of which
// fifty pages were written.
func BenchmarkRestore(b *testing.B) {
	content := make([]byte, 52*PageSize)
	for i := range content {
		content[i] = byte(i)
	}
	im := Capture(content)
	defer im.Free()
	for finder := Compares; finder <= Finds(); finder++ {
		b.Run(finder.String(), func(b *testing.B) {
			m, _ := NewFrom(im, 64*PageSize, func(int64) bool { return true }, false)
			defer m.Free()
			finders[finder](m)
			mem := m.Reallocate(52 * PageSize)
			if finder == Compares {
				im.Restore(mem)
			}
			b.SetBytes(int64(len(mem)))
			for b.Loop() {
				for at := 0; at < len(mem); at += 16 * grain {
					mem[at]++
				}
				m.Restore(im, mem)
			}
		})
	}
}

func TestImageOfNothing(t *testing.T) {
	im := Capture(nil)
	defer im.Free()
	mem := bytes.Repeat([]byte{7}, 10)
	if im.Restore(mem); im.Size() != 0 || im.Held() != 0 || !bytes.Equal(mem, make([]byte, 10)) {
		t.Errorf("size %d, held %d, %v", im.Size(), im.Held(), mem)
	}
}
