package server

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxWindow is the largest window of zstd, in bytes. RFC 9659 allows no larger one over HTTP.
	// Decoders with a window up to keptWindow are used again.
	maxWindow, keptWindow = 8 << 20, 1 << 20
	// gzipState is what a decoder of gzip takes, in bytes, and zstdState what one of zstd takes besides
	// its window and its blocks.
	gzipState, zstdState = 64 << 10, 64 << 10
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

// decoded returns the body without its compression.
func (c *call) decoded(raw io.Reader) (*decoder, error) {
	coding := strings.ToLower(strings.Join(c.r.Header.Values("Content-Encoding"), ","))
	switch coding {
	case "", "identity":
		return &decoder{in: raw}, nil
	case "gzip", "x-gzip":
		return &decoder{c: c, raw: raw, open: (*decoder).openGzip}, nil
	case "zstd":
		return &decoder{c: c, raw: raw, open: (*decoder).openZstd}, nil
	}
	return nil, &Refusal{
		Status: http.StatusUnsupportedMediaType, Reason: "unsupported_encoding", Message: fmt.Sprintf("content-encoding %.100q", coding),
		Remedy: "send gzip, zstd or none", Header: http.Header{"Accept-Encoding": {"gzip, zstd"}},
	}
}

// decoder is a body that is decompressed. It takes memory when the first bytes have come.
type decoder struct {
	c       *call
	raw, in io.Reader
	open    func(*decoder) error
	held    int64
	keep    func() // puts what reads back
}

// Read implements io.Reader.
func (d *decoder) Read(p []byte) (n int, err error) {
	if d.in == nil {
		if err := d.open(d); err != nil {
			return 0, err
		}
	}
	return d.in.Read(p)
}

// hold counts the memory of the decoder, before it is taken.
func (d *decoder) hold(n int64) error {
	err := d.c.hold(n)
	if err == nil {
		d.held = n
	}
	return err
}

// close gives the memory back.
func (d *decoder) close() {
	if d.keep != nil {
		d.keep()
	}
	if d.held > 0 {
		d.c.drop(d.held)
	}
}

func (d *decoder) openGzip() error {
	var first [1]byte
	if _, err := io.ReadFull(d.raw, first[:]); err != nil {
		return noEOF(err)
	}
	if err := d.hold(gzipState); err != nil {
		return err
	}
	z := gzipReaders.Get().(*gzip.Reader)
	d.in, d.keep = z, func() { gzipReaders.Put(z) }
	return noEOF(z.Reset(bufio.NewReader(io.MultiReader(bytes.NewReader(first[:]), d.raw))))
}

func (d *decoder) openZstd() error {
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
