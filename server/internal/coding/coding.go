// Package coding decodes the bodies of requests: gzip and zstd, with memory that is counted before it is
// taken.
package coding

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxWindow is the largest window of zstd, in bytes. RFC 9659 allows no larger one over HTTP.
	// Decoders with a window up to keptWindow are used again.
	maxWindow, keptWindow = 8 << 20, 1 << 20
	// GzipState is what a decoder of gzip takes, in bytes, and zstdState what one of zstd takes besides
	// its window and its blocks.
	GzipState, zstdState = 64 << 10, 64 << 10
	// zstdBlock is the largest block of zstd, and zstdBlocks how many of them a decoder has.
	zstdBlock, zstdBlocks = 128 << 10, 6
)

// Decoders are used again, because they take more than small bodies.
var (
	gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}
	zstdReaders = sync.Pool{New: func() any {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		if err != nil {
			panic(err) // the options are valid
		}
		return d
	}}
)

// ErrUnknown says that a body has another coding than gzip, zstd or none.
var ErrUnknown = errors.New("unknown coding")

// Account counts memory, in bytes.
type Account interface {
	// Hold counts memory before it is taken. It returns an error if there is no room.
	Hold(n int64) error
	// Drop gives memory back.
	Drop(n int64)
}

// Open returns a body without the codings that the values of Content-Encoding name. The error is
// ErrUnknown. Close must be called.
func Open(codings []string, raw io.Reader, a Account) (*Reader, error) {
	switch strings.ToLower(strings.Join(codings, ",")) {
	case "", "identity":
		return &Reader{in: raw}, nil
	case "gzip", "x-gzip":
		return &Reader{account: a, raw: raw, open: (*Reader).openGzip}, nil
	case "zstd":
		return &Reader{account: a, raw: raw, open: (*Reader).openZstd}, nil
	}
	return nil, ErrUnknown
}

// Reader is a body that is decompressed. It takes memory when the first bytes have come.
type Reader struct {
	account Account
	raw, in io.Reader
	open    func(*Reader) error
	held    int64
	keep    func() // puts what reads back
}

// Read implements io.Reader.
func (d *Reader) Read(p []byte) (n int, err error) {
	if d.in == nil {
		if err := d.open(d); err != nil {
			return 0, err
		}
	}
	return d.in.Read(p)
}

// hold counts the memory of the decoder, before it is taken.
func (d *Reader) hold(n int64) error {
	err := d.account.Hold(n)
	if err == nil {
		d.held = n
	}
	return err
}

// Close gives the memory back.
func (d *Reader) Close() {
	if d.keep != nil {
		d.keep()
	}
	if d.held > 0 {
		d.account.Drop(d.held)
	}
}

func (d *Reader) openGzip() error {
	var first [1]byte
	if _, err := io.ReadFull(d.raw, first[:]); err != nil {
		return noEOF(err)
	}
	if err := d.hold(GzipState); err != nil {
		return err
	}
	z := gzipReaders.Get().(*gzip.Reader)
	d.in, d.keep = z, func() { gzipReaders.Put(z) }
	return noEOF(z.Reset(bufio.NewReader(io.MultiReader(bytes.NewReader(first[:]), d.raw))))
}

func (d *Reader) openZstd() error {
	var first [zstd.HeaderMaxSize]byte
	n, err := io.ReadFull(d.raw, first[:])
	if n == 0 || err != nil && err != io.ErrUnexpectedEOF { //nolint:errorlint // ReadFull returns it as it is
		return err
	}
	window, err := windowOf(first[:n])
	if err != nil {
		return err
	}
	if err := d.hold(int64(window + zstdBlocks*min(window, zstdBlock) + zstdState)); err != nil {
		return err
	}
	z := zstdReaders.Get().(*zstd.Decoder)
	d.in, d.keep = z, func() {
		if window > keptWindow {
			z.Close()
		} else if z.Reset(nil) == nil {
			zstdReaders.Put(z)
		}
	}
	return z.ResetWithOptions(io.MultiReader(bytes.NewReader(first[:n]), d.raw), zstd.WithDecoderMaxWindow(window))
}

// windowOf returns the window that the header of a frame of zstd states.
func windowOf(first []byte) (uint64, error) {
	var h zstd.Header
	if err := h.Decode(first); err != nil {
		return 0, noEOF(err)
	}
	window := h.WindowSize
	switch {
	case h.Skippable:
		window = maxWindow // the header of the data comes later
	case h.SingleSegment:
		window = h.FrameContentSize
	}
	window = max(window, zstd.MinWindowSize)
	if window > maxWindow {
		return 0, zstd.ErrWindowSizeExceeded
	}
	return window, nil
}

// noEOF is the error of a body that ends within a header. The end of a body that is complete is EOF.
func noEOF(err error) error {
	if err == io.EOF { //nolint:errorlint // readers return it as it is
		return io.ErrUnexpectedEOF
	}
	return err
}
