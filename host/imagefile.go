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

// An image on disk is a file: a magic text, the mark of the user on all that follows, the
// length of a JSON header, the header, and the parts of the memory one after the
// other.
const imageMagic = "ANCHOR-IMAGE-3\n\x00"

// maxImageFile is more than any image takes: all the memory there can be, and
// variables and globals with their encoding.
const maxImageFile = wazerox.MaxMemory + 64<<20

// errImageFile marks a file that is not an image, or a damaged one.
var errImageFile = errors.New("not an image, or a damaged one")

// imageHeader is what an image holds beside the bytes of its memory.
type imageHeader struct {
	Size    int               `json:"size"`
	Parts   [][2]int          `json:"parts"` // offset and length
	Globals []uint64          `json:"globals"`
	Vectors [][2]uint64       `json:"vectors,omitempty"`
	Mailbox uint32            `json:"mailbox"`
	HasBox  bool              `json:"has_mailbox"`
	Vars    map[string][]byte `json:"vars,omitempty"`
}

// writeImage writes an image so that the file is either whole or not there.
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
		_, _ = sum.Write(b) // a hash takes everything
	}
	f, err := os.CreateTemp(filepath.Dir(path), codestore.NewPrefix)
	if err != nil {
		return fmt.Errorf("image: %w", err)
	}
	defer os.Remove(f.Name()) // unless it was renamed
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

// readImage reads what writeImage wrote. The error wraps errImageFile or is that
// of the system.
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

// imageLabel is what an image is sealed for.
func imageLabel(path string) string { return "image " + filepath.Base(path) }

// imageBuffers are what images are read into, one after the other: what capture
// makes of one does not refer to it.
var imageBuffers sync.Pool

// readInto reads a file of a size, or the beginning of one that grows.
func readInto(buf *bytes.Buffer, f *os.File, size int64) ([]byte, error) {
	buf.Reset()
	buf.Grow(int(size) + bytes.MinRead)
	_, err := buf.ReadFrom(io.LimitReader(f, size))
	return buf.Bytes(), err
}

// decodeImage makes an image of the content of a file.
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

// parts cuts the bytes into the parts of the memory.
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
