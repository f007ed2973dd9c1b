package server

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// firstBuffer is the size of the first buffer of a body, in bytes. It grows as the body comes. A
	// body whose header states its size, up to maxStated, is read into one buffer of this size.
	firstBuffer, maxStated = 16 << 10, 64 << 10
	// maxWindow is the largest window of zstd, in bytes. RFC 9659 allows no larger one over HTTP.
	maxWindow = 8 << 20
)

// budget counts bytes in memory against a limit.
type budget struct {
	limit int64
	used  atomic.Int64
}

// take takes bytes, and reports whether there were enough.
func (b *budget) take(n int64) bool {
	if b.used.Add(n) > b.limit {
		b.used.Add(-n)
		return false
	}
	return true
}

// maxBody is the largest body of the request, in bytes.
func (c *call) maxBody() int64 {
	if own := c.endpoint.MaxBody; own > 0 {
		return min(own, c.s.o.MaxBody)
	}
	return c.s.o.MaxBody
}

func (b *budget) give(n int64) { b.used.Add(-n) }

// readBody reads the body within the limits. The bytes count until the request ends.
func (c *call) readBody() error {
	if c.r.Body == nil || c.r.Body == http.NoBody {
		c.read = true
		if c.endpoint.body == noBody || c.endpoint.optional {
			return nil
		}
		return &Refusal{Status: http.StatusBadRequest, Reason: "no_body", Message: "the request has no body", Remedy: "send " + wantedType(c.endpoint.body)}
	}
	if c.endpoint.body == noBody {
		if _, err := io.ReadFull(c.r.Body, make([]byte, 1)); err != io.EOF {
			return &Refusal{Status: http.StatusBadRequest, Reason: "unexpected_body", Message: "this request takes no body", Remedy: "leave it out"}
		}
		c.read = true
		c.w.limitRead(0)
		return nil
	}
	if err := c.checkType(); err != nil {
		return err
	}
	if c.r.ContentLength > c.maxBody() {
		return c.tooLarge()
	}
	in, err := c.decoded(http.MaxBytesReader(c.w, c.r.Body, c.maxBody()))
	if err != nil {
		return err
	}
	defer c.endWithContext()()
	if err := c.readAll(in); err != nil {
		return err
	}
	c.read = true
	c.w.limitRead(0) // a deadline would end the request while it runs
	if len(c.body) == 0 && !c.endpoint.optional {
		return &Refusal{Status: http.StatusBadRequest, Reason: "no_body", Message: "the body is empty", Remedy: "send " + wantedType(c.endpoint.body)}
	}
	c.r.Body = io.NopCloser(bytes.NewReader(c.body))
	return nil
}

// endWithContext ends the reading of the body when the request is cut, such as at the end of the
// service. Otherwise a slow client would get no answer. stop must be called before the request ends.
func (c *call) endWithContext() (stop func()) {
	done := make(chan struct{})
	cancel := context.AfterFunc(c.r.Context(), func() {
		defer close(done)
		c.w.limitRead(time.Nanosecond)
	})
	return func() {
		if !cancel() {
			<-done // it uses the connection
		}
	}
}

// readAll reads the body into memory that is counted before it is allocated.
func (c *call) readAll(in io.Reader) error {
	var taken int64
	c.after = append(c.after, func() { c.s.bodies.give(taken) })
	for {
		if len(c.body) == cap(c.body) {
			size := max(firstBuffer, 2*cap(c.body))
			if n := c.r.ContentLength; cap(c.body) == 0 && n >= 0 && n < maxStated && c.r.Header.Get("Content-Encoding") == "" {
				size = int(n) + 1 // the end shows without another buffer
			}
			size = int(min(int64(size), c.maxBody()+1))
			more := int64(size - cap(c.body))
			if more <= 0 {
				return c.tooLarge()
			}
			if !c.s.bodies.take(more) {
				return &Refusal{Status: http.StatusServiceUnavailable, Reason: "busy", Message: "too many bytes of requests are in memory", Remedy: "try again, or raise server.max_bodies", RetryAfter: time.Second}
			}
			taken += more
			grown := make([]byte, len(c.body), size)
			copy(grown, c.body)
			c.body = grown
		}
		n, err := in.Read(c.body[len(c.body):cap(c.body)])
		c.body = c.body[:len(c.body)+n]
		switch {
		case int64(len(c.body)) > c.maxBody():
			return c.tooLarge()
		case err == io.EOF:
			return nil
		case err != nil:
			return c.unread(err)
		}
	}
}

