package eval

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline"
)

// DefaultIDMetadata is the metadata key that holds a document id.
const DefaultIDMetadata = "doc_id"

// Ranker determines the documents of a list of items, and their order. It is safe for
// concurrent use.
type Ranker struct {
	// Metadata is the key of the metadata that holds the document id. For items without
	// it, their own id is the document id.
	Metadata string
	// Prefixes are the names of plugin instances: a prefix "name:" is removed from an
	// item's id.
	Prefixes []string
	// Cut, if set, ends a document id at its first occurrence. An example is "#" in
	// "guide.md#2", the second chunk of a file.
	Cut string
	// After, if set, begins a document id behind its first occurrence. An example is "#" in
	// "corpus.jsonl#42", the record of a file; the id of a record may have one too.
	After string
	// ListOrder breaks ties by the order of the list instead of the document id.
	ListOrder bool
}

// Document returns the id of the document that an item belongs to.
func (r *Ranker) Document(it *pipeline.Item) string {
	id := r.name(it)
	if i := strings.Index(id, r.After); r.After != "" && i >= 0 && i+len(r.After) < len(id) {
		id = id[i+len(r.After):]
	}
	if r.Cut != "" {
		id, _, _ = strings.Cut(id, r.Cut)
	}
	return id
}

func (r *Ranker) name(it *pipeline.Item) string {
	if r.Metadata != "" {
		switch v := it.Metadata[r.Metadata].(type) {
		case string:
			if v != "" {
				return v
			}
		case int64:
			return strconv.FormatInt(v, 10)
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	if name, rest, ok := strings.Cut(it.ID, ":"); ok && rest != "" && slices.Contains(r.Prefixes, name) {
		return rest
	}
	return it.ID
}

// row is an item of a ranking.
type row struct {
	item     *pipeline.Item
	document string
}

// rows returns the items of source retrieval in the order of the window, only the best item
// of each document, and the number of items of source retrieval.
func (r *Ranker) rows(items []pipeline.Item) (rows []row, count int) {
	for i := range items {
		if it := &items[i]; it.Source == pipeline.SourceRetrieval {
			rows = append(rows, row{it, r.Document(it)})
		}
	}
	count = len(rows)
	slices.SortStableFunc(rows, func(a, b row) int {
		c := cmp.Or(cmp.Compare(b.item.Priority, a.item.Priority), cmp.Compare(b.item.Score, a.item.Score))
		if c == 0 && !r.ListOrder {
			c = cmp.Compare(b.document, a.document)
		}
		return c
	})
	seen := make(map[string]bool, len(rows))
	return slices.DeleteFunc(rows, func(x row) bool {
		again := seen[x.document]
		seen[x.document] = true
		return again
	}), count
}

// Rank returns the documents of the items of source retrieval, best first.
func (r *Ranker) Rank(items []pipeline.Item) []string {
	rows, _ := r.rows(items)
	ranking := make([]string, len(rows))
	for i := range rows {
		ranking[i] = rows[i].document
	}
	return ranking
}
