package spec

import (
	"bytes"
	"crypto/sha256"
	"fmt"
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

// The kinds of notes about a module.
const (
	// kindFacts is what was found in its code, by the digest of the module.
	kindFacts = "facts"
	// kindOutline is the module without its code and data, by the FileKey of its file.
	kindOutline = "outline"
)

// outline is what is known of a module, without its code and data.
type outline struct {
	Digest [sha256.Size]byte
	Info   *wasmbin.Info
}

// openSource opens the file of a module. It reads the module only if the cache has no outline
// of it. key identifies the content of the file, nil if the content cannot be identified.
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
	var o outline
	if key != nil && kept.Get(kindOutline, key, &o) && o.Info != nil {
		return &source{dir: dir, file: file, digest: o.Digest, info: o.Info}, key, nil
	}
	wasm, err := readOpen(f, file, wasmbin.MaxSize)
	if err != nil {
		return nil, nil, err
	}
	if !bytes.Equal(key, kept.FileKey(f)) { // the file changed while it was read
		key = nil
	}
	return &source{wasm: wasm, digest: sha256.Sum256(wasm)}, key, nil
}

// inspect returns what is known of the module. It decodes what the cache does not have, and
// adds it to the cache under key.
func (s *source) inspect(key []byte, kept *codestore.Notes) (*wasmbin.Info, error) {
	if s.wasm == nil {
		return s.info, nil
	}
	var facts wasmbin.Facts
	var info *wasmbin.Info
	var err error
	if kept.Get(kindFacts, s.digest[:], &facts) {
		info, err = wasmbin.InspectKnown(s.wasm, facts)
	} else if info, err = wasmbin.Inspect(s.wasm); err == nil {
		kept.Put(kindFacts, s.digest[:], info.Facts())
	}
	if err == nil && key != nil {
		slim := *info
		slim.Customs = slices.DeleteFunc(slices.Clone(info.Customs), func(c wasmbin.CustomSection) bool { return c.Name != abi.ManifestSection })
		kept.Put(kindOutline, key, outline{s.digest, &slim})
	}
	return info, err
}
