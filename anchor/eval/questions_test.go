package eval

import (
	"strings"
	"testing"
)

func TestQuestions(t *testing.T) {
	list, err := ReadQuestions("q.jsonl", strings.NewReader(`{"question": "How?", "documents": ["a.md"], "collection": "docs", "edit": true}

{"question": "Why?", "documents": ["b.md", "c.md"]}
`))
	if err != nil || len(list) != 2 || !list[0].Edit || list[1].Line != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	set, err := SelectQuestions("q.jsonl", list, []string{"a.md", "z.md"}, SelectOptions{})
	if err != nil || set.Evaluated != 2 || set.Documents != 4 || set.Queries[1].Grades["c.md"] != 1 || set.Queries[1].ID != "3" {
		t.Errorf("%+v, %v", set, err)
	}
	if _, err := SelectQuestions("q.jsonl", list, []string{"z.md"}, SelectOptions{}); err == nil || !strings.Contains(err.Error(), `q.jsonl:1: document "a.md" of query "1" is not in the corpus`) {
		t.Errorf("a document that does not exist: %v", err)
	}
	for text, want := range map[string]string{
		``:                                      "no questions",
		`{"question": "a"}`:                     `q.jsonl:1: question or documents are missing or empty (want {"question"`,
		`{"question": " ", "documents": ["a"]}`: "missing or empty", `[]`: "cannot unmarshal", `{"question": 1}`: "cannot unmarshal",
	} {
		if _, err := ReadQuestions("q.jsonl", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzReadQuestions(f *testing.F) {
	for _, s := range []string{``, `{"question":"a","documents":["b"]}`, "{}\n[]", `{"question":"a","documents":[""],"collection":"c"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if list, err := ReadQuestions("q", strings.NewReader(s)); err == nil {
			if _, err := SelectQuestions("q", list, nil, SelectOptions{AllowMissing: true}); err != nil {
				t.Log(err)
			}
		}
	})
}
