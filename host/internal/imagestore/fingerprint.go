package imagestore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
)

// maxFiles is the most files, of all mounts together, that are checked for changes.
const maxFiles = 50_000

// batch is how many entries of a folder are read at a time.
const batch = 256

// settling is the age after which a change to a file certainly shows in its time.
const settling = 100 * time.Millisecond

// ErrUnsettled is the error for files of which one changed just now.
var ErrUnsettled = errors.New("a file changed just now")

// errMany is the error for too many files.
var errMany = fmt.Errorf("there are more than %d files", maxFiles)

// Mount is a folder that init can read.
type Mount struct {
	// Guest is where the guest sees it.
	Guest    string
	Writable bool
	// Files are its files.
	Files fs.FS
}

// Fingerprint is a hash of the names, sizes, times and stamps of all mounted files. The error
// is [ErrUnsettled], or names the mount and the file that cannot be looked at, or says that
// there are too many files, or is that of ctx.
func Fingerprint(ctx context.Context, mounts []Mount) (string, error) {
	h := sha256.New()
	p := print{ctx: ctx, enc: json.NewEncoder(h)}
	for _, m := range mounts {
		if err := p.add(m); err != nil {
			return "", fmt.Errorf("mount %s: %w", m.Guest, err)
		}
	}
	if time.Since(p.newest) <= settling {
		return "", ErrUnsettled
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// print is a fingerprint that is being taken.
type print struct {
	ctx    context.Context
	enc    *json.Encoder
	files  int
	newest time.Time
}

// add adds the files of a mount.
func (p *print) add(m Mount) error {
	_ = p.enc.Encode([]any{m.Guest, m.Writable}) // it goes to a hash, which never fails
	return fs.WalkDir(listing{m.Files, p.ctx}, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = p.ctx.Err()
		}
		if err != nil {
			return named(path, err)
		}
		if p.files++; p.files > maxFiles {
			return errMany
		}
		info, err := d.Info()
		if err != nil {
			return named(path, err)
		}
		if t := info.ModTime(); t.After(p.newest) {
			p.newest = t
		}
		s := codestore.StampOf(info)
		return p.enc.Encode([]any{path, info.Size(), info.ModTime().UnixNano(), info.Mode(), s.Inode, s.Changed})
	})
}

// named puts the name of a file into an error.
func named(path string, err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err
	}
	return fmt.Errorf("file %q: %w", path, err)
}

// listing reads directories until a context ends, and no more entries of one than are checked:
// a directory may have any number.
type listing struct {
	fs.FS
	ctx context.Context
}

func (l listing) ReadDir(name string) (entries []fs.DirEntry, err error) {
	f, err := l.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	dir, ok := f.(fs.ReadDirFile)
	if !ok {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	for err == nil && len(entries) <= maxFiles {
		var some []fs.DirEntry
		if some, err = dir.ReadDir(batch); err == nil {
			err = l.ctx.Err()
		}
		entries = append(entries, some...)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}
