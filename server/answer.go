package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	// minCompressed is the size from which an answer is compressed, in bytes.
	minCompressed = 1400
	// writePiece is how much is written within ClientTimeout, in bytes.
	writePiece = 64 << 10
	// restTime is how long net/http may drop the rest of a body after the answer, so that the client reads
	// the answer before the connection ends.
	restTime = 300 * time.Millisecond
	// maxKept is the largest buffer that is used again, in bytes.
	maxKept = 1 << 20
)

// reply is an answer with another status than 200.
type reply struct {
	status int
	value  any
}

// file is an answer that is no JSON.
type file struct {
	kind   string // its media type
	policy string // its Content-Security-Policy
	data   []byte
}

// writer writes an answer, with a deadline for each piece, and counts.
type writer struct {
	http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	// end is the deadline of the request. The answer has to be taken timeout after it at the latest.
	end    time.Time
	status int
	bytes  int64
}

func newWriter(s *Server, w http.ResponseWriter) *writer {
	return &writer{ResponseWriter: w, control: http.NewResponseController(w), timeout: s.o.ClientTimeout}
}

// readUntil sets the deadline for reading the request; the zero time removes it.
func (w *writer) readUntil(at time.Time) {
	_ = w.control.SetReadDeadline(at) // a recorder of tests has none
}

// limitWrite sets the deadline for writing the next piece.
func (w *writer) limitWrite() {
	at := time.Now()
	if !w.end.IsZero() && w.end.Before(at) {
		at = w.end
	}
	_ = w.control.SetWriteDeadline(at.Add(w.timeout)) // a recorder of tests has none
}

func (w *writer) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.limitWrite()
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(p []byte) (n int, err error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	for len(p) > 0 && err == nil {
		piece := p[:min(len(p), writePiece)]
		w.limitWrite()
		var m int
		m, err = w.ResponseWriter.Write(piece)
		n, p = n+m, p[len(piece):]
	}
	w.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// reply writes the answer of the endpoint, or its error. It does nothing if the answer is written.
func (c *call) reply(value any, err error) {
	if c.w.status != 0 {
		return
	}
	if _, ok := value.(written); ok && err == nil {
		c.w.status = http.StatusOK
		return
	}
	status := http.StatusOK
	if !c.read && c.r.ProtoMajor == 1 && c.r.Body != nil && c.r.Body != http.NoBody {
		c.w.Header().Set("Connection", "close") // or net/http would wait for the rest of the body first
		c.w.readUntil(time.Now().Add(restTime))
	}
	if err != nil {
		failed, doc := c.failure(err)
		status, c.usage.Reason, value = failed, doc.Error.Reason, doc
	} else if r, ok := value.(*reply); ok {
		status, value = r.status, r.value
	}
	if value == nil {
		c.w.WriteHeader(status)
		return
	}
	if f, ok := value.(*file); ok {
		c.w.Header().Set("Content-Security-Policy", f.policy)
		c.deliver(status, f.kind, f.data)
		return
	}
	b := buffers.Get().(*bytes.Buffer)
	defer func() {
		if b.Cap() <= maxKept {
			b.Reset()
			buffers.Put(b)
		}
	}()
	if raw, ok := value.(json.RawMessage); ok {
		b.Write(raw)
	} else if failed := encode(b, value); failed != nil {
		c.why = fmt.Errorf("the answer cannot be written: %w", failed)
		b.Reset()
		b.WriteString(`{"error":{"message":"the answer cannot be written","reason":"failure","step":"","plugin":""},"diagnostics":null}` + "\n")
		status = http.StatusInternalServerError
	}
	c.deliver(status, jsonType, b.Bytes())
}

// jsonType is the media type of documents.
const jsonType = "application/json"

// deliver writes a document of a media type, unless too many wait for clients. The place of the request
// ends before.
func (c *call) deliver(status int, kind string, data []byte) {
	size := int64(len(data))
	data, coding := c.compressed(data)
	if tenant, waiting := c.info.Principal.Tenant, int64(len(data)); c.s.answers.TakeOne(tenant, waiting) {
		defer c.s.answers.Give(tenant, waiting)
	} else {
		var doc bytes.Buffer
		var refusal any
		status, refusal = c.failure(errUnread)
		_ = encode(&doc, refusal) // an error document can be written
		kind, data, coding = jsonType, doc.Bytes(), ""
	}
	c.leave(status, size)
	c.write(status, kind, data, coding)
}

// errUnread is the answer if too many answers wait for slow clients.
var errUnread = &Refusal{
	Status: http.StatusServiceUnavailable, Reason: "busy", Message: "too many bytes of answers wait for clients of this tenant",
	Remedy: "read answers as they come, or raise server.max_bodies", RetryAfter: time.Second,
}

// appender is a value that writes its own JSON, which takes a fraction of the time.
type appender interface {
	AppendJSON(dst []byte) ([]byte, error)
}

// encode writes JSON on one line.
func encode(b *bytes.Buffer, value any) error {
	if value, ok := value.(appender); ok {
		doc, err := value.AppendJSON(b.AvailableBuffer()) // which b.Write does not copy if there was room
		if err != nil {
			return err
		}
		b.Write(append(doc, '\n'))
		return nil
	}
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	return enc.Encode(value)
}

// compressed returns a document as the client takes it, and its coding.
func (c *call) compressed(data []byte) (_ []byte, coding string) {
	if len(data) < minCompressed || c.s.o.Compress == "never" || c.s.o.Compress != "always" && near(c.info.Remote) {
		return data, ""
	}
	coding = accepted(c.r.Header.Get("Accept-Encoding"))
	switch coding {
	case "zstd":
		data = zstdWriter().EncodeAll(data, make([]byte, 0, len(data)/2))
	case "gzip":
		data = zipped(data)
	}
	return data, coding
}

// near reports whether a client is on this machine or in its network. There it takes longer to compress
// an answer, and to unfold it, than to send it as it is.
func near(remote string) bool {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return false
	}
	ip := at.Addr().Unmap()
	return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
}

