package eval

import (
	"fmt"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// Judged is a query with its judgements.
type Judged struct {
	Query
	Grades Grades
}

// Set is the input of an evaluation: the queries that have relevant documents.
type Set struct {
	Queries []Judged `json:"-"`
	Corpus  *Corpus  `json:"-"`
	Counts
}

// Counts are the numbers of queries and judgements that are used, and of those left out.
type Counts struct {
	// Documents is the size of the corpus, and Read the number of queries in the file.
	Documents int `json:"documents"`
	Read      int `json:"queries_read"`
	// Evaluated is the number of queries to evaluate, and Relevant the number of their
	// relevant documents.
	Evaluated int `json:"queries_evaluated"`
	Relevant  int `json:"relevant_documents"`
	// Unjudged is the number of queries without a judgement, WithoutRelevant of those
	// without a judgement above 0, and BeyondLimit of those after the limit.
	Unjudged        int `json:"queries_without_judgements"`
	WithoutRelevant int `json:"queries_without_relevant_documents"`
	BeyondLimit     int `json:"queries_beyond_limit"`
	// MissingDocuments and MissingQueries are numbers of judgements whose document or
	// query does not exist.
	MissingDocuments int `json:"judgements_of_missing_documents"`
	MissingQueries   int `json:"judgements_of_missing_queries"`
}

// SelectOptions say which queries to evaluate.
type SelectOptions struct {
	// Limit is the largest number of queries, taken in the order of the file; 0 means all.
	Limit int
	// AllowMissing counts judgements of documents and queries that do not exist instead
	// of refusing them. No step can find such a document.
	AllowMissing bool
}

// Select combines the queries with their judgements. It refuses judgements of documents or
// queries that do not exist.
func Select(corpus *Corpus, queries []Query, qrels *Qrels, o SelectOptions) (*Set, error) {
	s := &Set{Corpus: corpus}
	s.Documents, s.Read = corpus.Len(), len(queries)
	grades, err := s.grades(queries, qrels, o.AllowMissing)
	if err != nil {
		return nil, err
	}
	for _, q := range queries {
		switch g := grades[q.ID]; {
		case len(g) == 0:
			s.Unjudged++
		case g.Relevant() == 0:
			s.WithoutRelevant++
		case o.Limit > 0 && len(s.Queries) == o.Limit:
			s.BeyondLimit++
		default:
			s.Queries = append(s.Queries, Judged{q, g})
			s.Relevant += g.Relevant()
		}
	}
	s.Evaluated = len(s.Queries)
	if s.Evaluated == 0 {
		return nil, problem(qrels.Name, 0, "none of the %d queries has a relevant document (do the query ids of both files agree?)", s.Read)
	}
	return s, nil
}

// maxMissing is the largest number of missing documents and queries in a list.
const maxMissing = 5

// grades groups the judgements by query and checks that their documents and queries exist.
func (s *Set) grades(queries []Query, qrels *Qrels, allow bool) (map[string]Grades, error) {
	grades := make(map[string]Grades, len(queries))
	for _, q := range queries {
		grades[q.ID] = nil
	}
	var problems strict.Problems
	missing := func(line int, format string, args ...any) {
		if len(problems) < maxMissing {
			problems = append(problems, strict.Problem{File: qrels.Name, Pos: strict.Pos{Line: int32(line)}, Message: fmt.Sprintf(format, args...)})
		}
	}
	for _, j := range qrels.List {
		g, ok := grades[j.Query]
		switch {
		case !ok:
			s.MissingQueries++
			missing(j.Line, "query %q is not among the queries", j.Query)
			continue
		case !s.Corpus.Has(j.Document):
			s.MissingDocuments++
			missing(j.Line, "document %q of query %q is not in the corpus", j.Document, j.Query)
		}
		if g == nil {
			g = Grades{}
			grades[j.Query] = g
		}
		g[j.Document] = j.Grade
	}
	if n := s.MissingDocuments + s.MissingQueries; n > 0 && !allow {
		last := &problems[len(problems)-1]
		if n > len(problems) {
			last.Message += fmt.Sprintf(", and %d more such judgements", n-len(problems))
		}
		last.Message += " (are the files of one collection? allow missing ones to count such judgements)"
		return nil, problems
	}
	return grades, nil
}
