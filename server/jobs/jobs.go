// Package jobs is work that outlives a request: documents that are read into a collection, vectors that are made
// again, evaluations, and long lists of builds. It says what such a job is and does its work with an App. Package
// queue keeps jobs in a database and gives them to the workers of all hosts.
package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/internal/failure"
)

// The kinds of jobs.
const (
	// Ingest reads documents into a collection: those that came with the job, or those of a folder.
	Ingest = "ingest"
	// Embed makes the vectors of a collection again, with the embedder that the configuration names for it.
	Embed = "embed"
	// Evaluate measures retrieval with a file of questions.
	Evaluate = "evaluate"
	// Builds builds each request of a list, and keeps the results.
	Builds = "builds"
)

// Kinds are all kinds.
var Kinds = []string{Ingest, Embed, Evaluate, Builds}

// The states of a job.
const (
	Waiting   = "waiting"
	Running   = "running"
	Done      = "done"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// NoWorker is the text of a job that waits while no worker of any host runs.
const NoWorker = "no worker runs"

// Bounds of a job. All are in bytes but MaxFiles and MaxList.
const (
	// MaxName bounds the names of collections, folders, pipelines, users and files.
	MaxName = 1024
	// MaxFiles bounds the number of files.
	MaxFiles = 1000
	// MaxInput bounds the files of a job.
	MaxInput = 256 << 20
	// MaxResults bounds the results of a job.
	MaxResults = 64 << 20
	// MaxLog bounds the log of a job. What comes later is left out.
	MaxLog = 256 << 10
	// MaxReport bounds the report of a job.
	MaxReport = 8 << 20
	// MaxKept bounds what a tenant's jobs keep. The oldest jobs that have ended make room.
	MaxKept = 1 << 30
	// MaxList bounds a list of jobs, and of results.
	MaxList = 1000
)

// Priorities of jobs.
const (
	// FirstPriority comes before all others.
	FirstPriority = 1
	// DefaultPriority is that of a job that names none.
	DefaultPriority = 2
	// LastPriority comes after all others.
	LastPriority = 4
)

// Errors of a queue.
var (
	// ErrInvalid means that a job cannot be as it is asked for.
	ErrInvalid = errors.New("invalid job")
	// ErrBusy means that as many jobs of the tenant wait as may.
	ErrBusy = errors.New("as many jobs wait as may")
	// ErrRoom means that the jobs of the tenant that have not ended keep as much as they may.
	ErrRoom = errors.New("the jobs that wait have as many bytes as they may")
	// ErrNotFound means that the tenant has no such job.
	ErrNotFound = errors.New("there is no such job")
	// ErrUnknown means that the database broke off while it accepted a job. Who submits the same again gets that job
	// until it has ended.
	ErrUnknown = errors.New("it is unknown whether the job is accepted")
	// ErrLarge means that a job has more results than are kept.
	ErrLarge = fmt.Errorf("the results have more than %d MiB", MaxResults>>20)
)

// Task says what a job does. Jobs of one tenant with the same task and the same files are one job, until it has
// ended.
type Task struct {
	// Kind is one of the constants.
	Kind string `json:"kind"`
	// Collection is that of [Ingest] and [Embed].
	Collection string `json:"collection,omitempty"`
	// Folder is what [Ingest] reads in the place of files: a folder or a file below that of the tenant.
	Folder string `json:"folder,omitempty"`
	// Pipeline is that of [Evaluate] and [Builds]. Empty: the one at the top level of the configuration.
	Pipeline string `json:"pipeline,omitempty"`
	// User is the user that the builds of [Builds] are for. It may be empty.
	User string `json:"user,omitempty"`
	// Limit bounds the queries of [Evaluate]. 0: all.
	Limit int `json:"limit,omitempty"`
}

// File is one file of a job.
type File struct {
	// Name is that of a document for [Ingest], "questions", or "corpus", "queries" and "qrels" for
	// [Evaluate], and "requests" for [Builds], which has one request a line.
	Name string
	// Content is read twice: once for what the job is, and once to keep it.
	Content *io.SectionReader
}

// Submission is a job that is asked for.
type Submission struct {
	Task
	// Tenant owns the job. Key pays for it; it may be empty.
	Tenant, Key string
	// Priority is 1 (first) to 4 (last). 0: [DefaultPriority].
	Priority int
	// Files are kept in the database until the job has ended.
	Files []File
}

// Check returns an [ErrInvalid] that says what is wrong, and sets the default of the priority.
func (s *Submission) Check() error {
	s.Priority = cmp.Or(s.Priority, DefaultPriority)
	for _, name := range []string{s.Collection, s.Folder, s.Pipeline, s.User} {
		if len(name) > MaxName {
			return fmt.Errorf("%w: a name has more than %d bytes", ErrInvalid, MaxName)
		}
		if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) { // Postgres keeps no NUL
			return fmt.Errorf("%w: the name %.100q is not UTF-8, or has control characters", ErrInvalid, name)
		}
	}
	switch {
	case !slices.Contains(Kinds, s.Kind):
		return fmt.Errorf("%w: kind %.100q (want %s)", ErrInvalid, s.Kind, strings.Join(Kinds, ", "))
	case s.Priority < FirstPriority || s.Priority > LastPriority:
		return fmt.Errorf("%w: priority %d (want %d to %d)", ErrInvalid, s.Priority, FirstPriority, LastPriority)
	case s.Limit < 0:
		return fmt.Errorf("%w: limit %d (want 0 or more)", ErrInvalid, s.Limit)
	case (s.Kind == Ingest || s.Kind == Embed) == (s.Collection == ""):
		return fmt.Errorf("%w: %s and %s need a collection, and no other kind has one", ErrInvalid, Ingest, Embed)
	case s.Folder != "" && s.Kind != Ingest:
		return fmt.Errorf("%w: only %s reads a folder", ErrInvalid, Ingest)
	case s.Kind == Ingest && (s.Folder == "") == (len(s.Files) == 0):
		return fmt.Errorf("%w: %s needs documents, or a folder", ErrInvalid, Ingest)
	}
	return s.checkFiles()
}

