package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/host/internal/linear"
)

// An image on disk is a file: a magic text, the SHA-256 of all that follows, the
// length of a JSON header, the header, and the parts of the memory one after the
// other.
const imageMagic = "ANCHOR-IMAGE-1\n\x00"

// maxImageFile is more than any image takes: all the memory there can be, and
// variables and globals with their encoding.
const maxImageFile = maxMemory + 64<<20

// errImageFile marks a file that is not an image, or a damaged one.
var errImageFile = errors.New("not an image, or a damaged one")

// imageHeader is what an image holds beside the bytes of its memory.
type imageHeader struct {
	Size    int               `json:"size"`
	Parts   [][2]int          `json:"parts"` // offset and length
	Globals []uint64          `json:"globals"`
	Mailbox uint32            `json:"mailbox"`
	HasBox  bool              `json:"has_mailbox"`
	Vars    map[string][]byte `json:"vars,omitempty"`
}

// writeImage writes an image so that the file is either whole or not there.
func writeImage(path string, im *image) error {
	h := imageHeader{Size: im.memory.Size(), Globals: im.globals, Mailbox: im.mailbox, HasBox: im.hasBox, Vars: im.vars.values}
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
	sum := sha256.New()
	for _, b := range body {
		sum.Write(b)
	}
	f, err := os.CreateTemp(filepath.Dir(path), newPrefix)
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
func readImage(path string, capture func(int, []linear.Part) *linear.Image) (*image, error) {
	if info, err := os.Stat(path); err == nil && (!info.Mode().IsRegular() || info.Size() > maxImageFile) {
		return nil, fmt.Errorf("image: %w: it is no file of an image's size", errImageFile)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	const sumAt = len(imageMagic)
	const bodyAt = sumAt + sha256.Size
	if len(b) < bodyAt+8 || string(b[:sumAt]) != imageMagic {
		return nil, fmt.Errorf("image: %w", errImageFile)
	}
	if sum := sha256.Sum256(b[bodyAt:]); !bytes.Equal(sum[:], b[sumAt:bodyAt]) {
		return nil, fmt.Errorf("image: %w: the checksum does not fit", errImageFile)
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
	im := &image{partImage: partImage{globals: h.Globals}, mailbox: h.Mailbox, hasBox: h.HasBox, vars: vars{values: h.Vars}}
	for k := range h.Vars {
		im.vars.bytes += im.vars.size(k)
	}
	im.memory = capture(h.Size, parts)
	return im, nil
}

// parts cuts the bytes into the parts of the memory.
func (h *imageHeader) parts(b []byte) ([]linear.Part, bool) {
	if h.Size < 0 || h.Size > maxMemory || h.Size%wasmPage != 0 {
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
