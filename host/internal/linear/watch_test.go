package linear

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// What was written under a watch is put back, whether it was written before, by whom, and
// however often it was found without asking the system.
func TestRestoreAfterWatches(t *testing.T) {
	if Finds() != Tracks {
		t.Skip("this system does not track writes")
	}
	r := rand.New(rand.NewPCG(5, 6))
	content := make([]byte, 40*PageSize)
	for at := 0; at < len(content); at += 3 * grain {
		content[at] = byte(1 + at/grain)
	}
	path := filepath.Join(t.TempDir(), "source")
	if err := os.WriteFile(path, bytes.Repeat([]byte("written by the kernel"), 500), 0o600); err != nil {
		t.Fatal(err)
	}
	source, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	im := Capture(content)
	defer im.Free()
	m, _ := NewFrom(im, 64*PageSize, (&counter{limit: 1 << 30}).account)
	defer m.Free()
	var w Watch
	quiets, pages := 0, []int{0}
	for round := range 400 {
		mem := m.Reallocate(uint64(40+r.IntN(3)*12) * PageSize)
		w.Begin()
		if round%8 == 0 { // one that may be new
			pages = append(pages, r.IntN(len(mem)/grain-1))
		}
		for _, p := range pages {
			if at := p * grain; at >= len(mem) {
				continue
			} else if round%16 == 0 {
				if _, err := source.ReadAt(mem[at+r.IntN(grain):][:1+r.IntN(grain)], 0); err != nil {
					t.Fatal(err)
				}
			} else {
				mem[at+r.IntN(grain)]++
			}
		}
		quiet := w.End() && m.Tracked()
		if quiet {
			quiets++
		}
		m.Restore(im, mem, quiet)
		if !bytes.Equal(mem[:im.size], content) || !bytes.Equal(mem[im.size:], make([]byte, len(mem)-im.size)) {
			t.Fatalf("round %d left something (quiet: %t)", round, quiet)
		}
	}
	if quiets < 100 {
		t.Errorf("%d of 400 watches saw no fault", quiets)
	}
}

// A watch that has not begun, or that has ended, saw nothing.
func TestWatchEnds(t *testing.T) {
	var w Watch
	if w.End() {
		t.Error("quiet before it began")
	}
	w.Begin()
	w.End()
	if w.End() {
		t.Error("quiet after it ended")
	}
}

// Nothing is known of a memory whose written parts are more than are kept, nor of one that
// maps another image.
func TestTracked(t *testing.T) {
	if Finds() != Tracks {
		t.Skip("this system does not track writes")
	}
	content := bytes.Repeat([]byte{1}, 40*PageSize)
	im := Capture(content)
	defer im.Free()
	m, _ := NewFrom(im, 64*PageSize, (&counter{limit: 1 << 30}).account)
	defer m.Free()
	mem := m.Reallocate(40 * PageSize)
	restore := func() bool {
		m.Restore(im, mem, false)
		return m.Tracked()
	}
	for range trackAfter {
		if restore() {
			t.Error("tracked before the system was asked")
		}
	}
	mem[0]++
	if !restore() {
		t.Error("not tracked")
	}
	if !Counts() {
		t.Error("tracked, and faults are not counted")
	}
	for at := 0; at < len(mem); at += 2 * grain {
		mem[at]++
	}
	if restore() || !bytes.Equal(mem, content) {
		t.Errorf("tracked with %d parts", len(mem)/grain/2)
	}
	if !m.Map(im) || m.Tracked() {
		t.Error("tracked after it was mapped")
	}
}