// wantedFiles are the files that kinds have.
var wantedFiles = map[string][][]string{
	Embed: {{}}, Evaluate: {{"questions"}, {"corpus", "queries", "qrels"}}, Builds: {{"requests"}},
}

func (s *Submission) checkFiles() error {
	if len(s.Files) > MaxFiles {
		return fmt.Errorf("%w: %d files (want at most %d)", ErrInvalid, len(s.Files), MaxFiles)
	}
	var size int64
	var names []string
	for _, f := range s.Files {
		if len(f.Name) > MaxName {
			return fmt.Errorf("%w: the name of a file has more than %d bytes", ErrInvalid, MaxName)
		}
		names = append(names, f.Name)
		if size += f.Content.Size(); size > MaxInput {
			return fmt.Errorf("%w: the files have more than %d MiB", ErrInvalid, MaxInput>>20)
		}
	}
	if s.Kind == Ingest {
		return nil
	}
	slices.Sort(names)
	for _, want := range wantedFiles[s.Kind] {
		want = slices.Sorted(slices.Values(want))
		if slices.Equal(want, names) {
			return nil
		}
	}
	return fmt.Errorf("%w: %s does not take the files %.200q", ErrInvalid, s.Kind, names)
}

// Doc is a job as its tenant sees it.
type Doc struct {
	ID    string `json:"id"`
	Kind  string `json:"kind,omitempty"`
	State string `json:"state"`
	// Done of Total parts are done: documents, queries or builds. Text says more. Bytes is the size of the
	// documents that are done.
	Done  int    `json:"done"`
	Total int    `json:"total"`
	Text  string `json:"text,omitempty"`
	Bytes int64  `json:"bytes,omitempty"`
	// Collection is that of an ingestion, and Folder what it reads.
	Collection string `json:"collection,omitempty"`
	Folder     string `json:"folder,omitempty"`
	Pipeline   string `json:"pipeline,omitempty"`
	// Priority is 1 (first) to 4, and Attempt how often the job was begun, of MaxAttempts.
	Priority    int `json:"priority,omitempty"`
	Attempt     int `json:"attempt,omitempty"`
	MaxAttempts int `json:"max_attempts,omitempty"`
	// Submitted is when the job was accepted, and Started when it began last, or when it was accepted.
	Submitted  *time.Time      `json:"submitted,omitempty"`
	Started    time.Time       `json:"started"`
	Ended      *time.Time      `json:"ended,omitempty"`
	Generation int64           `json:"generation"`
	Results    int             `json:"results,omitempty"`
	Report     json.RawMessage `json:"report,omitempty"`
	// Error is why the last attempt failed.
	Error *failure.Detail `json:"error,omitempty"`
	// Tenant and Key are those of the job. Clients do not see them.
	Tenant string `json:"-"`
	Key    string `json:"-"`
}

// Ended reports whether a state is one in which nothing follows.
func Ended(state string) bool { return state == Done || state == Failed || state == Cancelled }

// Filter selects jobs of a list.
type Filter struct {
	// Tenant owns them. Kinds are theirs; nil: all kinds.
	Tenant string
	Kinds  []string
	// Before is the ID of the job after which the list goes on to older ones. Empty: the list begins with the
	// newest. Limit is the most that is listed, up to [MaxList].
	Before string
	Limit  int
}

// Result is one result of [Builds]: the answer of POST /v1/builds, or an error document.
type Result struct {
	// Index is the number of the request, from 0.
	Index int             `json:"index"`
	Build string          `json:"build,omitempty"`
	Value json.RawMessage `json:"result,omitempty"`
	Error *failure.Detail `json:"error,omitempty"`
}

// Queue keeps jobs. All methods but Submit return [ErrNotFound] for a job of another tenant.
type Queue interface {
	// Submit accepts a job. If the same job waits or runs, it returns that one, and added is false.
	Submit(ctx context.Context, s Submission) (doc Doc, added bool, err error)
	// List returns jobs without their reports, the newest first.
	List(ctx context.Context, f Filter) ([]Doc, error)
	// Get returns a job with its report.
	Get(ctx context.Context, tenant, id string) (Doc, error)
	// Cancel cancels a job. One that has ended stays as it is.
	Cancel(ctx context.Context, tenant, id string) (Doc, error)
	// Log returns the log of a job.
	Log(ctx context.Context, tenant, id string) ([]byte, error)
	// Results calls each with the results of a job from an index on, as JSON, in their order. limit is the most,
	// up to [MaxList].
	Results(ctx context.Context, tenant, id string, from, limit int, each func(index int, data []byte) error) error
}
