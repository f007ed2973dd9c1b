package spec

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
)

// source is where the bytes of a module are: in memory, or in a file whose content had the
// digest.
type source struct {
	wasm []byte
	// dir is a directory and file the name of a file in it, if wasm is nil.
	dir, file string
	digest    [sha256.Size]byte
	// info is what the cache has on the module, if wasm is nil.
	info *wasmbin.Info
}

// bytes returns the module. If the file has changed, it returns an error, so that what is
// known of one module is never used with the code of another.
func (s *source) bytes() ([]byte, error) {
	if s.wasm != nil {
		return s.wasm, nil
	}
	root, err := openFolder(s.dir)
	if err != nil {
		return nil, unreadable(s.file, err)
	}
	defer root.Close()
	wasm, err := readBounded(root, s.file, wasmbin.MaxSize)
	if err != nil {
		return nil, err
	}
	if sha256.Sum256(wasm) != s.digest {
		return nil, fmt.Errorf("%s: %w: another module has taken its place (read the plugin again)", s.file, ErrConfig)
	}
	return wasm, nil
}

// kindOutline is the kind of the notes that hold an outline: by the FileKey of the file, and by the
// digest of the module.
const kindOutline = "outline"

// outline is what is known of a module, without its code and data.
type outline struct {
	Digest [sha256.Size]byte
	Info   *wasmbin.Info
}

// openSource opens the file of a module. It keeps the module in memory only if the cache has no
// outline of it. key identifies the content of the file, nil if the content cannot be identified.
func openSource(root *os.Root, file string, kept *codestore.Notes) (s *source, key []byte, err error) {
	f, err := openRegular(root, file)
	if err != nil {
		return nil, nil, unreadable(file, err)
	}
	defer f.Close()
	dir, err := filepath.Abs(root.Name())
	if err == nil {
		key = kept.FileKey(f)
	}
	s = &source{dir: dir, file: file}
	if key != nil && s.recall(key, kept) {
		return s, key, nil
	}
	if kept != nil && err == nil {
		// A file that changed just now has no key. To hash it takes a third of the time of reading it
		// into memory.
		digest, err := digestOf(f)
		if err != nil {
			return nil, nil, unreadable(file, err)
		}
		if !bytes.Equal(key, kept.FileKey(f)) { // the file changed while it was read
			key = nil
		}
		if s.recall(digest, kept) {
			s.remember(key, kept)
			return s, key, nil
		}
	}
	wasm, err := readOpen(f, file, wasmbin.MaxSize)
	if err != nil {
		return nil, nil, err
	}
	if !bytes.Equal(key, kept.FileKey(f)) {
		key = nil
	}
	return &source{wasm: wasm, digest: sha256.Sum256(wasm)}, key, nil
}

// recall takes what the cache has under a key.
func (s *source) recall(key []byte, kept *codestore.Notes) bool {
	var o outline
	if !kept.Get(kindOutline, key, &o) || o.Info == nil {
		return false
	}
	s.digest, s.info = o.Digest, o.Info
	return true
}

// remember keeps what is known of the module under a key, which may be nil.
func (s *source) remember(key []byte, kept *codestore.Notes) {
	if key != nil {
		kept.Put(kindOutline, key, outline{s.digest, s.info})
	}
}

// digestOf returns the digest of a file of at most wasmbin.MaxSize bytes, and goes back to its
// begin. A longer file has the digest of its begin, which no module has.
func digestOf(f *os.File) ([]byte, error) {
	h := sha256.New()
	if _, err := io.CopyBuffer(struct{ io.Writer }{h}, io.LimitReader(f, wasmbin.MaxSize+1), make([]byte, 128<<10)); err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

// inspect returns what is known of the module. It decodes what the cache does not have, and
// adds it to the cache under key and under its digest.
func (s *source) inspect(key []byte, kept *codestore.Notes) (*wasmbin.Info, error) {
	if s.wasm == nil {
		return s.info, nil
	}
	info, err := wasmbin.Inspect(s.wasm)
	if err != nil || kept == nil {
		return info, err
	}
	slim := *info
	slim.Customs = slices.DeleteFunc(slices.Clone(info.Customs), func(c wasmbin.CustomSection) bool { return c.Name != abi.ManifestSection })
	known := source{digest: s.digest, info: &slim}
	known.remember(s.digest[:], kept)
	known.remember(key, kept)
	return info, nil
}
