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

// Each thread has a number of its own.
func TestThreads(t *testing.T) {
	if !Counts() {
		t.Skip("this system does not count page faults")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	other := make(chan int)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		other <- thread()
	}()
	if own, other := thread(), <-other; own == other || own != thread() {
		t.Errorf("this thread is %d, then %d; another one is %d", own, thread(), other)
	}
}

// regular puts an image back after the same pages of a memory were written in each of 50
// rounds, the first and the last byte of each, and reports whether the system was not
// asked at the end. Faults between watches do not count.
func regular(t *testing.T, m *Memory, im *Image, mem, content []byte, pages []int) bool {
	t.Helper()
	quiet, last := 0, false
	for round := range 50 {
		var w Watch
		w.Begin(0)
		for _, p := range pages {
			mem[p*grain]++
			mem[(p+1)*grain-1]++
		}
		if last = w.End(0) && m.Tracked(); last {
			quiet++
		}
		if !m.Restore(im, mem, last) || !bytes.Equal(mem, content) {
			t.Fatalf("round %d left something (quiet: %t)", round, last)
		}
	}
	return quiet > 10 && last
}

// What every call writes is put back from a copy, if that is small and the host has room,
// and the copy is accounted for.
func TestRestoreFromACopy(t *testing.T) {
	if !Counts() || os.Getpagesize() != grain {
		t.Skip("this system does not count page faults, or has other pages")
	}
	const size, most = 40 * PageSize, 16 * grain
	content := make([]byte, size)
	for at := range content { // of eight pages the last three are zero
		if at/grain%8 < 5 {
			content[at] = byte(1 + at%251 + at/grain)
		}
	}
	im := Capture(content)
	defer im.Free()
	for name, c := range map[string]struct {
		pages []int
		room  int64
		near  int64
	}{
		"one run":              {[]int{0, 1, 2, 3, 4}, 1 << 20, 5 * grain},
		"parts of a run":       {[]int{0, 2, 4}, 1 << 20, 3 * grain},
		"a part of two runs":   {[]int{3, 4, 5, 6, 7, 8, 9}, 1 << 20, 4 * grain},
		"zeros, not copied":    {[]int{5, 6, 7, 13}, 1 << 20, 0},
		"the most":             {[]int{0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120}, 1 << 20, most},
		"too many":             {[]int{0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128}, 1 << 20, 0},
		"too many in one part": {[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 24, 25}, 1 << 20, 0},
		"just room":            {[]int{0, 2}, 2 * grain, 2 * grain},
		"no room":              {[]int{0, 2}, 2*grain - 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			held := &counter{limit: size + c.room}
			m, _ := NewFrom(im, 64*PageSize, held.account, false)
			if !regular(t, m, im, m.Reallocate(size), content, c.pages) {
				t.Error("the system is asked each time")
			}
			if near := int64(len(m.near)); near != c.near || held.used != size+near {
				t.Errorf("copied %d bytes, want %d; %d accounted for", near, c.near, held.used-size)
			}
			m.Free()
			if m.Free(); held.used != 0 {
				t.Errorf("%d bytes accounted for at the end", held.used)
			}
		})
	}
}

// A copy grows with what calls write, on the account, and serves until it is too large.
func TestCopyGrows(t *testing.T) {
	if !Counts() || os.Getpagesize() != grain {
		t.Skip("this system does not count page faults, or has other pages")
	}
	content := bytes.Repeat([]byte{7}, 40*PageSize)
	im := Capture(content)
	defer im.Free()
	held := &counter{limit: 1 << 30}
	m, _ := NewFrom(im, 64*PageSize, held.account, false)
	mem := m.Reallocate(uint64(len(content)))
	var pages []int
	for n := range 20 {
		pages = append(pages, 2*n)
		if !regular(t, m, im, mem, content, pages) {
			t.Errorf("%d pages: the system is asked each time", len(pages))
		}
		want := int64(min(n+1, 16) * grain)
		if near := int64(len(m.near)); near != want || held.used != int64(len(content))+near {
			t.Errorf("%d pages: copied %d bytes, want %d; %d accounted for", len(pages), near, want, held.used-int64(len(content)))
		}
	}
	if m.Free(); held.used != 0 {
		t.Errorf("%d bytes accounted for at the end", held.used)
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
