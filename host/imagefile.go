package host

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

// An image on disk is one file: a magic text, the user's mark (see codestore.Store.Mark) over
// everything after it, the length of a JSON header, the header, and the parts of the memory in
// order.
const imageMagic = "ANCHOR-IMAGE-3\n\x00"

// maxImageFile bounds the file of an image, in bytes: the largest memory, and room for
// variables and globals in their encoding.
const maxImageFile = wazerox.MaxMemory + 64<<20

// errImageFile marks a file that is not an image, or a damaged one.
var errImageFile = errors.New("not an image, or a damaged one")

// imageHeader is an image without the bytes of its memory.
type imageHeader struct {
	Size    int               `json:"size"`
	Parts   [][2]int          `json:"parts"` // offset and length
	Globals []uint64          `json:"globals"`
	Vectors [][2]uint64       `json:"vectors,omitempty"`
	Mailbox uint32            `json:"mailbox"`
	HasBox  bool              `json:"has_mailbox"`
	Vars    map[string][]byte `json:"vars,omitempty"`
}

// writeImage writes an image to a file, all or nothing.
func writeImage(path string, s *codestore.Store, im *image) error {
	h := imageHeader{Size: im.memory.Size(), Globals: im.globals, Vectors: im.vectors, Mailbox: im.mailbox, HasBox: im.hasBox, Vars: im.vars.values}
	var parts [][]byte
	for at, b := range im.memory.Parts() {
		h.Parts = append(h.Parts, [2]int{at, len(b)})
		parts = append(parts, b)
	}
	header, err := json.Marshal(h)
	if err != nil {
		return fmt.Errorf("image: encode: %w", err)
	}
	header = append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	body := append([][]byte{header}, parts...)
	sum := s.Mark(imageLabel(path))
	for _, b := range body {
		_, _ = sum.Write(b) // writing to a hash never fails
	}
	f, err := os.CreateTemp(filepath.Dir(path), codestore.NewPrefix)
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	defer os.Remove(f.Name()) // fails if the file was renamed, as it should be
	for _, b := range append([][]byte{[]byte(imageMagic), sum.Sum(nil)}, body...) {
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

// readImage reads what writeImage wrote. capture makes the image of the memory from its size
// and parts, and must not keep the parts. The error wraps errImageFile, codestore.ErrSeal or
// an error of the system.
func readImage(path string, s *codestore.Store, capture func(int, []linear.Part) *linear.Image) (*image, error) {
	f, err := codestore.OpenOwn(path)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	if info.Size() > maxImageFile {
		return nil, fmt.Errorf("image: %w: it is no file of an image's size", errImageFile)
	}
	buf, _ := imageBuffers.Get().(*bytes.Buffer)
	if buf == nil {
		buf = new(bytes.Buffer)
	}
	defer imageBuffers.Put(buf)
	b, err := readInto(buf, f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	return decodeImage(b, s.Mark(imageLabel(path)), capture)
}

// imageLabel is the label that the mark of an image covers. It contains the file's name, so
// that no image can replace another.
func imageLabel(path string) string { return "image " + filepath.Base(path) }

// imageBuffers are reused for reading images. An image never refers to its buffer.
var imageBuffers sync.Pool

// readInto reads at most size bytes of a file into buf.
func readInto(buf *bytes.Buffer, f *os.File, size int64) ([]byte, error) {
	buf.Reset()
	buf.Grow(int(size) + bytes.MinRead)
	_, err := buf.ReadFrom(io.LimitReader(f, size))
	return buf.Bytes(), err
}

// decodeImage makes an image from the content of its file.
func decodeImage(b []byte, mark hash.Hash, capture func(int, []linear.Part) *linear.Image) (*image, error) {
	const sumAt = len(imageMagic)
	const bodyAt = sumAt + sha256.Size
	if len(b) < bodyAt+8 || string(b[:sumAt]) != imageMagic {
		return nil, fmt.Errorf("image: %w", errImageFile)
	}
	_, _ = mark.Write(b[bodyAt:])
	if !hmac.Equal(mark.Sum(nil), b[sumAt:bodyAt]) {
		return nil, fmt.Errorf("image: %w", codestore.ErrSeal)
	}
	n, rest := binary.LittleEndian.Uint64(b[bodyAt:]), b[bodyAt+8:]
	var h imageHeader
	if n > uint64(len(rest)) || json.Unmarshal(rest[:n], &h) != nil {
		return nil, fmt.Errorf("image: %w: the header cannot be read", errImageFile)
	}
	parts, ok := h.parts(rest[n:])
	if !ok {
		return nil, fmt.Errorf("image: %w: the memory is not all there", errImageFile)
	}
	im := &image{partImage: partImage{globals: h.Globals, vectors: h.Vectors}, mailbox: h.Mailbox, hasBox: h.HasBox, vars: vars{values: h.Vars}}
	for k := range h.Vars {
		im.vars.bytes += im.vars.size(k)
	}
	im.memory = capture(h.Size, parts)
	return im, nil
}

// parts splits the bytes into the parts of the memory. It reports false if they do not fit the
// header.
func (h *imageHeader) parts(b []byte) ([]linear.Part, bool) {
	if h.Size < 0 || h.Size > wazerox.MaxMemory || h.Size%wasmPage != 0 {
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
