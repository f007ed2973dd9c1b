package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/registry/internal/kind"
)

// maxEntries is how many entries a layer may have; images with one plugin have a few.
const maxEntries = 1000

// Unpack returns the file plugin.wasm at the root of a tar layer, which may be compressed with
// gzip. limit bounds the file; what else is in the layer may have as many bytes again.
func Unpack(layer []byte, limit int64) ([]byte, error) {
	var from io.Reader = bytes.NewReader(layer)
	if bytes.HasPrefix(layer, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(from)
		if err != nil {
			return nil, errkind.As(kind.ErrNotPlugin, fmt.Errorf("layer: read gzip: %w", err))
		}
		from = z
	}
	bounded := &io.LimitedReader{R: from, N: 2*limit + 1<<20}
	module, err := findModule(tar.NewReader(bounded), limit)
	switch {
	case err != nil && bounded.N <= 0:
		return nil, errkind.As(kind.ErrTooLarge, fmt.Errorf("layer: unpacks to more than %d bytes", 2*limit+1<<20))
	case err != nil:
		return nil, err
	case module == nil:
		return nil, errkind.As(kind.ErrNotPlugin, errors.New("layer: has no file /plugin.wasm"))
	}
	return module, nil
}

// findModule reads the tar to its end: of two files of the name, readers would choose
// differently.
func findModule(t *tar.Reader, limit int64) (module []byte, err error) {
	for n := 1; ; n++ {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return module, nil
		}
		if err != nil {
			return nil, errkind.As(kind.ErrNotPlugin, fmt.Errorf("layer: read tar: %w", Cause(err)))
		}
		name, err := EntryName(h.Name)
		switch {
		case err != nil:
			return nil, errkind.As(kind.ErrNotPlugin, fmt.Errorf("layer: %w", err))
		case n > maxEntries:
			return nil, errkind.As(kind.ErrTooLarge, fmt.Errorf("layer: has more than %d entries", maxEntries))
		case name != "plugin.wasm":
			continue
		case h.Typeflag != tar.TypeReg:
			return nil, errkind.As(kind.ErrNotPlugin, errors.New("layer: plugin.wasm is not a regular file"))
		case module != nil:
			return nil, errkind.As(kind.ErrNotPlugin, errors.New("layer: has two files plugin.wasm"))
		case h.Size <= 0 || h.Size > limit:
			return nil, errkind.As(kind.ErrTooLarge, fmt.Errorf("layer: plugin.wasm has %d bytes, want 1 to %d", h.Size, limit))
		}
		if module, err = io.ReadAll(io.LimitReader(t, limit)); err != nil {
			return nil, errkind.As(kind.ErrNotPlugin, fmt.Errorf("layer: read plugin.wasm: %w", Cause(err)))
		}
	}
}

// EntryName returns the path of an entry below the root. It refuses one that leads out.
func EntryName(name string) (string, error) {
	if strings.ContainsAny(name, "\\\x00") {
		return "", fmt.Errorf("the entry %s is not a valid path", plain.Path(name))
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			return "", fmt.Errorf("the entry %s leads out of the archive", plain.Path(name))
		}
	}
	return strings.TrimPrefix(path.Clean("/"+name), "/"), nil
}
