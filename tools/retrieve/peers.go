package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"

	"github.com/blevesearch/bleve/v2"
	_ "github.com/blevesearch/bleve/v2/analysis/lang/en" // the English analyzer
	"github.com/blevesearch/bleve/v2/mapping"
	bleveindex "github.com/blevesearch/bleve_index_api"
	"github.com/philippgille/chromem-go"
	_ "modernc.org/sqlite" // the driver

	"github.com/anchor-host/anchor-host/pipeline/retrieve/analysis"
)

// bleveIndex is bleve's Scorch with its English analyzer and BM25. It syncs each batch, as it does by default.
type bleveIndex struct{ bleve.Index }

func openBleve(_ context.Context, dir string, _ int) (index, error) {
	text := mapping.NewTextFieldMapping()
	text.Analyzer, text.IncludeInAll, text.IncludeTermVectors, text.DocValues = "en", false, false, false
	m := bleve.NewIndexMapping()
	m.ScoringModel = bleveindex.BM25Scoring
	m.DefaultMapping = mapping.NewDocumentStaticMapping()
	m.DefaultMapping.AddFieldMappingsAt("text", text)
	x, err := bleve.NewUsing(filepath.Join(dir, "bleve"), m, "scorch", "scorch", nil)
	return &bleveIndex{x}, err
}

func (x *bleveIndex) add(_ context.Context, batch []document) error {
	b := x.NewBatch()
	for _, d := range batch {
		if err := b.Index(d.id, map[string]any{"text": d.title + "\n" + d.text}); err != nil {
			return err
		}
	}
	return x.Batch(b)
}

func (x *bleveIndex) finish(context.Context) error { return nil }

func (x *bleveIndex) search(ctx context.Context, q *question, k int) ([]string, error) {
	match := bleve.NewMatchQuery(q.text)
	match.SetField("text")
	request := bleve.NewSearchRequestOptions(match, k, 0, false)
	request.Fields = []string{"text"}
	result, err := x.SearchInContext(ctx, request)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(result.Hits))
	for i, h := range result.Hits {
		ids[i] = h.ID
	}
	return ids, nil
}

func (x *bleveIndex) close() error { return x.Close() }

// fts5Index is SQLite's full-text index with its Porter stemmer and its bm25, in the SQLite that the product uses.
type fts5Index struct{ *sql.DB }

func openFTS5(ctx context.Context, dir string, _ int) (index, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "fts5.db")+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, `create virtual table docs using fts5(id unindexed, text, tokenize = 'porter unicode61')`)
	return &fts5Index{db}, err
}

func (x *fts5Index) add(ctx context.Context, batch []document) error {
	tx, err := x.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	insert, err := tx.PrepareContext(ctx, `insert into docs (id, text) values (?, ?)`)
	if err != nil {
		return err
	}
	for _, d := range batch {
		if _, err := insert.ExecContext(ctx, d.id, d.title+"\n"+d.text); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (x *fts5Index) finish(context.Context) error { return nil }

// english has no stop words in its terms. FTS5 knows none, and ranks all chunks that have one.
var english = analysis.New(analysis.Options{Stop: analysis.EnglishStopWord})

func (x *fts5Index) search(ctx context.Context, q *question, k int) (ids []string, err error) {
	terms := english.Terms(q.text)
	if len(terms) == 0 {
		return nil, nil
	}
	rows, err := x.QueryContext(ctx, `select id, text from docs where docs match ? order by rank limit ?`, `"`+strings.Join(terms, `" OR "`)+`"`, k)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id, text string
		if err := rows.Scan(&id, &text); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

func (x *fts5Index) close() error { return x.Close() }

// chromemIndex is chromem-go, which compares all vectors. It keeps them in memory, and is written to one file at the end,
// which is faster than its file for each document.
type chromemIndex struct {
	db   *chromem.DB
	docs *chromem.Collection
	file string
}

func openChromem(_ context.Context, dir string, _ int) (index, error) {
	db := chromem.NewDB()
	c, err := db.CreateCollection("docs", nil, func(context.Context, string) ([]float32, error) {
		return nil, errors.New("all vectors are given")
	})
	return &chromemIndex{db, c, filepath.Join(dir, "chromem.gob")}, err
}

func (x *chromemIndex) add(ctx context.Context, batch []document) error {
	list := make([]chromem.Document, len(batch))
	for i, d := range batch {
		list[i] = chromem.Document{ID: d.id, Content: d.title + "\n" + d.text, Embedding: d.vector}
	}
	return x.docs.AddDocuments(ctx, list, 1)
}

func (x *chromemIndex) finish(context.Context) error {
	return x.db.ExportToFile(x.file, false, "")
}

func (x *chromemIndex) search(ctx context.Context, q *question, k int) ([]string, error) {
	found, err := x.docs.QueryEmbedding(ctx, q.vector, min(k, x.docs.Count()), nil, nil)
	ids := make([]string, len(found))
	for i, r := range found {
		ids[i] = r.ID
	}
	return ids, err
}

func (x *chromemIndex) close() error { return nil }
