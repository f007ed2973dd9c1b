package eval

import (
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/anchor-host/anchor-host/internal/strict"
)

func TestReadQrels(t *testing.T) {
	want := []Judgement{{"1", "a b", 1, 2}, {"1", "c", 0, 3}, {"2", "a b", -1, 5}}
	for name, text := range map[string]string{
		"with headings": "query-id\tcorpus-id\tscore\n1\ta b\t1\n1\tc\t0\n\n2\ta b\t-1\n",
		"CRLF":          "Query-ID\tCorpus-ID\tScore\r\n1\ta b\t1\r\n1\tc\t0\r\n \r\n2\ta b\t-1",
	} {
		q, err := ReadQrels("q.tsv", strings.NewReader(text))
		if err != nil || !reflect.DeepEqual(q.List, want) {
			t.Errorf("%s: got %v, %v", name, q, err)
		}
	}
	q, err := ReadQrels("q.tsv", strings.NewReader("1\tx\t2\n"))
	if err != nil || !reflect.DeepEqual(q.List, []Judgement{{"1", "x", 2, 1}}) {
		t.Errorf("without headings: got %v, %v", q, err)
	}
}

// Every mistake names file, line and remedy.
func TestReaderErrors(t *testing.T) {
	corpus := func(name string, r io.Reader) error { _, err := ReadCorpus(name, r, nil); return err }
	queries := func(name string, r io.Reader) error { _, err := ReadQueries(name, r); return err }
	qrels := func(name string, r io.Reader) error { _, err := ReadQrels(name, r); return err }
	const ok, judged = `{"_id": "1", "text": "x"}` + "\n", "1\ta\t1\n"
	for _, c := range []struct {
		read       func(string, io.Reader) error
		text, want string
	}{
		{corpus, "", "f: no documents (want one JSON object per line)"},
		{corpus, ok + "{", `f:2: unexpected end of JSON input (want {"_id": "text", "text": "text"})`},
		{corpus, ok + "\n" + ok, `f:3: document "1" again (first on line 1; ids must be unique)`},
		{corpus, `{"_id": 1, "text": "x"}`, `f:1: json: cannot unmarshal number into Go struct field record._id of type string (want {"_id": "text", "text": "text"})`},
		{corpus, `{"text": "x"}`, `f:1: _id is missing or empty (want {"_id": "text", "text": "text"})`},
		{corpus, `{"_id": "", "text": "x"}`, `f:1: _id is missing or empty (want {"_id": "text", "text": "text"})`},
		{corpus, ok + `{"_id": "2", "title": "x"}`, `f:2: text is missing (want {"_id": "text", "text": "text"})`},
		{corpus, ok + "\"\xff\"", "f:2: invalid UTF-8 (convert the file to UTF-8)"},
		{corpus, ok + strings.Repeat("x", maxLine+1), "f:2: line longer than 16 MiB (one document per line; is it JSON Lines?)"},
		{queries, "\n", "f: no queries (want one JSON object per line)"},
		{queries, ok + ok, `f:2: query "1" again (first on line 1; ids must be unique)`},
		{queries, `{"_id": "1", "text": " "}`, `f:1: query "1" has no text`},
		{queries, "null", `f:1: _id is missing or empty (want {"_id": "text", "text": "text"})`},
		{qrels, "", "f: no judgements (want query id, document id and grade per line)"},
		{qrels, "query-id\tcorpus-id\tscore\n", "f: no judgements (want query id, document id and grade per line)"},
		{qrels, judged + "1\tb\n", "f:2: 2 columns (want query id, document id and grade, separated by tabs)"},
		{qrels, "1 0 a 1\n", `f:1: four columns as in TREC (want query id, document id and grade, separated by tabs; convert with: awk -v OFS='\t' '{print $1,$3,$4}')`},
		{qrels, judged + "1\t\t1\n", "f:2: an id is empty (want query id, document id and grade, separated by tabs)"},
		{qrels, judged + "1\tb\t0.5\n", `f:2: grade "0.5" is no whole number (want query id, document id and grade, separated by tabs)`},
		{qrels, judged + "query-id\tcorpus-id\tscore\n", `f:2: grade "score" is no whole number (want query id, document id and grade, separated by tabs)`},
		{qrels, judged + judged, `f:2: query "1" and document "a" again (first on line 1)`},
	} {
		err := c.read("f", strings.NewReader(c.text))
		var problems strict.Problems
		if !errors.As(err, &problems) || err.Error() != c.want {
			t.Errorf("%.40q: got %v, want %s", c.text, err, c.want)
		}
	}
	broken := errors.New("broken")
	for _, read := range []func(string, io.Reader) error{corpus, queries, qrels} {
		if err := read("f", iotest.ErrReader(broken)); !errors.Is(err, broken) || err.Error() != "read f: broken" {
			t.Errorf("a reader that fails: %v", err)
		}
	}
}

