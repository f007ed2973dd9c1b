package imagestore

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/linear"
	"github.com/anchor-host/anchor-host/host/internal/wazerox"
)

// An image is one file: a magic text, the user's mark (see codestore.Store.Mark) over
// everything after it, the length of a JSON header, the header, and the parts of the memory in
// order.
const magic = "ANCHOR-IMAGE-3\n\x00"

// maxFile bounds the file of an image, in bytes: the largest memory, and room for
// variables and globals in their encoding.
const maxFile = wazerox.MaxMemory + 64<<20

// page is the size of a WebAssembly page, in bytes.
const page = 64 << 10

// errFile marks a file that is not an image, or a damaged one.
var errFile = errors.New("not an image, or a damaged one")

// Image is the state of a plugin after its init.
type Image struct {
	// Memory is the content of its memory. The owner of the image frees it.
	Memory *linear.Image
	// Globals are its mutable globals, Vectors those of type v128.
	Globals []uint64
	Vectors [][2]uint64
	// Mailbox is the address of the mailbox, valid if HasBox is true.
	Mailbox uint32
	HasBox  bool
	// Vars are the variables of Extism.
	Vars map[string][]byte
}

// header is an image without the bytes of its memory.
type header struct {
	Size    int               `json:"size"`
	Parts   [][2]int          `json:"parts"` // offset and length
	Globals []uint64          `json:"globals"`
	Vectors [][2]uint64       `json:"vectors,omitempty"`
	Mailbox uint32            `json:"mailbox"`
	HasBox  bool              `json:"has_mailbox"`
	Vars    map[string][]byte `json:"vars,omitempty"`
}

// write writes an image to a file, all or nothing.
func write(path string, s *codestore.Store, im *Image) error {
	h := header{Size: im.Memory.Size(), Globals: im.Globals, Vectors: im.Vectors, Mailbox: im.Mailbox, HasBox: im.HasBox, Vars: im.Vars}
	var parts [][]byte
	for at, b := range im.Memory.Parts() {
		h.Parts = append(h.Parts, [2]int{at, len(b)})
		parts = append(parts, b)
	}
	text, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("image: encode: %w", err)
	}
	text = append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	body := append([][]byte{text}, parts...)
	sum := s.Mark(label(path))
	for _, b := range body {
		_, _ = sum.Write(b) // writing to a hash never fails
	}
	f, err := os.CreateTemp(filepath.Dir(path), codestore.NewPrefix)
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	defer os.Remove(f.Name()) // fails if the file was renamed, as it should be
	for _, b := range append([][]byte{[]byte(magic), sum.Sum(nil)}, body...) {
		if err == nil {
			_, err = f.Write(b)
		}
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	return nil
}

// read reads what write wrote. The error wraps errFile, codestore.ErrSeal or an error of the
// system.
func read(path string, s *codestore.Store, shared bool) (*Image, error) {
	f, err := codestore.OpenOwn(path)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("image: %w: it is no file of an image's size", errFile)
	}
	buf, _ := buffers.Get().(*bytes.Buffer)
	if buf == nil {
		buf = new(bytes.Buffer)
	}
	defer buffers.Put(buf)
	b, err := readInto(buf, f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	return decode(b, s.Mark(label(path)), shared)
}

// label is the label that the mark of an image covers. It contains the file's name, so
// that no image can replace another.
func label(path string) string { return "image " + filepath.Base(path) }

// buffers are reused for reading images. An image never refers to its buffer.
var buffers sync.Pool

// readInto reads at most size bytes of a file into buf.
func readInto(buf *bytes.Buffer, f *os.File, size int64) ([]byte, error) {
	buf.Reset()
	buf.Grow(int(size) + bytes.MinRead)
	_, err := buf.ReadFrom(io.LimitReader(f, size))
	return buf.Bytes(), err
}

// decode makes an image from the content of its file.
func decode(b []byte, mark hash.Hash, shared bool) (*Image, error) {
	const sumAt = len(magic)
	const bodyAt = sumAt + sha256.Size
	if len(b) < bodyAt+8 || string(b[:sumAt]) != magic {
		return nil, fmt.Errorf("image: %w", errFile)
	}
	_, _ = mark.Write(b[bodyAt:])
	if !hmac.Equal(mark.Sum(nil), b[sumAt:bodyAt]) {
		return nil, fmt.Errorf("image: %w", codestore.ErrSeal)
	}
	n, rest := binary.LittleEndian.Uint64(b[bodyAt:]), b[bodyAt+8:]
	var h header
	if n > uint64(len(rest)) || json.Unmarshal(rest[:n], &h) != nil {
		return nil, fmt.Errorf("image: %w: the header cannot be read", errFile)
	}
	parts, ok := h.parts(rest[n:])
	if !ok {
		return nil, fmt.Errorf("image: %w: the memory is not all there", errFile)
	}
	return &Image{Memory: linear.Rebuild(h.Size, parts, shared), Globals: h.Globals, Vectors: h.Vectors,
		Mailbox: h.Mailbox, HasBox: h.HasBox, Vars: h.Vars}, nil
}

// parts splits the bytes into the parts of the memory. It reports false if they do not fit the
// header.
func (h *header) parts(b []byte) ([]linear.Part, bool) {
	if h.Size < 0 || int64(h.Size) > wazerox.MaxMemory || h.Size%page != 0 {
		return nil, false
	}
	var parts []linear.Part
	end := 0
	for _, p := range h.Parts {
		at, n := p[0], p[1]
		if at < end || n <= 0 || n > len(b) || at > h.Size-n {
			return nil, false
		}
		parts = append(parts, linear.Part{At: at, Bytes: b[:n]})
		b, end = b[n:], at+n
	}
	return parts, len(b) == 0
}
