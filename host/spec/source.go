package spec

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/wasmbin"
	"github.com/anchor-host/anchor-host/host/lines"
)

// source is where the bytes of a module are: in memory, or in a file whose content had the
// digest.
type source struct {
	// wasm is the module, once it is known without the sections that nobody reads.
	wasm []byte
	// dir is a directory and file the name of a file in it, if wasm is nil.
	dir, file string
	digest    [sha256.Size]byte
	// held is the module that Keep has read, packed with zstd. nil: it was not asked to.
	held atomic.Pointer[[]byte]
	// info is what is known of the module. Of the custom sections only the manifest has its content.
	info *wasmbin.Info
}

// bytes returns the module without the sections that nobody reads. If the file has changed, it returns an error, so that what is
// known of one module is never used with the code of another.
func (s *source) bytes() ([]byte, error) {
	if s.wasm != nil {
		return s.wasm, nil
	}
	if held := s.held.Load(); held != nil {
		return unpack(*held)
	}
	root, err := openFolder(s.dir)
	if err != nil {
		return nil, unreadable(s.file, err)
	}
	defer root.Close()
	f, err := openRegular(root, s.file)
	if err != nil {
		return nil, unreadable(s.file, err)
	}
	defer f.Close()
	h := sha256.New()
	wasm, err := s.readLean(io.TeeReader(io.LimitReader(f, wasmbin.MaxSize+1), h))
	if err != nil {
		return nil, unreadable(s.file, err)
	}
	if !bytes.Equal(h.Sum(nil), s.digest[:]) {
		return nil, fmt.Errorf("%s: %w: another module has taken its place (read the plugin again)", s.file, ErrConfig)
	}
	return wasm, nil
}

// Keep holds the module in memory, so that it can be loaded again when its file is damaged or gone. The
// error says why it cannot be read.
func (s *Spec) Keep() error {
	if s.source.held.Load() != nil {
		return nil
	}
	wasm, err := s.source.bytes()
	if err != nil || s.source.wasm != nil {
		return err
	}
	packed, err := pack(wasm)
	if err == nil {
		s.source.held.Store(&packed)
	}
	return err
}

// packing lets one module be packed at a time: that takes some MiB.
var packing sync.Mutex

// pack makes a module smaller, to about a third, for memory in which it may never be read.
func pack(wasm []byte) ([]byte, error) {
	packing.Lock()
	defer packing.Unlock()
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, err
	}
	defer w.Close()
	return slices.Clip(w.EncodeAll(wasm, make([]byte, 0, len(wasm)/3))), nil
}

// unpack returns what pack was given.
func unpack(packed []byte) ([]byte, error) {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(wasmbin.MaxSize))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.DecodeAll(packed, nil)
}

// mostRead is up to which size, in bytes, the custom sections of these names are read once the module
// is known. Of others the small ones stay, for which a copy of the module would not pay.
var mostRead = map[string]int{"name": 8 << 20, lines.Section: 16 << 20,
	abi.ManifestSection: 1 << 20, abi.ReadmeSection: abi.MaxText, abi.ChangelogSection: abi.MaxText}

// unreadSections returns the custom sections that nobody reads any more, and the sum of their lengths.
func (s *source) unreadSections() (unread []wasmbin.CustomSection, sum int) {
	for _, c := range s.info.Customs {
		if c.Size > max(4<<10, mostRead[c.Name]) {
			unread, sum = append(unread, c), sum+c.Length
		}
	}
	return unread, sum
}

// readLean reads the module without the custom sections that nobody reads.
func (s *source) readLean(r io.Reader) ([]byte, error) {
	unread, sum := s.unreadSections()
	var out bytes.Buffer
	out.Grow(s.info.Size - sum + bytes.MinRead)
	at := 0
	for _, c := range unread {
		_, err := io.CopyN(&out, r, int64(c.At-at))
		if err == nil {
			_, err = io.CopyN(io.Discard, r, int64(c.Length))
		}
		if err != nil && !errors.Is(err, io.EOF) { // a file that has become shorter is another module
			return nil, err
		}
		at = c.At + c.Length
	}
	_, err := out.ReadFrom(r)
	return out.Bytes(), err
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
	if err != nil {
		return nil, err
	}
	if own, _ := info.Custom(abi.ManifestSection); len(own) > mostRead[abi.ManifestSection] {
		return info, nil // it is refused, so nothing of it is kept
	}
	s.info = outlined(info)
	if _, sum := s.unreadSections(); sum > 0 {
		s.wasm, _ = s.readLean(bytes.NewReader(s.wasm)) // reading from memory does not fail
	}
	s.remember(s.digest[:], kept)
	s.remember(key, kept)
	return info, nil
}

// outlined returns what is held and kept of what is known: of the custom sections only the manifest has
// its content.
func outlined(info *wasmbin.Info) *wasmbin.Info {
	out := *info
	out.Customs = slices.Clone(info.Customs)
	for i, c := range out.Customs {
		out.Customs[i].Data = nil
		if c.Name == abi.ManifestSection {
			out.Customs[i].Data = bytes.Clone(c.Data)
		}
	}
	return &out
}
