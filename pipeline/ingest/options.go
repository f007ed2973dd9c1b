package ingest

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest/chunk"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/usage"
)

// Source is what to read.
type Source struct {
	// Path is a file, a folder or an address that begins with http:// or https://. In a
	// folder, names that begin with a dot, links, and files of pictures, sounds, archives
	// and programs are left out.
	Path string
	// Reader is read as one file if it is not nil. Path is then its name, whose ending tells
	// the format. If it has the method Size, as [io.SectionReader] has, Size says how long it is.
	Reader io.Reader
	// Time is when the content of Reader changed. It may be zero.
	Time time.Time
}

// Options are those of [Run].
type Options struct {
	// Collection is where the documents go. It is created if it does not exist.
	Collection retrieve.Collection
	// Settings are those of a collection that is created. Its Model is that of the Embedder. If a
	// collection that exists has another value of one that is not left out, the error is
	// [retrieve.ErrExists].
	Settings retrieve.Settings
	// Embedder makes the vectors. nil means none: documents are found by words only.
	Embedder retrieve.Embedder
	// Chunk says how documents are cut.
	Chunk chunk.Options
	// Contexts says where chunks stand in their document. nil means nothing.
	Contexts Contexter
	// Format, if not empty, is that of all sources. Otherwise names and contents decide.
	Format parse.Format
	// Limits bound the work on one file.
	Limits parse.Limits
	// MaxFile is the largest file in bytes. Files of formats that are [parse.Format.Packed], such as PDF,
	// may have four times as much, and files of CSV and JSON Lines any size. 0 means 32 MiB.
	MaxFile int64
	// Include and Exclude are patterns of [path.Match] for names or for paths within a folder.
	// Without Include all files are read.
	Include, Exclude []string
	// Keep does not delete the documents of files that are gone.
	Keep bool
	// RemoveMissing deletes the documents of files that are gone also where [Run] refuses it with
	// [ErrMissing].
	RemoveMissing bool
	// Client fetches addresses. nil means one that ends after a minute.
	Client *http.Client
	// Progress is called after each file, never twice at once. It may be nil.
	Progress func(Progress)
	// Failed is called for each file that could not be read, never twice at once. It may be
	// nil. The other files are read all the same.
	Failed func(*FileError)
	// Warned is called for what of a file may be read wrong, never twice at once. It may be nil.
	Warned func(Warning)
}

// Warning says that a file is in the index, but perhaps not as it should be.
type Warning struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Contexter says where the chunks of documents stand in them; see [retrieve.Chunk.Context].
type Contexter interface {
	// Name stands for all that decides what Contexts returns. If it changes, all files are
	// read again.
	Name() string
	// Contexts returns the context of each of the given chunks of a document, empty for none.
	// It is called for documents that are new or have changed. If it fails, the document stays
	// as the index has it. An error that wraps [retrieve.ErrUnavailable] ends the run.
	Contexts(ctx context.Context, doc *retrieve.Document, chunks []*retrieve.Chunk) ([]string, error)
}

// maxContext is the greatest length of a context in bytes.
const maxContext = 8 << 10

// addContexts sets the contexts of the chunks that are searched: of all but parents.
func (o *Options) addContexts(ctx context.Context, doc *retrieve.Document) error {
	if o.Contexts == nil || len(doc.Chunks) == 0 {
		return nil
	}
	parents := map[int]bool{}
	for i := range doc.Chunks {
		parents[doc.Chunks[i].Parent] = true
	}
	var chunks []*retrieve.Chunk
	for i := range doc.Chunks {
		if !parents[i+1] {
			chunks = append(chunks, &doc.Chunks[i])
		}
	}
	contexts, err := o.Contexts.Contexts(ctx, doc, chunks)
	if err != nil {
		return fmt.Errorf("contexts of its chunks: %w", err)
	}
	if len(contexts) != len(chunks) {
		return fmt.Errorf("contexts of its chunks: %d for %d chunks: %w", len(contexts), len(chunks), retrieve.ErrInvalid)
	}
	for i, text := range contexts {
		if len(text) > maxContext {
			return fmt.Errorf("context of chunk %d: %d bytes: %w (want at most %d)", i+1, len(text), retrieve.ErrInvalid, maxContext)
		}
		chunks[i].Context = strings.ToValidUTF8(text, "")
	}
	return nil
}

