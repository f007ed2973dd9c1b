package eval

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Document is a line of corpus.jsonl.
type Document struct{ ID, Title, Text string }

// Corpus has the ids of the documents of a collection. It does not keep their texts.
type Corpus struct{ lines map[string]int }

// Len returns the number of documents.
func (c *Corpus) Len() int { return len(c.lines) }

// Has reports whether there is such a document.
func (c *Corpus) Has(id string) bool { return c.lines[id] > 0 }

// ReadCorpus reads a corpus.jsonl and passes each document to keep, which may be nil. The
// error is a [strict.Problems] that names the line, or an error of r or keep.
func ReadCorpus(name string, r io.Reader, keep func(Document) error) (*Corpus, error) {
	c := &Corpus{lines: map[string]int{}}
	err := eachLine(name, r, func(number int, line []byte) error {
		d, err := readRecord(line)
		if err != nil {
			return err
		}
		if earlier := c.lines[*d.ID]; earlier > 0 {
			return fmt.Errorf("document %.100q again (first on line %d; ids must be unique)", *d.ID, earlier)
		}
		c.lines[*d.ID] = number
		if keep == nil {
			return nil
		}
		return keep(Document{*d.ID, d.Title, *d.Text})
	})
	switch {
	case err != nil:
		return nil, err
	case c.Len() == 0:
		return nil, problem(name, 0, "no documents (want one JSON object per line)")
	}
	return c, nil
}

// Query is a line of queries.jsonl.
type Query struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// ReadQueries reads a queries.jsonl and keeps its order. The error is a [strict.Problems]
// that names the line, or an error of r.
func ReadQueries(name string, r io.Reader) ([]Query, error) {
	var list []Query
	seen := map[string]int{}
	err := eachLine(name, r, func(number int, line []byte) error {
		q, err := readRecord(line)
		switch {
		case err != nil:
			return err
		case seen[*q.ID] > 0:
			return fmt.Errorf("query %.100q again (first on line %d; ids must be unique)", *q.ID, seen[*q.ID])
		case strings.TrimSpace(*q.Text) == "":
			return fmt.Errorf("query %.100q has no text", *q.ID)
		}
		seen[*q.ID] = number
		list = append(list, Query{*q.ID, *q.Text})
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, problem(name, 0, "no queries (want one JSON object per line)")
	}
	return list, nil
}

// Judgement is a line of qrels.tsv.
type Judgement struct {
	Query, Document string
	Grade           int
	// Line is the number of the line in the file.
	Line int
}

// Qrels are the judgements of a collection, in the order of the file.
type Qrels struct {
	Name string
	List []Judgement
}

// ReadQrels reads a file of query id, document id and grade, separated by tabs, with or
// without a line of headings. The error is a [strict.Problems] that names the line, or an
// error of r.
func ReadQrels(name string, r io.Reader) (*Qrels, error) {
	q := &Qrels{Name: name}
	seen := map[[2]string]int{}
	err := eachLine(name, r, func(number int, line []byte) error {
		fields := strings.Split(string(line), "\t")
		if number == 1 && isHeading(fields) {
			return nil
		}
		j, err := readJudgement(fields)
		if err != nil {
			return err
		}
		key := [2]string{j.Query, j.Document}
		if earlier := seen[key]; earlier > 0 {
			return fmt.Errorf("query %.100q and document %.100q again (first on line %d)", j.Query, j.Document, earlier)
		}
		seen[key], j.Line = number, number
		q.List = append(q.List, j)
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(q.List) == 0:
		return nil, problem(name, 0, "no judgements (want query id, document id and grade per line)")
	}
	return q, nil
}

// isHeading reports whether a line is the line of headings that BEIR writes.
func isHeading(fields []string) bool {
	return len(fields) == 3 && strings.EqualFold(fields[0], "query-id") &&
		strings.EqualFold(fields[1], "corpus-id") && strings.EqualFold(fields[2], "score")
}

// errColumns describes the form of a line of judgements.
var errColumns = errors.New("want query id, document id and grade, separated by tabs")

func readJudgement(fields []string) (j Judgement, err error) {
	if len(fields) == 1 && len(strings.Fields(fields[0])) == 4 {
		return j, fmt.Errorf(`four columns as in TREC (%w; convert with: awk -v OFS='\t' '{print $1,$3,$4}')`, errColumns)
	}
	if len(fields) != 3 {
		return j, fmt.Errorf("%d columns (%w)", len(fields), errColumns)
	}
	if fields[0] == "" || fields[1] == "" {
		return j, fmt.Errorf("an id is empty (%w)", errColumns)
	}
	grade, err := strconv.ParseInt(fields[2], 10, 32)
	if err != nil {
		return j, fmt.Errorf("grade %.100q is no whole number (%w)", fields[2], errColumns)
	}
	return Judgement{Query: fields[0], Document: fields[1], Grade: int(grade)}, nil
}
