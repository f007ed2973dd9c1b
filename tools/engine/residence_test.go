package main

import (
	"errors"
	"strings"
	"testing"
)

// smaps has an image that a view and two instances map, one of which had a call, and
// beside it what any process has. Sizes are in kB.
const smaps = `00400000-00db1000 r-xp 00000000 fe:00 7 /tmp/a program
Size:               9924 kB
Rss:                8836 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
01f3a000-01fd2000 rw-p 01b3a000 fe:00 7 /tmp/a program
Size:                608 kB
Rss:                 480 kB
Anonymous:           132 kB
c000000000-c000c00000 rw-p 00000000 00:00 0
Size:              12288 kB
Rss:                5000 kB
Anonymous:          5000 kB
7f0000000000-7f0000400000 r--s 00000000 00:01 40 /memfd:anchor-image (deleted)
Size:               4096 kB
Rss:                 240 kB
Anonymous:             0 kB
7f0001000000-7f0001400000 rw-p 00000000 00:01 40 /memfd:anchor-image (deleted)
Size:               4096 kB
Rss:                2944 kB
Anonymous:            56 kB
7f0002000000-7f0002400000 rw-p 00000000 00:01 40 /memfd:anchor-image (deleted)
Size:               4096 kB
Rss:                   0 kB
Anonymous:             0 kB
7f0003000000-7f0003100000 r--p 00000000 fe:00 8 /tmp/code
Size:               1024 kB
Rss:                1000 kB
Anonymous:             0 kB
`

func residenceIn(t *testing.T, text string) residence {
	t.Helper()
	mappings, err := parseMappings([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return residenceOf(mappings, "/tmp/a program")
}

func TestResidenceCountsWhatIsHeldOnce(t *testing.T) {
	before := residenceIn(t, smaps)
	want := residence{resident: (8836 + 480 + 5000 + 240 + 2944 + 1000) << 10, held: (132 + 5000 + 4096 + 56 + 1000) << 10}
	if before != want {
		t.Errorf("%+v, want %+v", before, want)
	}
	for name, c := range map[string]struct {
		from, to string
		more     residence
	}{
		"the program is read":              {"Rss:                8836 kB", "Rss:                8900 kB", residence{64 << 10, 0}},
		"the program is written":           {"Anonymous:           132 kB", "Anonymous:           136 kB", residence{0, 4 << 10}},
		"the heap grows":                   {"5000 kB", "5004 kB", residence{4 << 10, 4 << 10}},
		"an instance has its first call":   {"Rss:                   0 kB", "Rss:                2888 kB", residence{2888 << 10, 0}},
		"an instance writes to its memory": {"Anonymous:            56 kB", "Anonymous:            60 kB", residence{0, 4 << 10}},
		"another image stays":              {"r--s 00000000 00:01 40", "r--s 00000000 00:01 41", residence{0, 4096 << 10}},
		"more of another file is mapped":   {"Rss:                1000 kB", "Rss:                1024 kB", residence{24 << 10, 24 << 10}},
	} {
		if !strings.Contains(smaps, c.from) {
			t.Fatalf("%s: no %q", name, c.from)
		}
		after := residenceIn(t, strings.ReplaceAll(smaps, c.from, c.to))
		if more := (residence{after.resident - before.resident, after.held - before.held}); more != c.more {
			t.Errorf("%s: %+v more, want %+v", name, more, c.more)
		}
	}
}

func TestResidenceRefusesWhatItCannotRead(t *testing.T) {
	for _, text := range []string{"", "Rss: 4 kB\n", "00400000-00db1000 r-xp 0 fe:00 7 /a\nRss: much\n"} {
		if all, err := parseMappings([]byte(text)); err == nil {
			t.Errorf("%q: %v", text, all)
		}
	}
}

// What stays of each time is seen, in both figures.
func TestOverSeesALeak(t *testing.T) {
	const piece, times = 256 << 10, 64
	var leaked [][]byte
	var use memoryUse
	err := use.over(job{Count: 2 * times, Base: times}, func() error {
		b := make([]byte, piece)
		for i := range b {
			b[i] = 1
		}
		leaked = append(leaked, b)
		return nil
	})
	if errors.Is(err, errAbsent) {
		t.Skip(err)
	}
	if want := int64(len(leaked)-times) * piece; err != nil || use.Held < want*9/10 || use.Held > want*2 || use.After-use.Before < want*9/10 {
		t.Errorf("%+v, %v, want %d more", use, err, want)
	}
}