// DefaultMaxFile is the default of [Options.MaxFile].
const DefaultMaxFile = 32 << 20

// Progress says how far a run is.
type Progress struct {
	Files, TotalFiles int
	// Bytes counts the files that are done, unchanged ones included.
	Bytes, TotalBytes int64
	// Path is the file that was done last.
	Path string
}

// FileError says why a file is not, or not wholly, in the index.
type FileError struct {
	Path string
	Err  error
}

// Error names the file and the cause.
func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// Report says what a run did.
type Report struct {
	// Files is the number of files that were looked at. The next four add up to it.
	Files     int `json:"files"`
	Unchanged int `json:"unchanged"`
	Added     int `json:"added"`
	Changed   int `json:"changed"`
	Failed    int `json:"failed"`
	// Skipped is the number of files and links in folders that are left out by their kind.
	Skipped int `json:"skipped"`
	// Removed is the number of documents whose file or record is gone.
	Removed int `json:"removed"`
	// Missing is the number of files that are gone and whose documents stay; see [ErrMissing].
	Missing int `json:"missing,omitempty"`
	// Documents and Chunks are those that were written.
	Documents int `json:"documents"`
	Chunks    int `json:"chunks"`
	// Warned is the number of warnings, and Warnings are the first hundred of them.
	Warned   int       `json:"warned,omitempty"`
	Warnings []Warning `json:"warnings,omitempty"`
	// Bytes is the size of the files that were read.
	Bytes int64 `json:"bytes"`
	// Seconds is how long the run took.
	Seconds float64 `json:"seconds"`
	// Services is what the run asked of models and embedders, if the caller counts it.
	Services []usage.Line `json:"services,omitempty"`
}

func (o Options) complete() (Options, error) {
	if err := o.Collection.Validate(); err != nil {
		return o, err
	}
	if err := o.Format.Check(); err != nil {
		return o, err
	}
	var err error
	if o.Chunk.Embedder == nil {
		o.Chunk.Embedder = o.Embedder
	}
	if o.Chunk, err = o.Chunk.Complete(); err != nil {
		return o, err
	}
	for _, p := range append(append([]string(nil), o.Include...), o.Exclude...) {
		if _, err := path.Match(p, ""); err != nil {
			return o, fmt.Errorf("pattern %.100q: %w: %w", p, retrieve.ErrInvalid, err)
		}
	}
	o.MaxFile = cmp.Or(o.MaxFile, DefaultMaxFile)
	if o.MaxFile < 0 || o.MaxFile > retrieve.MaxBatchBytes {
		return o, fmt.Errorf("largest file %d: %w (want 1 to %d bytes)", o.MaxFile, retrieve.ErrInvalid, retrieve.MaxBatchBytes)
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: time.Minute}
	}
	return o, nil
}

// parserVersion changes when parsers or chunkers give something else for the same files.
const parserVersion = "4"

// fingerprint stands for all that decides what becomes of a file, besides its content. The model does
// only where it decides how documents are cut.
func (o *Options) fingerprint(m retrieve.Model) string {
	if o.Chunk.By != chunk.Semantic {
		m = retrieve.Model{}
	}
	decides := fmt.Appendf(nil, "%s\n%s\n%s\n%s\n%d", parserVersion, o.Chunk.Name(), o.Format, m.ID, m.Dimension)
	if o.Contexts != nil {
		decides = fmt.Appendf(decides, "\n%s", o.Contexts.Name())
	}
	sum := sha256.Sum256(decides)
	return ";" + hex.EncodeToString(sum[:6])
}

// matches reports whether a file within a folder is to be read.
func (o *Options) matches(rel string) bool {
	any := func(patterns []string) bool {
		for _, p := range patterns {
			for _, s := range []string{rel, path.Base(rel)} {
				if ok, _ := path.Match(p, s); ok { // patterns are checked before
					return true
				}
			}
		}
		return false
	}
	return (len(o.Include) == 0 || any(o.Include)) && !any(o.Exclude)
}
