package linear

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// What was written under a watch is put back, whether it was written before, by whom, and
// however often it was found without asking the system.
func TestRestoreAfterWatches(t *testing.T) {
	if !Counts() {
		t.Skip("this system does not count page faults")
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
	m, _ := NewFrom(im, 64*PageSize, (&counter{limit: 1 << 30}).account, false)
	defer m.Free()
	var w Watch
	quiets, pages := 0, []int{0}
	for round := range 400 {
		mem := m.Reallocate(uint64(40+r.IntN(3)*12) * PageSize)
		w.Begin(0)
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
		quiet := w.End(0) && m.Tracked()
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
	if w.End(0) {
		t.Error("quiet before it began")
	}
	w.Begin(0)
	w.End(0)
	if w.End(0) {
		t.Error("quiet after it ended")
	}
}

// A count of faults serves the next watch on the same thread, if that is soon.
func TestWatchCountsAnew(t *testing.T) {
	if !Counts() {
		t.Skip("this system does not count page faults")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const begun, wrong = time.Hour, -5
	for name, c := range map[string]struct {
		after  time.Duration
		thread int
		anew   bool
	}{
		"soon":           {countsFor - 1, thread(), false},
		"later":          {countsFor, thread(), true},
		"another thread": {0, thread() + 1, true},
	} {
		w := Watch{thread: c.thread, faults: wrong, at: begun}
		w.Begin(begun + c.after)
		if anew := w.faults != wrong; anew != c.anew || w.thread != thread() {
			t.Errorf("%s: counted anew: %t, thread %d of %d", name, anew, w.thread, thread())
		}
		w.End(begun + c.after)
		if w.faults < 0 || w.at != begun+c.after {
			t.Errorf("%s: left %d faults at %v", name, w.faults, w.at)
		}
	}
}

// What every call writes is put back from a copy, if that is small and the host has room,
// and the copy is accounted for.
func TestRestoreFromACopy(t *testing.T) {
	if !Counts() {
		t.Skip("this system does not count page faults")
	}
	const size = 40 * PageSize
	const most = 16 * grain // as nearMost
	content := make([]byte, size)
	for at := 0; at < size; at += 3 * grain { // two pages of three are zero
		content[at+1] = byte(1 + at/grain)
	}
	im := Capture(content)
	defer im.Free()
	for name, c := range map[string]struct {
		pages, stride int
		room, near    int64
	}{
		"the most":   {16, 3, 1 << 20, most},
		"too many":   {17, 3, 1 << 20, 0},
		"with zeros": {48, 1, 1 << 20, most}, // which are not copied
		"just room":  {10, 1, 4 * grain, 4 * grain},
		"no room":    {10, 1, 4*grain - 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			held := &counter{limit: size + c.room}
			m, _ := NewFrom(im, 64*PageSize, held.account, false)
			defer func() {
				if m.Free(); held.used != 0 {
					t.Errorf("%d bytes accounted for at the end", held.used)
				}
			}()
			mem := m.Reallocate(size)
			var w Watch
			quiets := 0
			for round := range 50 {
				w.Begin(0)
				for i := range c.pages {
					mem[i*c.stride*grain+round]++
				}
				quiet := w.End(0) && m.Tracked()
				if quiet {
					quiets++
				}
				if m.Restore(im, mem, quiet); !bytes.Equal(mem, content) {
					t.Fatalf("round %d left something (quiet: %t)", round, quiet)
				}
			}
			if quiets < 10 {
				t.Errorf("%d of 50 rounds were quiet", quiets)
			}
			if near := int64(len(m.near)); near != c.near || held.used != size+near {
				t.Errorf("copied %d bytes, want %d; %d accounted for", near, c.near, held.used-size)
			}
		})
	}
}

// Nothing is known of a memory whose written parts are more than are kept, nor of one that
// maps another image.
func TestTracked(t *testing.T) {
	if !Counts() {
		t.Skip("this system does not count page faults")
	}
	content := bytes.Repeat([]byte{1}, 40*PageSize)
	im := Capture(content)
	defer im.Free()
	m, _ := NewFrom(im, 64*PageSize, (&counter{limit: 1 << 30}).account, false)
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
	for at := 0; at < len(mem); at += 2 * grain {
		mem[at]++
	}
	if restore() || !bytes.Equal(mem, content) {
		t.Errorf("tracked with %d parts", len(mem)/grain/2)
	}
	if !m.Map(im, false) || m.Tracked() {
		t.Error("tracked after it was mapped")
	}
}
