package eval

import (
	"encoding/xml"
	"errors"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// With three unequal pairs the test is exact: of the 8 sign changes of +1 +1 -0.5
// four reach the observed 1.5, which are +1 +1 -0.5, +1 +1 +0.5 and their
// opposites.
func TestCompareByHand(t *testing.T) {
	d := Compare("m", []float64{0, 0, 0.5, 0.25}, []float64{1, 1, 0, 0.25})
	if !near(d.Base, 0.75/4) || !near(d.Other, 2.25/4) || !near(d.Difference, 1.5/4) {
		t.Errorf("means %+v", d)
	}
	if d.Better != 2 || d.Worse != 1 || d.Equal != 1 {
		t.Errorf("counts %+v", d)
	}
	if !near(d.P, 4.0/8) {
		t.Errorf("p %v, want 0.5", d.P)
	}
	if d.Low > d.Difference || d.High < d.Difference || d.Low < -0.5 || d.High > 1 {
		t.Errorf("interval %v to %v", d.Low, d.High)
	}
}

func TestCompareEqual(t *testing.T) {
	same := []float64{0.5, 0.25, 1}
	if d := Compare("m", same, same); d.P != 1 || d.Low != 0 || d.High != 0 || d.Equal != 3 {
		t.Errorf("got %+v", d)
	}
	if d := Compare("m", []float64{0.1 + 0.2}, []float64{0.3}); d.Equal != 1 || d.Difference != 0 {
		t.Errorf("rounding counts as a difference: %+v", d)
	}
}

// The interval of many differences is the one of the normal approximation, small
// ones are significant when there are enough, and figures repeat.
func TestCompareMany(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	base, other := make([]float64, 400), make([]float64, 400)
	for i := range base {
		base[i] = random.Float64()
		other[i] = base[i] + 0.02 + 0.1*random.NormFloat64()
	}
	d := Compare("m", base, other)
	if half := (d.High - d.Low) / 2; half < 0.0085 || half > 0.0115 { // 1.96 · 0.1 / 20
		t.Errorf("half the interval is %v", half)
	}
	if d.P > 0.01 || d.P <= 0 {
		t.Errorf("p %v", d.P)
	}
	if again := Compare("m", base, other); again != d {
		t.Errorf("%+v, again %+v", d, again)
	}
	for i := range other { // no difference on average
		other[i] = base[i] + 0.1*float64(i%2*2-1)
	}
	if d := Compare("m", base, other); d.P < 0.9 {
		t.Errorf("p %v of a difference of 0", d.P)
	}
}

// comparison is a report with a second configuration, and names that need
// escaping.
func comparison(t *testing.T) *Report {
	t.Helper()
	set := newSet(t, Grades{"a": 1, "b": 1, "d": 2, "x": 1}, Grades{"c": 1}, Grades{"a": 1})
	set.Queries[0].Text = `<script>alert("1 & 2")</script>`
	run := evaluate(t, newPipeline(t), set)
	r := NewReport(run, `a "quoted" <b>&.yaml`)
	r.Compare = NewComparison(run, evaluate(t, newPipeline(t), set), "other.yaml")
	return r
}

var reference = regexp.MustCompile(`(?i)(src|href|url)\s*[=(]|<script|@import|<link|https?:`)

// The page is well-formed, needs nothing from elsewhere and no script, and what
// users wrote stays text.
func TestHTML(t *testing.T) {
	for name, r := range map[string]*Report{"compared": comparison(t), "alone": NewReport(evaluate(t, newPipeline(t), newSet(t, Grades{"a": 1})), "c")} {
		var b strings.Builder
		if err := WriteHTML(&b, r, 10); err != nil {
			t.Fatal(err)
		}
		wellFormed(t, name, b.String())
		if found := reference.FindString(b.String()); found != "" {
			t.Errorf("%s: the page refers to something: %q", name, found)
		}
		want := []string{"in the window", "budget cut", "prefers-color-scheme: dark", `role="img"`, "removed by step"}
		if name == "alone" {
			want[4] = "None: every ranking is perfect."
		} else {
			want = append(want, "&lt;script&gt;", "bootstrap", "left out by the budget at rank 3: window full, 5 tokens short", `▼ −0.0833`)
		}
		for _, w := range want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("%s: the page lacks %q", name, w)
			}
		}
	}
}

// wellFormed parses the page as XML, which is stricter than HTML.
func wellFormed(t *testing.T, name, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	figures, depth := 0, 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			depth++
			if e.Name.Local == "svg" {
				figures++
			}
		case xml.EndElement:
			depth--
		}
	}
	if depth != 0 || figures < 4 {
		t.Errorf("%s: depth %d at the end, %d drawings", name, depth, figures)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestHTMLWriteError(t *testing.T) {
	if err := WriteHTML(failing{}, comparison(t), 1); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v", err)
	}
}