func TestReadCorpusKeeps(t *testing.T) {
	var got []Document
	text := `{"_id": "1", "title": "T", "text": "x", "metadata": {"year": 1999}}` + "\n" + `{"_id": "2", "text": ""}`
	c, err := ReadCorpus("c", strings.NewReader(text), func(d Document) error { got = append(got, d); return nil })
	if err != nil || c.Len() != 2 || !c.Has("2") || c.Has("3") || !reflect.DeepEqual(got, []Document{{"1", "T", "x"}, {"2", "", ""}}) {
		t.Errorf("got %v, %v, %v", c, got, err)
	}
	_, err = ReadCorpus("c", strings.NewReader(text), func(Document) error { return errors.New("enough") })
	if err == nil || err.Error() != "c:1: enough" {
		t.Errorf("got %v", err)
	}
}

func TestSelect(t *testing.T) {
	corpus := &Corpus{lines: map[string]int{"a": 1, "b": 2}}
	queries := []Query{{"1", "x"}, {"2", "y"}, {"3", "z"}, {"4", "u"}, {"5", "v"}}
	qrels := &Qrels{"q", []Judgement{{"1", "a", 1, 1}, {"1", "b", 2, 2}, {"2", "a", 0, 3}, {"4", "b", 1, 4}, {"5", "a", 1, 5}}}
	s, err := Select(corpus, queries, qrels, SelectOptions{Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := Counts{Documents: 2, Read: 5, Evaluated: 2, Relevant: 3, Unjudged: 1, WithoutRelevant: 1, BeyondLimit: 1}
	if s.Counts != want || s.Queries[0].ID != "1" || s.Queries[1].ID != "4" || s.Queries[0].Grades["b"] != 2 {
		t.Errorf("got %+v, %v", s.Counts, s.Queries)
	}
	for i := range 6 {
		qrels.List = append(qrels.List, Judgement{"1", string(rune('p' + i)), 1, 6 + i})
	}
	qrels.List = append(qrels.List, Judgement{"9", "a", 1, 12})
	_, err = Select(corpus, queries, qrels, SelectOptions{})
	const message = `q:6: document "p" of query "1" is not in the corpus
q:7: document "q" of query "1" is not in the corpus
q:8: document "r" of query "1" is not in the corpus
q:9: document "s" of query "1" is not in the corpus
q:10: document "t" of query "1" is not in the corpus, and 2 more such judgements (are the files of one collection? allow missing ones to count such judgements)`
	if err == nil || err.Error() != message {
		t.Errorf("got %v", err)
	}
	s, err = Select(corpus, queries, qrels, SelectOptions{AllowMissing: true})
	if err != nil || s.MissingDocuments != 6 || s.MissingQueries != 1 || s.Relevant != 10 {
		t.Errorf("got %+v, %v", s, err)
	}
	_, err = Select(corpus, queries, &Qrels{"q", []Judgement{{"1", "a", 0, 1}}}, SelectOptions{})
	if want := "q: none of the 5 queries has a relevant document (do the query ids of both files agree?)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzReadCorpus(f *testing.F) {
	f.Add(`{"_id": "1", "title": "T", "text": "x"}` + "\n" + `{"_id": "2", "text": ""}`)
	f.Add("{\n\n\xff")
	f.Fuzz(func(t *testing.T, text string) {
		kept := 0
		c, err := ReadCorpus("f", strings.NewReader(text), func(Document) error { kept++; return nil })
		if (c == nil) == (err == nil) {
			t.Fatalf("corpus %v and error %v", c, err)
		}
		if err == nil && (c.Len() == 0 || c.Len() != kept) {
			t.Fatalf("%d documents, %d kept", c.Len(), kept)
		}
	})
}

func FuzzReadQueries(f *testing.F) {
	f.Add(`{"_id": "1", "text": "x"}`)
	f.Add("[]\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ReadQueries("f", strings.NewReader(text))
		if (len(list) == 0) == (err == nil) {
			t.Fatalf("queries %v and error %v", list, err)
		}
		for _, q := range list {
			if q.ID == "" || q.Text == "" {
				t.Fatalf("empty query %+v", q)
			}
		}
	})
}

func FuzzReadQrels(f *testing.F) {
	f.Add("query-id\tcorpus-id\tscore\n1\ta\t1\n")
	f.Add("1\ta\t1\r\n1\ta\t2\n")
	f.Add("1 0 a 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		q, err := ReadQrels("f", strings.NewReader(text))
		if (q == nil) == (err == nil) {
			t.Fatalf("judgements %v and error %v", q, err)
		}
		if q == nil {
			return
		}
		seen := map[[2]string]bool{}
		for _, j := range q.List {
			key := [2]string{j.Query, j.Document}
			if j.Query == "" || j.Document == "" || j.Line < 1 || seen[key] {
				t.Fatalf("judgement %+v", j)
			}
			seen[key] = true
		}
	})
}
