package retrieve

import (
	"strings"
	"time"
)

// Document is one source: a file, a page, a fact. It is searched by its chunks, and written,
// replaced and deleted as a whole.
type Document struct {
	// ID is the identity of the document within its collection, such as a path or a URL.
	ID string `json:"id"`
	// Path says where the document came from. Empty means the ID.
	Path string `json:"path,omitempty"`
	// Root is the absolute path, with slashes, that was ingested: of a folder with a slash at
	// its end, or of a file. Path is relative to it. Searches do not give it.
	Root string `json:"root,omitempty"`
	// Hash is a digest of the content, made by the caller, such as "sha256:…". The index
	// only gives it back, so that ingestion can tell unchanged documents.
	Hash string `json:"hash,omitempty"`
	// Size and ModTime are those of the file when it was read. Ingestion need not hash a
	// file again whose size and time are the same.
	Size    int64     `json:"size,omitempty"`
	ModTime time.Time `json:"mod_time,omitzero"`
	// Title is searched by words as a part of every chunk.
	Title string `json:"title,omitempty"`
	// Time is that of the content, to the second. Zero means unknown.
	Time time.Time `json:"time,omitzero"`
	// Meta has further texts for filters and for items, by name.
	Meta map[string]string `json:"meta,omitempty"`
	// Chunks are the parts, in the order of the document.
	Chunks []Chunk `json:"chunks"`
}

// Chunk is a part of a document that is found and shown as one.
type Chunk struct {
	// Text is searched and shown.
	Text string `json:"text"`
	// Context is searched with the text and not shown: a sentence that says where in the
	// document the chunk stands.
	Context string `json:"context,omitempty"`
	// Headings are the headings above the chunk, the highest first. They are searched with
	// the text.
	Headings []string `json:"headings,omitempty"`
	// Page is the number of the page on which the chunk begins, from 1. 0 means none.
	Page int `json:"page,omitempty"`
	// PageEnd is the page on which the chunk ends, if that is a later one, else 0.
	PageEnd int `json:"page_end,omitempty"`
	// Lines are the lines of the chunk in the source.
	Lines Lines `json:"lines,omitzero"`
	// Parent, if above 0, is the number, from 1, of the chunk of this document that a
	// search returns in the place of this one. A chunk that is a parent is not searched
	// itself, and has no parent and no vector.
	Parent int `json:"parent,omitempty"`
	// Vector is that of the model of the collection, or nil for a chunk that is found by
	// words only.
	Vector []float32 `json:"vector,omitempty"`
}

// Lines is a range of lines, from 1, both ends inclusive. The zero value is none.
type Lines struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// Searched returns the text of a chunk that models should embed: the title of the document,
// the headings, the context and the text.
func (d *Document) Searched(chunk int) string {
	c := &d.Chunks[chunk]
	var b strings.Builder
	b.Grow(len(d.Title) + len(c.Context) + len(c.Text) + 64)
	add := func(text string) {
		if text == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text)
	}
	add(d.Title)
	for _, h := range c.Headings {
		if h != d.Title {
			add(h)
		}
	}
	add(c.Context)
	add(c.Text)
	return b.String()
}

// DocumentInfo is what ingestion needs to know about a document that is in the index.
type DocumentInfo struct {
	ID      string    `json:"id"`
	Path    string    `json:"path"`
	Root    string    `json:"root,omitempty"`
	Hash    string    `json:"hash,omitempty"`
	Size    int64     `json:"size"`
	ModTime time.Time `json:"mod_time,omitzero"`
	Chunks  int       `json:"chunks"`
	// Vectors is the number of chunks that have one.
	Vectors int `json:"vectors"`
}
