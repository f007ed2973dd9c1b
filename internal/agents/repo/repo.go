// Package repo makes the files of a project a source that is searched by words and by meaning.
//
//	s, err := repo.Open(st, p, repo.Options{Tenant: store.DefaultTenant, User: "ann"})
//	report, err := s.Refresh(ctx, repo.Bounds{Time: 300 * time.Millisecond}) // a session begins
//	chunks, err := s.Search(ctx, "where are tokens counted?", 2500)         // a prompt was submitted
package repo

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/internal/agents/learned"
	"github.com/anchor-host/anchor-host/internal/agents/project"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/pipeline/retrieve/builtin"
	"github.com/anchor-host/anchor-host/store"
)

// ErrNoIndex means that the store has no index, as one in memory.
var ErrNoIndex = errors.New("the store has no index for files")

// Options are those of Open.
type Options struct {
	// Tenant is the owner. Empty means store.DefaultTenant.
	Tenant string
	// User is the user in the tenant, empty for a store of one user.
	User string
	// Embedder makes the vectors. nil means the table in the program.
	Embedder retrieve.Embedder
	// Now is time.Now when nil.
	Now func() time.Time
	// Words says that searches are by words alone, which is faster where there are many files.
	Words bool
}

// Source is the files of one worktree of a project. It is safe for concurrent use.
type Source struct {
	o          Options
	index      retrieve.Index
	collection retrieve.Collection
	root       string
}

// Open returns the source of a project's files for a user. It reads and writes nothing yet. Worktrees of a project have
// a source each, because their files differ. The error is ErrNoIndex for a store without an index.
func Open(s store.Store, p project.Project, o Options) (*Source, error) {
	o.Tenant = cmp.Or(o.Tenant, store.DefaultTenant)
	if o.Embedder == nil {
		o.Embedder = builtin.Embedder()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	index, ok := agentstore.IndexOf(s)
	if !ok {
		return nil, fmt.Errorf("files of %s: %w", p.Name, ErrNoIndex)
	}
	sum := sha256.Sum256([]byte(p.Root))
	c := retrieve.Collection{Tenant: o.Tenant, Name: learned.FilesPrefix + learned.Stream(p.ID, o.User) + "/" + hex.EncodeToString(sum[:6])}
	return &Source{o: o, index: index, collection: c, root: p.Root}, nil
}

// Collection is where the chunks are, for pipelines that search it themselves.
func (s *Source) Collection() retrieve.Collection { return s.collection }

// Drop deletes all that is stored of the files.
func (s *Source) Drop(ctx context.Context) error {
	err := s.index.Remove(ctx, s.collection)
	if errors.Is(err, retrieve.ErrNotFound) {
		return nil
	}
	return err
}

// Bounds bound a Refresh. A zero field means its default.
type Bounds struct {
	// Files is how many files the source has at most. 0 means 50,000.
	Files int
	// Bytes is how many bytes of files one call reads at most. 0 means 256 MiB.
	Bytes int64
	// MaxFile is the largest file in bytes. 0 means 512 KiB.
	MaxFile int64
	// Time is how long the call may take, until it leaves the rest to the next one. 0 means no bound. It is held to
	// within one file and one write of the store.
	Time time.Duration
}

// Report says what a Refresh did.
type Report struct {
	// Files is how many files were looked at; Added, Changed, Unchanged and Skipped add up to it. Skipped are those
	// that are too large, binary or unreadable.
	Files     int `json:"files"`
	Added     int `json:"added"`
	Changed   int `json:"changed"`
	Unchanged int `json:"unchanged"`
	Skipped   int `json:"skipped"`
	// Removed is how many files are gone since the last call.
	Removed int `json:"removed"`
	// Bytes is the size of the files that were read.
	Bytes int64 `json:"bytes"`
	// Done says that the source has all files now. Otherwise Why says which bound ended the call: time, files or
	// bytes. The next call goes on from there.
	Done bool   `json:"done"`
	Why  string `json:"why,omitempty"`
	// Seconds is how long the call took.
	Seconds float64 `json:"seconds"`
}

// Chunk is a part of a file that was found.
type Chunk struct {
	// Path is that of the file below the root, with slashes.
	Path string `json:"path"`
	// From and To are its lines, from 1.
	From int `json:"from"`
	To   int `json:"to"`
	// Text is what is in these lines.
	Text string `json:"text"`
	// Score is how well it fits the question, 0 to 1.
	Score float64 `json:"score"`
}
