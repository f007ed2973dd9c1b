package eval

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Question is a line of a file of questions, with the documents that answer it.
type Question struct {
	Text string `json:"question"`
	// Documents are the ids of the documents of which each is relevant.
	Documents []string `json:"documents"`
	// Collection has the documents. Empty: their ids are not checked.
	Collection string `json:"collection,omitempty"`
	// Edit is true if nobody has edited the question since it was made from a heading.
	Edit bool `json:"edit,omitempty"`
	// Line is the number of the line in the file.
	Line int `json:"-"`
}

// errQuestion describes the form of a line.
var errQuestion = fmt.Errorf(`want {"question": "text", "documents": ["id"]}`)

// ReadQuestions reads a file of questions, JSON Lines, and keeps its order. The error is a
// [strict.Problems] that names the line, or an error of r.
func ReadQuestions(name string, r io.Reader) (list []Question, err error) {
	err = eachLine(name, r, func(number int, line []byte) error {
		q := Question{Line: number}
		if err := json.Unmarshal(line, &q); err != nil {
			return fmt.Errorf("%w (%w)", err, errQuestion)
		}
		if strings.TrimSpace(q.Text) == "" || len(q.Documents) == 0 {
			return fmt.Errorf("question or documents are missing or empty (%w)", errQuestion)
		}
		list = append(list, q)
		return nil
	})
	if err == nil && len(list) == 0 {
		err = problem(name, 0, "no questions (want one JSON object per line)")
	}
	return list, err
}

// SelectQuestions makes the set of an evaluation of questions. known are the ids of the documents
// in the collections that the questions name; it refuses a document that is in none.
func SelectQuestions(name string, list []Question, known []string, o SelectOptions) (*Set, error) {
	corpus, qrels := &Corpus{lines: map[string]int{}}, &Qrels{Name: name}
	for _, id := range known {
		corpus.lines[id] = 1
	}
	queries := make([]Query, len(list))
	for i := range list {
		q := &list[i]
		queries[i] = Query{strconv.Itoa(q.Line), q.Text}
		for _, d := range q.Documents {
			if q.Collection == "" {
				corpus.lines[d] = 1
			}
			qrels.List = append(qrels.List, Judgement{Query: queries[i].ID, Document: d, Grade: 1, Line: q.Line})
		}
	}
	return Select(corpus, queries, qrels, o)
}
