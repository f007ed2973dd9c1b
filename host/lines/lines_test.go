package lines_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/host/lines"
)

const good = `{"files":["a.c","b.h"],"places":[0,7,0, 1,3,1],"rows":[10,1, 14,2, 20,0]}`

func TestAt(t *testing.T) {
	table, err := lines.Parse([]byte(good))
	if err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[uint32][]string{9: nil, 10: {"a.c:7"}, 13: {"a.c:7"}, 14: {"b.h:3", "a.c:7"}, 19: {"b.h:3", "a.c:7"}, 20: nil, 1 << 31: nil} {
		if got := table.At(offset); !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", offset, got, want)
		}
	}
	doc, err := table.Encode()
	if again, perr := lines.Parse(doc); err != nil || perr != nil || !slices.Equal(again.At(15), table.At(15)) {
		t.Errorf("%s: %v, %v", doc, err, perr)
	}
}

// hostile are sections that must be refused.
var hostile = []string{
	"", "null0", "[]", `{"files":1}`, `{"rows":[1]}`, `{"rows":[1,1]}`, `{"rows":[1,4294967295]}`, `{"places":[0,1,0]}`, `{"files":["a"],"places":[0,1]}`,
	`{"files":["a"],"places":[0,1,1]}`, `{"files":["a"],"places":[1,1,0]}`, `{"files":["a"],"places":[4294967295,1,0]}`, `{"rows":[2,0,1,0]}`, `{"rows":[-1,0]}`, `{"rows":[4294967296,0]}`,
}

func TestHostileSections(t *testing.T) {
	for _, s := range append(hostile, `{"files":["`+strings.Repeat("a", lines.MaxSize)+`"]}`) {
		if table, err := lines.Parse([]byte(s)); err == nil {
			t.Errorf("%.80s: %v", s, table)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range append(hostile, good) {
		f.Add([]byte(s), uint32(14))
	}
	f.Fuzz(func(t *testing.T, section []byte, offset uint32) {
		table, err := lines.Parse(section)
		if err != nil {
			return
		}
		if places := table.At(offset); len(places) > 8 {
			t.Errorf("%d places", len(places))
		}
	})
}