// write writes a document of a media type, which is compressed with a coding unless it is empty.
func (c *call) write(status int, kind string, data []byte, coding string) {
	h := c.w.Header()
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept-Encoding")
	if coding != "" {
		h.Set("Content-Encoding", coding)
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	c.w.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(data) // the client is gone, which the log of the request does not need
	}
}

// zstdWriter compresses for all requests, as many at the same time as there are processors.
var zstdWriter = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are valid
	}
	return e
})

var gzipWriters = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is valid
	}
	return w
}}

// zipped compresses with gzip.
func zipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(&b)
	_, _ = w.Write(data) // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// accepted returns the best coding that a client accepts: zstd, gzip or none.
func accepted(header string) string {
	if header == "" || len(header) > 1000 {
		return ""
	}
	best, weight := "", 0.0
	for part := range strings.SplitSeq(header, ",") {
		coding, params, _ := strings.Cut(part, ";")
		coding = strings.ToLower(strings.TrimSpace(coding))
		if coding != "zstd" && coding != "gzip" {
			continue
		}
		q := 1.0
		if text, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(params)), "q="); ok {
			var err error
			if q, err = strconv.ParseFloat(text, 64); err != nil || math.IsNaN(q) {
				q = 0
			}
		}
		if q > weight || q == weight && q > 0 && coding == "zstd" {
			best, weight = coding, q
		}
	}
	return best
}

// errPanic is the answer to a request that panics.
var errPanic = errors.New("internal server error (see the server log)")

// panicked is a panic of a request. Only the log sees its text.
type panicked struct {
	problem any
	stack   []byte
}

// Error has the value of the panic and the stack.
func (p *panicked) Error() string { return fmt.Sprintf("request panics: %v\n%s", p.problem, p.stack) }

// Public is what clients see.
func (p *panicked) Public() string { return errPanic.Error() }

// Unwrap returns the error by which a panic is known.
func (p *panicked) Unwrap() error { return errPanic }
