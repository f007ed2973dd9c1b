package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/server/internal/coding"
)

const (
	// firstBuffer is the size of the first buffer of a body, in bytes, unless its header states a size
	// up to maxStated. Up to maxStated it grows; what comes then is read in pieces of largestPiece at
	// most, which are joined in the end.
	firstBuffer, maxStated, largestPiece = 16 << 10, 64 << 10, 1 << 20
	// paceTime is the time over which the pace of a body is measured.
	paceTime = 5 * time.Second
)

// maxBody is the largest body of the request, in bytes.
func (c *call) maxBody() int64 {
	if c.endpoint.body == uploadBody {
		return c.s.o.MaxUpload
	}
	if own := c.endpoint.MaxBody; own > 0 {
		return min(own, c.s.o.MaxBody)
	}
	return c.s.o.MaxBody
}

// readBody reads the body within the limits. The bytes count until the request ends.
func (c *call) readBody() error {
	if c.r.Body == nil || c.r.Body == http.NoBody {
		c.read = true
		if c.endpoint.body == noBody || c.endpoint.optional {
			return nil
		}
		status := http.StatusBadRequest
		if c.endpoint.body == uploadBody { // an empty document is well-formed
			status = http.StatusUnprocessableEntity
		}
		return &Refusal{Status: status, Reason: "no_body", Message: "the request has no body", Remedy: "send " + wantedType(c.endpoint.body)}
	}
	c.pace()
	if c.endpoint.body == noBody {
		if c.r.ContentLength <= 0 {
			if _, err := io.ReadFull(c.r.Body, make([]byte, 1)); err == io.EOF {
				c.read = true
				c.w.readUntil(time.Time{})
				return nil
			}
		}
		return &Refusal{Status: http.StatusBadRequest, Reason: "unexpected_body", Message: "this request takes no body", Remedy: "leave it out"}
	}
	if err := c.checkType(); err != nil {
		return err
	}
	if c.endpoint.body == uploadBody {
		if err := c.mayUpload(); err != nil {
			return err
		}
	}
	if c.r.ContentLength > c.maxBody() {
		return c.tooLarge()
	}
	in, err := coding.Open(c.r.Header.Values("Content-Encoding"), &paced{c: c, raw: http.MaxBytesReader(c.w, c.r.Body, c.maxBody())}, account{c})
	if err != nil {
		return c.unknownCoding()
	}
	c.after = append(c.after, func() { c.drop(c.held) })
	read := c.readAll
	if c.endpoint.body == uploadBody {
		read = c.receive
	}
	stop := c.endWithContext()
	err = read(in)
	stop()
	in.Close()
	if err != nil {
		return c.unread(err)
	}
	c.read = true
	c.w.readUntil(time.Time{}) // a deadline would end the request while it runs
	if c.upload != nil {
		return nil
	}
	if len(c.body) == 0 && !c.endpoint.optional {
		return &Refusal{Status: http.StatusBadRequest, Reason: "no_body", Message: "the body is empty", Remedy: "send " + wantedType(c.endpoint.body)}
	}
	c.r.Body = io.NopCloser(bytes.NewReader(c.body))
	c.ctx = strict.Holding(c.ctx, c.holdValues)
	return nil
}

// account is the memory of a call, as its decoder counts it.
type account struct{ c *call }

func (a account) Hold(n int64) error { return a.c.hold(n) }

func (a account) Drop(n int64) { a.c.drop(n) }

func (c *call) unknownCoding() error {
	return &Refusal{
		Status: http.StatusUnsupportedMediaType, Reason: "unsupported_encoding", Message: fmt.Sprintf("content-encoding %.100q", strings.ToLower(strings.Join(c.r.Header.Values("Content-Encoding"), ","))),
		Remedy: "send gzip, zstd or none", Header: http.Header{"Accept-Encoding": {"gzip, zstd"}},
	}
}

// endWithContext ends the reading of the body when the request ends, such as at its deadline or at the
// end of the service. Otherwise a slow client would get no answer. stop must be called before the
// request ends.
func (c *call) endWithContext() (stop func()) {
	done := make(chan struct{})
	cancel := context.AfterFunc(c.ctx, func() {
		defer close(done)
		c.w.readUntil(time.Now())
	})
	return func() {
		if !cancel() {
			<-done // it uses the connection
			// net/http may have begun to wait for the next request, and takes the deadline for the end
			// of the connection: requests that came later would be cancelled from their beginning.
			c.w.Header().Set("Connection", "close")
		}
	}
}

// pace gives the client time for the next bytes of the body: as many as have to come in paceTime.
func (c *call) pace() {
	if c.slowest.IsZero() {
		c.slowest = time.Now().Add(c.s.o.ClientTimeout)
	}
	at := time.Now().Add(c.s.paceTime)
	if c.slowest.Before(at) {
		at = c.slowest
	}
	c.w.readUntil(at)
}

// paced reads a body that must not come too slowly.
type paced struct {
	c   *call
	raw io.Reader
	got int64
}

func (p *paced) Read(b []byte) (int, error) {
	n, err := p.raw.Read(b)
	p.got += int64(n)
	if err != nil || p.got < int64(float64(p.c.s.o.MinRate)*p.c.s.paceTime.Seconds()) {
		return n, err
	}
	p.got = 0
	p.c.pace()
	return n, p.c.ctx.Err() // or the new deadline could be later than the end of the request
}

