package linear

import (
	"bytes"
	"testing"
)

// Memories that share an image are charged for the private copies that resets found, and
// further memories for as many from their beginning.
func TestSharedImageCountsOnce(t *testing.T) {
	if Finds() == Compares {
		t.Skip("this system does not tell which pages are private copies")
	}
	const pages, page = 100, PageSize
	content := bytes.Repeat([]byte{1}, pages*page)
	im := Capture(content)
	defer im.Free()
	c := &counter{limit: 30 * page}
	var all []*Memory
	open := func() (*Memory, []byte) {
		m, filled := NewFrom(im, 2*pages*page, c.account, true)
		m.Expect()
		all = append(all, m)
		mem := m.Reallocate(pages * page)
		if !filled || !bytes.Equal(mem, content) {
			t.Fatal("the memory is not the image")
		}
		return m, mem
	}
	expect := func(what string, want int64) {
		t.Helper()
		if c.used != want {
			t.Errorf("%s: %d bytes accounted for, want %d", what, c.used, want)
		}
	}
	for range 50 {
		open()
	}
	expect("50 memories", 0)

	m, mem := open()
	for round := range 10 {
		for i := range 4 {
			mem[i*page] = byte(round)
		}
		if !m.Restore(im, mem) || !bytes.Equal(mem, content) {
			t.Fatal("the image is not back")
		}
	}
	expect("one wrote to four pages", 4*grain)
	other, _ := open()
	expect("another memory", 2*4*grain)
	grown := other.Reallocate((pages + 1) * page)
	for at := (pages - 1) * page; at < len(grown); at += grain {
		grown[at]++
	}
	if !other.Restore(im, grown) {
		t.Error("no room for as much as it was taken to have")
	}
	expect("it grew, and wrote to what lies around the end", 4*grain+2*page)
	other.Free()
	expect("it was freed", 4*grain)

	mem = m.Reallocate((pages + 3) * page)
	expect("growth", 4*grain+3*page)
	if !m.Restore(im, mem) {
		t.Error("no room for what was written before")
	}
	m.Reallocate(pages * page)
	expect("back to the size of the image", 4*grain+3*page)

	for at := 0; at < len(mem); at += grain {
		mem[at]++
	}
	if m.Restore(im, mem) {
		t.Error("more of its own than there is room for, and nobody says so")
	}
	if !bytes.Equal(mem[:len(content)], content) {
		t.Error("the image is not back")
	}
	n, _ := NewFrom(im, pages*page, c.account, true)
	n.Expect()
	all = append(all, n)
	if n.Reallocate(pages*page) != nil || !n.Refused {
		t.Error("a further memory, which may do the same, is not refused")
	}
	n, _ = NewFrom(im, pages*page, c.account, true)
	all = append(all, n)
	if n.Reallocate(pages*page) == nil {
		t.Error("one of which nothing is expected is refused")
	}
	for _, m := range all {
		m.Free()
	}
	expect("all freed", 0)
}

// Zero parts of an image that were not written never count as private copies.
func TestZerosOfASharedImageDoNotCount(t *testing.T) {
	if Finds() == Compares {
		t.Skip("this system does not tell which pages are private copies")
	}
	content := make([]byte, 200*PageSize)
	content[50*PageSize] = 1
	im := Capture(content)
	defer im.Free()
	c := &counter{limit: 1 << 30}
	m, _ := NewFrom(im, 200*PageSize, c.account, true)
	defer m.Free()
	mem := m.Reallocate(200 * PageSize)
	for round := range 3 * trackAfter {
		mem[100*PageSize] = 1
		if !m.Restore(im, mem) || c.used != grain {
			t.Errorf("reset %d: %d bytes accounted for, want %d", round, c.used, grain)
		}
	}
}

// A memory that begins to share its image gives back what it was charged for it.
func TestMappingGivesBack(t *testing.T) {
	if Finds() == Compares {
		t.Skip("this system does not tell which pages are private copies")
	}
	for _, shared := range []bool{false, true} {
		c := &counter{limit: 1 << 30}
		m := New(50*PageSize, c.account)
		mem := m.Reallocate(20 * PageSize)
		mem[0] = 1
		im := Capture(mem)
		want := int64(20 * PageSize)
		if shared {
			want = 0
		}
		if !m.Map(im, shared) || c.used != want {
			t.Errorf("shared: %t: %d bytes accounted for, want %d", shared, c.used, want)
		}
		m.Free()
		im.Free()
		if c.used != 0 {
			t.Errorf("%d bytes accounted for at the end", c.used)
		}
	}
}
