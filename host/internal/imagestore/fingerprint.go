package imagestore

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
)

// maxFiles is the most files, of all mounts together, that are checked for changes.
const maxFiles = 50_000

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
// there are too many files.
func Fingerprint(mounts []Mount) (string, error) {
	h := sha256.New()
	p := print{enc: json.NewEncoder(h)}
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
	enc    *json.Encoder
	files  int
	newest time.Time
}

// add adds the files of a mount.
func (p *print) add(m Mount) error {
	_ = p.enc.Encode([]any{m.Guest, m.Writable}) // it goes to a hash, which never fails
	return fs.WalkDir(m.Files, ".", func(path string, d fs.DirEntry, err error) error {
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
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err
	}
	return fmt.Errorf("file %q: %w", path, err)
}
