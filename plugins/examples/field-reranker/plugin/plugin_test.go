package plugin

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// item is a title and a text; the text may begin with the title.
type item struct{ title, text string }

type itemRows []item

func (r itemRows) Len() int          { return len(r) }
func (r itemRows) Text(i int) string { return r[i].text }
func (r itemRows) MetaString(i int, key string) (string, bool) {
	return r[i].title, key == "title" && r[i].title != ""
}

func settings(t testing.TB, document string) *Settings {
	t.Helper()
	s := new(Settings)
	s.Defaults()
	if err := json.Unmarshal([]byte(document), s); err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

func ofItems(t testing.TB, document string) *Reranker {
	t.Helper()
	r, err := New(settings(t, document))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ExampleReranker_Rerank() {
	var s Settings
	s.Defaults()
	r, err := New(&s)
	if err != nil {
		fmt.Println(err)
		return
	}
	scores := []float64{1, 0.9}
	r.Rerank("parsing flags", itemRows{
		{"", "Parse dates. There is something else on flags."},
		{"Flags", "Parse flags."},
	}, scores)
	fmt.Printf("%.2f\n", scores)
	// Output: [0.51 1.00]
}

// TestParts compares with the formulas, computed by hand.
func TestParts(t *testing.T) {
	r := ofItems(t, `{"k1": 1.5, "b": 0.75, "stem": false, "stop_words": ["the"]}`)
	got := r.rate("aaa bbb", itemRows{{"aaa", "aaa\n\naaa the bbb"}, {"", "ccc ddd bbb"}, {"", "aab"}})
	idf := func(n float64) float64 { return math.Log1p((3 - n + 0.5) / (n + 0.5)) }
	bm25 := func(tf, k1, b, length, average float64) float64 { return tf / (tf + k1*(1-b+b*length/average)) }
	a, b := idf(1), idf(2)
	words := func(tf, length float64) float64 { return bm25(tf, 1.5, 0.75, length, 7.0/3) }
	// Each of these words has two grams, of which one may be shared: " aaa" and "aaa ".
	grams := func(n int, tf float64, length float64) float64 {
		return 2 * idf(float64(n)) * bm25(tf, 1.2, 0.75, length, 14.0/3) / 4
	}
	near := func(accumulated float64) float64 { return min(1, b) * words(accumulated, 3) }
	want := []parts{
		{
			Words: a*words(2, 3) + b*words(1, 3),
			Title: a * bm25(1, 1.2, 0.5, 1, 1.0/3),
			// one word lies between the second aaa and bbb
			Proximity: min(1, a)*words(b/2, 3) + near(a/2),
			Grams:     grams(1, 2, 6) + grams(2, 1, 6),
		},
		{Words: b * words(1, 3), Grams: grams(2, 1, 6)},
		{},
	}
	for i := range want {
		for part, pair := range map[string][2]float64{
			"words":     {got[i].Words, want[i].Words},
			"title":     {got[i].Title, want[i].Title},
			"proximity": {got[i].Proximity, want[i].Proximity},
			"grams":     {got[i].Grams, want[i].Grams},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-12 {
				t.Errorf("row %d: %s %v, want %v", i, part, pair[0], pair[1])
			}
		}
	}
}

// TestEachPartDecides gives two rows that differ in one respect.
func TestEachPartDecides(t *testing.T) {
	const none = `"title": 0, "proximity": 0, "grams": 0, "weight": 1`
	for _, c := range []struct {
		name, settings, query string
		better, worse         item
	}{
		{"words", none, "red apples", item{"", "red apples"}, item{"", "red pears"}},
		{"title", `"title": 1, "weight": 1`, "apples", item{"Apples", "Fruit here."}, item{"Fruit", "Apples here."}},
		{"proximity", `"proximity": 1, "weight": 1`, "red apples", item{"", "red apples are far here now"}, item{"", "red here are far now apples"}},
		{"grams", `"grams": 1, "weight": 1`, "phosphorylation", item{"", "dephosphorylating it"}, item{"", "something else"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := ofItems(t, "{"+c.settings+"}")
			scores := []float64{0.5, 0.5}
			r.Rerank(c.query, itemRows{c.worse, c.better}, scores)
			if scores[1] != 1 || scores[0] >= 1 {
				t.Errorf("scores %v", scores)
			}
		})
	}
}

func TestStatisticsOfFolder(t *testing.T) {
	files := fstest.MapFS{"c.jsonl": {Data: []byte(strings.Repeat(`{"_id": "x", "text": "common"}`+"\n", 50) + `{"_id": "y", "title": "One", "text": "rare"}`)}}
	r, err := Open(files, settings(t, `{"grams": 0, "weight": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	if r.Documents() != 51 {
		t.Errorf("%d documents", r.Documents())
	}
	scores := []float64{1, 0}
	r.Rerank("common rare", itemRows{{"", "common"}, {"", "rare"}}, scores)
	if scores[1] != 1 || scores[0] > 0.1 {
		t.Errorf("scores %v, want the rare word to decide", scores)
	}
}

func TestScoresStayWithoutWords(t *testing.T) {
	for _, query := range []string{"", "the of and", "zzz", "…", "\xff"} {
		scores := []float64{0.3, 0.7}
		ofItems(t, `{}`).Rerank(query, itemRows{{"", "apples"}, {"pears", ""}}, scores)
		if !slices.Equal(scores, []float64{0.3, 0.7}) {
			t.Errorf("%q: scores %v", query, scores)
		}
	}
}

// TestCallsDoNotInfluenceEachOther asks one reranker many things, and then what
// a fresh one is asked too.
func TestCallsDoNotInfluenceEachOther(t *testing.T) {
	rows := itemRows{{"Red apples", "Red apples\n\nApples are red."}, {"", "green apples and limes"}, {"", ""}}
	files := fstest.MapFS{"a.txt": {Data: []byte("Apples and limes.")}}
	open := func() *Reranker {
		r, err := Open(files, settings(t, `{}`))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for name, fresh := range map[string]func() *Reranker{
		"items":  func() *Reranker { return ofItems(t, `{}`) },
		"folder": open,
	} {
		used := fresh()
		for i := range 5 {
			var many strings.Builder
			for j := range maxLearned / 4 {
				fmt.Fprintf(&many, "w%dx%d ", i, j)
			}
			used.rate(fmt.Sprintf("limes w%dx7 red", i), append(itemRows{{"", many.String()}}, rows...))
		}
		want := slices.Clone(fresh().rate("red limes", rows))
		if got := used.rate("red limes", rows); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		if len(used.v.entries)-used.v.frozen.entries > maxLearned {
			t.Errorf("%s: %d tokens are kept", name, len(used.v.entries))
		}
	}
}

func TestHugeQuery(t *testing.T) {
	var query strings.Builder
	for i := range 200_000 {
		fmt.Fprintf(&query, "word%d ", i)
	}
	scores := []float64{0, 0}
	ofItems(t, `{}`).Rerank(query.String(), itemRows{{"", "word3"}, {"", "nothing"}}, scores)
	if !(scores[0] > scores[1]) {
		t.Errorf("scores %v", scores)
	}
}

func TestOpenErrors(t *testing.T) {
	_, err := Open(fstest.MapFS{"x.jsonl": {Data: []byte("{")}}, settings(t, `{}`))
	if err == nil || !strings.HasPrefix(err.Error(), "count words of /docs: read x.jsonl line 1:") {
		t.Errorf("got %v", err)
	}
}

func TestValidate(t *testing.T) {
	for document, want := range map[string]string{
		`{"statistics": "web"}`:    `statistics "web": unknown source`,
		`{"path": ""}`:             "path: empty",
		`{"weight": 1.5}`:          "weight 1.5: not within 0..1",
		`{"k1": -1}`:               "k1 -1: not within 0..100",
		`{"b": 2}`:                 "b 2: not within 0..1",
		`{"title": -1}`:            "title -1: not within 0..100",
		`{"proximity": 101}`:       "proximity 101: not within 0..100",
		`{"grams": -0.1}`:          "grams -0.1: not within 0..100",
		`{"chunk_chars": 10}`:      "chunk_chars 10: below 100",
		`{"max_file_bytes": 0}`:    "max_file_bytes 0: below 1",
		`{"stop_words": "german"}`: `stop_words "german": unknown list`,
	} {
		var s Settings
		s.Defaults()
		if err := json.Unmarshal([]byte(document), &s); err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", document, err, want)
		}
	}
}

// FuzzRerank holds against any text that scores stay within 0 and 1, and that a
// reranker gives the same answer again.
func FuzzRerank(f *testing.F) {
	f.Add("red apples", "Apples", "Apples\n\nare red \xff 東京", "limes", 0.5)
	f.Fuzz(func(t *testing.T, query, title, one, two string, score float64) {
		rows := itemRows{{title, one}, {"", two}, {title, ""}}
		r := ofItems(t, `{}`)
		first, again := []float64{score, 0, 1}, []float64{score, 0, 1}
		r.Rerank(query, rows, first)
		r.Rerank(query, rows, again)
		if score >= 0 && score <= 1 {
			for _, x := range first {
				if !(x >= 0 && x <= 1) {
					t.Fatalf("scores %v", first)
				}
			}
			if !reflect.DeepEqual(first, again) {
				t.Fatalf("scores %v, then %v", first, again)
			}
		}
	})
}

// BenchmarkRerank rates 100 items of 1.5 KB.
func BenchmarkRerank(b *testing.B) {
	r := ofItems(b, `{}`)
	rows := make(itemRows, 100)
	for i := range rows {
		rows[i] = item{"Red apples", strings.Repeat(fmt.Sprintf("Apples number%d are red, and limes %d are green. ", i, i), 30)}
	}
	scores := make([]float64, len(rows))
	b.ReportAllocs()
	for b.Loop() {
		r.Rerank("are red apples and green limes phosphorylated", rows, scores)
	}
}
