// Package uploads receives documents as they come, into one temporary file without a name, so that neither
// their size nor the end of the process leaves anything behind.
package uploads

import (
	"errors"
	"fmt"
	"io"
	"math"
	"mime/multipart"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of an upload.
const (
	// MaxFiles is the greatest number of documents in one upload.
	MaxFiles = 1000
	// MaxName is the greatest length of a document's name, in bytes.
	MaxName = 1024
	// maxHeader bounds the header of a part of a form, in bytes.
	maxHeader = 16 << 10
	// piece is how much is written at once. Room is taken in pieces.
	piece = 64 << 10
	// Memory is what receiving an upload takes, in bytes.
	Memory = piece + 16<<10
)

// Error says what is wrong with an upload.
type Error struct{ Problem, Remedy string }

// Error returns the problem.
func (e *Error) Error() string { return e.Problem }

// Room counts what all uploads take of the disk, in bytes.
type Room interface {
	Take(n int64) bool
	Give(n int64)
}

// ErrRoom means that the uploads of a tenant take as much of the disk as they may.
var ErrRoom = errors.New("too many bytes of uploads are on the disk")

// ErrDisk means that the disk does not take the documents.
var ErrDisk = errors.New("the documents cannot be kept until they are read")

// File is one document of an upload.
type File struct {
	Name         string
	offset, size int64
}

// Upload is what has come. Remove must be called.
type Upload struct {
	Files []File

	room        Room
	file        *os.File
	size, taken int64
	names       map[string]bool
	buffer      []byte
}

// New makes an empty upload in a folder.
func New(dir string, room Room) (*Upload, error) {
	f, err := os.CreateTemp(dir, ".anchor-upload-*")
	if err != nil {
		return nil, fmt.Errorf("%w: make a temporary file: %w", ErrDisk, err)
	}
	_ = os.Remove(f.Name()) // where an open file cannot be removed, Remove does it
	return &Upload{room: room, file: f, names: map[string]bool{}, buffer: make([]byte, piece)}, nil
}

// Remove gives back the disk. It may be called again.
func (u *Upload) Remove() {
	if u.file == nil {
		return
	}
	_ = u.file.Close()           // it is not read any more
	_ = os.Remove(u.file.Name()) // most systems have removed it
	u.room.Give(u.taken)
	u.file, u.taken = nil, 0
}

// Size is the size of all documents in bytes.
func (u *Upload) Size() int64 { return u.size }

// Open returns the content of a document.
func (u *Upload) Open(f File) *io.SectionReader { return io.NewSectionReader(u.file, f.offset, f.size) }

// Add receives one document.
func (u *Upload) Add(name string, r io.Reader) error {
	if problem := badName(name); problem != "" {
		return &Error{fmt.Sprintf("the name %.100q of a document %s", name, problem), "give it a name such as guide.md, or guides/guide.md"}
	}
	switch {
	case u.names[name]:
		return &Error{fmt.Sprintf("two documents have the name %.100q", name), "rename one"}
	case len(u.Files) == MaxFiles:
		return &Error{fmt.Sprintf("there are more than %d documents", MaxFiles), "send them in several requests"}
	}
	u.names[name] = true
	f := File{Name: name, offset: u.size}
	for {
		n, err := r.Read(u.buffer)
		if failed := u.write(u.buffer[:n]); failed != nil {
			return failed
		}
		f.size += int64(n)
		if err == io.EOF {
			u.Files = append(u.Files, f)
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// write writes some bytes, after the room for them is taken.
func (u *Upload) write(p []byte) error {
	for u.size+int64(len(p)) > u.taken {
		if !u.room.Take(piece) {
			return ErrRoom
		}
		u.taken += piece
	}
	n, err := u.file.Write(p)
	u.size += int64(n)
	if err != nil {
		return fmt.Errorf("%w: write a temporary file: %w", ErrDisk, err)
	}
	return nil
}

// Form receives the files of a form.
func (u *Upload) Form(r io.Reader, boundary string) error {
	in := &io.LimitedReader{R: r}
	form := multipart.NewReader(in, boundary)
	for {
		in.N = maxHeader // or a header could cost many times its size
		p, err := form.NextRawPart()
		if in.N <= 0 {
			return &Error{fmt.Sprintf("the header of a part has more than %d bytes", maxHeader), "send files with short names"}
		}
		in.N = math.MaxInt64
		if err == io.EOF {
			if len(u.Files) == 0 {
				return &Error{"the form has no file", "send each document as a part with the name file and a file name"}
			}
			return nil
		}
		if err != nil {
			return err
		}
		if name := p.FormName(); name != "file" {
			return &Error{fmt.Sprintf("unknown part %.100q", name), "send each document as a part with the name file and a file name"}
		}
		if err := u.Add(p.FileName(), p); err != nil {
			return err
		}
	}
}

// badName says why a document cannot have a name: it becomes a part of an id, which stands in a path.
func badName(name string) string {
	switch {
	case name == "":
		return "is empty"
	case len(name) > MaxName:
		return fmt.Sprintf("has more than %d bytes", MaxName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "is not UTF-8, or has control characters"
	}
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return "has an empty part, or one of dots"
		}
	}
	return ""
}
