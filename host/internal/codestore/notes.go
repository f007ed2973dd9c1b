package codestore

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

const (
	notesFolder = "facts"
	// notesSize bounds all notes together, in bytes: those on some hundred stock Go guests.
	notesSize = 32 << 20
	// maxNote bounds the file of a note, in bytes.
	maxNote = 1 << 20
)

// Notes are small values that last between processes, such as what was found out about a
// module: a marked file for each. A file that is damaged or belongs to another user is
// removed. Nil Notes keep nothing. They are safe for concurrent use.
type Notes struct {
	store   *Store
	dir     string
	version string
	settled time.Duration
}

// OpenNotes opens the notes of a store. Notes of another version are not found: version must
// change with the code that makes the values, and with their meaning. settled is the age
// after which a change to a file certainly shows in its times; see [Notes.FileKey].
func OpenNotes(s *Store, version string, settled time.Duration) (*Notes, error) {
	dir, err := s.Folder(notesFolder)
	if err != nil {
		return nil, fmt.Errorf("notes: %w", err)
	}
	return &Notes{s, dir, version, settled}, nil
}

// path is the file of a note.
func (n *Notes) path(kind string, key []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s ", n.version, kind)
	h.Write(key)
	return filepath.Join(n.dir, hex.EncodeToString(h.Sum(nil)))
}

// Get reads the note of a kind under a key into a pointer, and reports whether there is one.
func (n *Notes) Get(kind string, key []byte, into any) bool {
	if n == nil {
		return false
	}
	path := n.path(kind, key)
	content, err := n.store.Read(path, noteLabel(path), maxNote)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err == nil {
		err = json.Unmarshal(content, into)
	}
	if err != nil {
		n.store.Refuse(path, err)
		return false
	}
	Use(path)
	return true
}

// Put writes a note, all or nothing. A value that has no encoding in JSON, or a large one, is
// not kept.
func (n *Notes) Put(kind string, key []byte, what any) {
	if n == nil {
		return
	}
	content, err := json.Marshal(what)
	if err != nil || len(content) > maxNote/2 {
		return
	}
	path := n.path(kind, key)
	if n.store.Write(path, noteLabel(path), content) == nil {
		Prune(n.dir, notesSize)
	}
}

// noteLabel is the label under which the file of a note is marked.
func noteLabel(path string) string { return "facts " + filepath.Base(path) }

// FileKey identifies the content of a file without reading it. It is nil if that is not
// possible: there are no notes, the system gives too little information, or the file changed
// just now.
func (n *Notes) FileKey(f *os.File) []byte {
	if n == nil {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	s := StampOf(info)
	if s == (Stamp{}) || time.Since(time.Unix(0, s.Changed)) < n.settled || time.Since(info.ModTime()) < n.settled {
		return nil
	}
	return fmt.Append(nil, s, info.Size(), info.ModTime().UnixNano())
}