func (c *call) tooLarge() error {
	return &Refusal{
		Status: http.StatusRequestEntityTooLarge, Reason: "body_too_large", Message: fmt.Sprintf("the body has more than %d bytes", c.maxBody()),
		Remedy: "send less, or raise server.max_body",
	}
}

// unread says why a body cannot be read.
func (c *call) unread(err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return c.tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded) && !c.s.cut.Load():
		return &Refusal{
			Status: http.StatusRequestTimeout, Reason: "body_too_slow", Message: fmt.Sprintf("the body did not come within %v", c.s.o.ClientTimeout),
			Remedy: "send it faster, or raise server.client_timeout",
		}
	case !errors.Is(err, io.ErrUnexpectedEOF) && c.r.Context().Err() != nil:
		return c.r.Context().Err()
	}
	return &Refusal{Status: http.StatusBadRequest, Reason: "invalid_body", Message: fmt.Sprintf("the body cannot be read: %v", err)}
}

// checkType refuses bodies of another type.
func (c *call) checkType() error {
	if c.endpoint.body == anyBody {
		return nil
	}
	given := c.r.Header.Get("Content-Type")
	kind, params, err := mime.ParseMediaType(given)
	charset := params["charset"]
	ok := err == nil && (charset == "" || strings.EqualFold(charset, "utf-8"))
	if c.endpoint.body == jsonBody {
		ok = ok && kind == "application/json"
	} else {
		ok = ok && kind == "multipart/form-data" && params["boundary"] != ""
	}
	if ok {
		return nil
	}
	return &Refusal{
		Status: http.StatusUnsupportedMediaType, Reason: "unsupported_type", Message: fmt.Sprintf("the body has the type %.100q", given),
		Remedy: "send " + wantedType(c.endpoint.body), Header: http.Header{"Accept": {wantedType(c.endpoint.body)}},
	}
}

func wantedType(kind bodyKind) string {
	if kind == formBody {
		return "content-type: multipart/form-data"
	}
	return "content-type: application/json"
}

// Decoders are used again, because each allocates its window.
var (
	gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}
	zstdReaders = sync.Pool{New: func() any {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			panic(err) // the options are valid
		}
		return d
	}}
)

// decoded returns the body without its compression.
func (c *call) decoded(raw io.Reader) (io.Reader, error) {
	coding := strings.ToLower(strings.Join(c.r.Header.Values("Content-Encoding"), ","))
	switch coding {
	case "", "identity":
		return raw, nil
	case "gzip", "x-gzip":
		return &lazyGzip{c: c, raw: raw}, nil
	case "zstd":
		// The window is allocated as the data says, however little there is.
		if !c.s.bodies.take(maxWindow) {
			return nil, &Refusal{Status: http.StatusServiceUnavailable, Reason: "busy", Message: "too many compressed requests are in memory", Remedy: "try again, or raise server.max_bodies", RetryAfter: time.Second}
		}
		d := zstdReaders.Get().(*zstd.Decoder)
		c.after = append(c.after, func() {
			c.s.bodies.give(maxWindow)
			if d.Reset(nil) == nil {
				zstdReaders.Put(d)
			}
		})
		return d, d.Reset(raw)
	}
	return nil, &Refusal{
		Status: http.StatusUnsupportedMediaType, Reason: "unsupported_encoding", Message: fmt.Sprintf("content-encoding %.100q", coding),
		Remedy: "send gzip, zstd or none", Header: http.Header{"Accept-Encoding": {"gzip, zstd"}},
	}
}

// lazyGzip reads the header of gzip with the first read, whose error is that of the body.
type lazyGzip struct {
	c   *call
	raw io.Reader
	z   *gzip.Reader
}

// Read implements io.Reader.
func (l *lazyGzip) Read(p []byte) (int, error) {
	if l.z == nil {
		z := gzipReaders.Get().(*gzip.Reader)
		if err := z.Reset(bufio.NewReader(l.raw)); err != nil {
			if err == io.EOF { //nolint:errorlint // a reader returns it as it is
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		l.z = z
		l.c.after = append(l.c.after, func() { gzipReaders.Put(z) })
	}
	return l.z.Read(p)
}