// hold counts bytes that the request takes in memory, before it takes them.
func (c *call) hold(n int64) error {
	if !c.s.bodies.Take(c.info.Principal.Tenant, n) {
		return &Refusal{
			Status: http.StatusServiceUnavailable, Reason: "busy", Message: "too many bytes of requests are in memory",
			Remedy: "try again, send fewer large requests at the same time, or raise server.max_bodies", RetryAfter: time.Second,
		}
	}
	c.held += n
	return nil
}

// holdValues counts bytes that the values of the request take, up to the half that one tenant may
// have: a request alone is never refused for them.
func (c *call) holdValues(n int64) error {
	if n = min(n, c.s.o.MaxBodies/2-c.held); n <= 0 {
		return nil
	}
	return c.hold(n)
}

// drop gives back what hold has counted.
func (c *call) drop(n int64) {
	c.s.bodies.Give(c.info.Principal.Tenant, n)
	c.held -= n
}

// readAll reads the body. It takes memory for what has come, and never for what the header states.
func (c *call) readAll(in io.Reader) error {
	var full [][]byte
	var total, counted int64
	piece := make([]byte, 0, 1) // nothing is held before the first byte
	for {
		if len(piece) == cap(piece) {
			size := c.nextPiece(total)
			if err := c.hold(size); err != nil {
				return err
			}
			next := make([]byte, 0, size)
			if total < maxStated {
				next = append(next, piece...)
				c.drop(counted)
			} else {
				full = append(full, piece)
			}
			piece, counted = next, size
		}
		n, err := in.Read(piece[len(piece):cap(piece)])
		piece, total = piece[:len(piece)+n], total+int64(n)
		switch {
		case total > c.maxBody():
			return c.tooLarge()
		case err == io.EOF:
			c.join(append(full, piece), total)
			return nil
		case err != nil:
			return err
		}
	}
}

// nextPiece is the size of the next buffer for a body of which some bytes have come: as many as they
// are, within limits. Buffers below maxStated replace the one before.
func (c *call) nextPiece(total int64) int64 {
	limit := c.maxBody() + 1 // so that a body that is too large shows
	if total >= maxStated {
		return min(total, largestPiece, limit-total)
	}
	if n := c.r.ContentLength; total == 1 && n > 0 && n < maxStated && c.r.Header.Get("Content-Encoding") == "" {
		return min(n+1, limit) // the end shows without another buffer
	}
	return min(max(firstBuffer, 2*total), limit)
}

// join makes the body of its pieces. Large ones are joined one at a time, so that all copies together
// take at most max_body more than is counted.
func (c *call) join(pieces [][]byte, total int64) {
	if len(pieces) == 1 {
		c.body = pieces[0]
		return
	}
	c.s.joining.Lock()
	defer c.s.joining.Unlock()
	c.body = make([]byte, 0, total)
	for i, p := range pieces {
		c.body = append(c.body, p...)
		pieces[i] = nil
	}
}

func (c *call) tooLarge() error {
	key := "max_body"
	if c.endpoint.body == uploadBody {
		key = "max_upload"
	}
	return &Refusal{
		Status: http.StatusRequestEntityTooLarge, Reason: "body_too_large", Message: fmt.Sprintf("the body has more than %d bytes", c.maxBody()),
		Remedy: "send less, or raise server." + key,
	}
}

// unread says why a body cannot be read.
func (c *call) unread(err error) error {
	var large *http.MaxBytesError
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		return err
	case errors.As(err, &large):
		return c.tooLarge()
	case errors.Is(c.ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the body did not come in time: %w", c.ctx.Err())
	case errors.Is(err, os.ErrDeadlineExceeded) && !c.s.cut.Load():
		return c.tooSlow()
	case !errors.Is(err, io.ErrUnexpectedEOF) && c.r.Context().Err() != nil:
		return c.r.Context().Err()
	}
	return &Refusal{Status: http.StatusBadRequest, Reason: "invalid_body", Message: fmt.Sprintf("the body cannot be read: %v", err)}
}

// tooSlow is the refusal of a body that comes too slowly.
func (c *call) tooSlow() error {
	if time.Now().Before(c.slowest) {
		return &Refusal{
			Status: http.StatusRequestTimeout, Reason: "body_too_slow", Message: fmt.Sprintf("less than %d bytes of the body came within a second, for %v", c.s.o.MinRate, c.s.paceTime),
			Remedy: "send it faster, or lower server.min_rate",
		}
	}
	return &Refusal{
		Status: http.StatusRequestTimeout, Reason: "body_too_slow", Message: fmt.Sprintf("the body did not come within %v", c.s.o.ClientTimeout),
		Remedy: "send it faster, or raise server.client_timeout",
	}
}

// checkType refuses bodies of another type.
func (c *call) checkType() error {
	if c.endpoint.body == anyBody || c.endpoint.body == uploadBody {
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
	if kind == uploadBody {
		return "content-type: multipart/form-data, or one document with its name: ?name=guide.md"
	}
	if kind == formBody {
		return "content-type: multipart/form-data"
	}
	return "content-type: application/json"
}
