package ingest

import (
	"errors"
	"hash"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// run is one run.
type run struct {
	index       retrieve.Index
	o           Options
	model       retrieve.Model
	fingerprint string
	absent      bool             // the collection is made with the first documents
	known       map[string]known // files and pages of the collection, without records, by ID
	roots       roots
	seen        map[string]bool // files and pages that stay
	work        *fileWork       // the file whose records are read
	added       map[sum]bool    // the contents of new files
	lostPages   []string        // known pages that the server does not have any more
	progress    Progress

	batch []retrieve.Document
	size  int
	// The results of the batches that are being embedded, prepared and written, or nil. Each is of the
	// goroutine of the one before while there is one.
	writes, prepares, stores chan error
	texts                    int // how many texts the next call of the embedder has

	mu     sync.Mutex // of what follows, and of the callbacks
	report Report
	lost   map[string]bool // files of which a document got no vectors
}

// known is what the collection has of a file or a page.
type known struct {
	root    *root // nil for pages and what came from a reader
	sum     sum
	current bool // made with the options of this run, with all its vectors
	records bool // it may have records
	size    int64
	time    time.Time
}

// fileWork is the work on one file.
type fileWork struct {
	*run
	e       *entry
	in      *input
	meter   *meter.Meter
	records *records // nil for a file that is one document
	begun   bool     // the collection says that the file is not complete
	written bool     // documents of the file were added
	bad     error    // the first record that cannot be taken
}

// stopError carries an error that ends the run through the parser.
type stopError struct{ err error }

func (e *stopError) Error() string { return e.err.Error() }

// entry is a file that a run looks at.
type entry struct {
	id    string // the document of the file
	path  string // as the user named it
	of    *root  // nil for what is no file
	size  int64
	time  time.Time
	root  *os.Root // nil for what is no file
	rel   string
	from  Source
	given bool // the user named the file itself
}

// found is what there is to read.
type found struct {
	entries []entry
	bytes   int64
	skipped int
	roots   []*os.Root
	// under are the places of which all files were found: documents there without a file are
	// deleted.
	under map[string]bool
	// unknown are places below those that could not be read.
	unknown map[string]bool
	// bare are folders that are missing or in which there is nothing to read, such as those that are not
	// mounted.
	bare map[string]bool
}

// input is the content of a file: whole in data, or a stream.
type input struct {
	data   []byte
	stream io.Reader // not nil for formats that are read record by record
	size   int64
	time   time.Time
	format parse.Format
	// charset is the one that a server declares, empty for none.
	charset string
	// settled says that a later change of a page will have another time.
	settled bool

	sha    hash.Hash // of what was read from stream
	file   *os.File  // of stream
	before fs.FileInfo
}

var errGone = errors.New("gone")

// root is a file or a folder that was ingested.
type root struct {
	path string // as in [retrieve.Document], with a slash at the end of a folder
	id   string // of the file; the beginning of the IDs of a folder, without a slash
}

// roots are those of a collection.
type roots struct {
	byPath map[string]*root
	taken  map[string]bool // IDs of roots, and stdinID
}

// sum stands for the hash of a document.
type sum [16]byte

// records are those of one file, without their IDs: there may be millions.
type records struct {
	seed  maphash.Seed
	state map[uint64]recordState
	// loaded is how many the collection has.
	loaded int
}

type recordState struct {
	sum  sum
	next uint32 // the number for the next record of the same name
	old  bool   // in the collection, with all its vectors
	seen bool   // in the file
}
