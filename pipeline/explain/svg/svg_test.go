package svg

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

var update = flag.Bool("update", false, "write the golden files")

// drawn writes drawings, and checks that the document is XML without scripts and styles.
func drawn(t *testing.T, o Options, d ...Drawing) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, o, d...); err != nil {
		t.Fatal(err)
	}
	for dec := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%.4000s", err, b.String())
		}
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		if e.Name.Local == "script" || e.Name.Local == "foreignObject" || e.Name.Local == "style" && !o.Page {
			t.Fatalf("element %s", e.Name.Local)
		}
		for _, a := range e.Attr {
			if n := strings.ToLower(a.Name.Local); strings.HasPrefix(n, "on") || n == "style" || n == "href" {
				t.Fatalf("attribute %s", n)
			}
		}
	}
	return b.String()
}

func example() Bar {
	return Bar{Title: "a.json", MaxTokens: 1000, Fixed: 40, Common: 310, Segments: []Segment{
		{ID: "rules", Source: core.SourceSystem, Tokens: 120},
		{ID: "fact-1", Source: core.SourceMemory, Tokens: 60},
		{ID: "doc <1>", Source: core.SourceRetrieval, Tokens: 300, Changed: true, Note: "came"},
		{ID: "thin-1", Source: core.SourceTool, Tokens: 0},
		{ID: "thin-2", Source: core.SourceTool, Tokens: 1},
		{ID: "doc-2", Source: core.SourceRetrieval, Tokens: 250},
	}}
}

func exampleSteps() Drawing {
	return Steps("steps", 12.5, []Step{
		{Name: "memory", Took: 2},
		{Name: "steps", Start: 2, Took: 9},
		{Name: "search & find", Start: 2, Took: 6, Waited: 1, Guest: 4, Fuel: 1_234_567, Plugin: "bm25", Part: true},
		{Name: "rerank", Start: 8, Took: 3, Failed: `deadline "exceeded"`, Part: true},
		{Name: "fill", Start: 11, Took: 0.0004},
	})
}

func exampleDiff() Drawing {
	a, b := example(), example()
	b.Title, b.Segments = "b.json", b.Segments[1:]
	b.Segments[1], b.Segments[4] = b.Segments[4], b.Segments[1]
	return Diff(a, b, []Link{{1, 0}, {2, 4}, {5, 1}, {99, 0}, {-1, 2}})
}

func TestGolden(t *testing.T) {
	for name, d := range map[string][]Drawing{
		"build.svg": {Window(example()), exampleSteps()},
		"diff.svg":  {exampleDiff()},
		"empty.svg": {Window(Bar{Common: -1}), Steps("", 0, nil), Diff(Bar{}, Bar{}, nil)},
	} {
		got := drawn(t, Options{Page: true}, d...)
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("differs from %s (if it is right: go test -update)", path)
		}
	}
}

// A page may contain several drawings: their patterns have different names.
func TestNamesOfPatterns(t *testing.T) {
	got := drawn(t, Options{ID: "first"}, Window(example()))
	if !strings.Contains(got, `<pattern id="first-hatch"`) || !strings.Contains(got, "url(#first-hatch)") || strings.Contains(got, hatch) {
		t.Error(got)
	}
}

// No text of a build becomes markup, and none acts on the reader's screen.
func TestTextsAreEscaped(t *testing.T) {
	hostile := "\"><script>alert(1)</script><!-- ]]> & ' \x00\x1b[2J\u202e \xff\n" + strings.Repeat("x", 5000)
	bar := Bar{Title: hostile, MaxTokens: 10, Segments: []Segment{{ID: hostile, Source: core.Source(hostile), Tokens: 5, Changed: true, Note: hostile}}}
	got := drawn(t, Options{ID: `x"><script>`}, Window(bar), Diff(bar, bar, []Link{{0, 0}}),
		Steps(hostile, 1, []Step{{Name: hostile, Took: 1, Plugin: hostile, Failed: hostile}}))
	if strings.Contains(got, "<script") || strings.ContainsAny(got, "\x00\x1b\u202e") || len(got) > 40_000 {
		t.Errorf("%d bytes: %.3000s", len(got), got)
	}
}

// widths sums the rectangles of segments.
var rects = regexp.MustCompile(`<rect `)

// Many items cost no more than a drawing has pixels.
func TestManyItems(t *testing.T) {
	const n = 5000
	bar := Bar{Title: "many", MaxTokens: 1_000_000, Common: 10}
	var links []Link
	for i := range n {
		bar.Segments = append(bar.Segments, Segment{ID: fmt.Sprint("item-", i), Source: core.Sources[i%len(core.Sources)], Tokens: i % 400, Changed: i%3 == 0})
		links = append(links, Link{i, n - 1 - i})
	}
	one := drawn(t, Options{}, Window(bar))
	two := drawn(t, Options{}, Diff(bar, bar, links))
	if r := len(rects.FindAllString(one, -1)); r > 4*width+20 {
		t.Errorf("%d rectangles", r)
	}
	if len(one) > 600_000 || len(two) > 2_000_000 {
		t.Errorf("%d and %d bytes, want at most 600,000 and 2,000,000", len(one), len(two))
	}
}

// Segments cover the window from the left without gaps, whatever their sizes.
func TestPiecesCoverEachItem(t *testing.T) {
	for _, sizes := range [][]int{{}, {0}, {0, 0, 0}, {1, 1, 1, 5000, 0, 1}, {-5, 3}, {1 << 62, 1 << 62, 1 << 62}} {
		bar := Bar{MaxTokens: 1000}
		for _, n := range sizes {
			bar.Segments = append(bar.Segments, Segment{Source: core.SourceTool, Tokens: n})
		}
		next, at := 0, 0.0
		for _, p := range pieces(&bar, scaleOf(&bar)) {
			if p.first != next || p.last < p.first || p.from != at || p.to < p.from || p.to > width+1e-6 {
				t.Errorf("%v: %+v, want item %d at %v", sizes, p, next, at)
			}
			next, at = p.last+1, p.to
		}
		if next != len(sizes) {
			t.Errorf("%v: %d items", sizes, next)
		}
		for i := range sizes {
			if p := pieceOf(pieces(&bar, scaleOf(&bar)), i); p == nil || p.first > i || p.last < i {
				t.Errorf("%v: item %d is in %+v", sizes, i, p)
			}
		}
	}
}

func TestManySteps(t *testing.T) {
	got := drawn(t, Options{}, Steps("s", 1, make([]Step, 5000)))
	if len(got) > 200_000 || !strings.Contains(got, "and 4800 more") {
		t.Errorf("%d bytes", len(got))
	}
}

func BenchmarkWindow(b *testing.B) {
	bar := Bar{Title: "many", MaxTokens: 1_000_000}
	for i := range 5000 {
		bar.Segments = append(bar.Segments, Segment{ID: fmt.Sprint("item-", i), Source: core.Sources[i%len(core.Sources)], Tokens: i % 400})
	}
	for b.Loop() {
		if err := Write(io.Discard, Options{}, Window(bar)); err != nil {
			b.Fatal(err)
		}
	}
}
