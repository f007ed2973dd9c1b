package mcpserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/anchor-host/anchor-host/server"
)

const (
	// maxAnswer bounds an answer of the API, in bytes. The largest are the texts of cut results.
	maxAnswer = 36 << 20
	// maxLarge is how many answers that may be large are in memory at the same time, and maxCalls how many calls run.
	maxLarge, maxCalls = 2, 64
	// remoteHeader has the address of the client. [Server.HTTP] sets it, so that a client cannot.
	remoteHeader = "Anchor-Mcp-Remote"
)

// passed are the fields of the header of a request over HTTP that belong to who sends it.
var passed = []string{"Authorization", "Traceparent", "X-Request-Id", "X-Request-Timeout"}

// caller is who asks.
type caller struct {
	header http.Header
	remote string
}

// callerOf returns who sent a request. extra is nil on stdio.
func callerOf(extra *mcp.RequestExtra) caller {
	c := caller{header: http.Header{}}
	if extra == nil {
		return c
	}
	for _, name := range passed {
		if values := extra.Header.Values(name); len(values) > 0 {
			c.header[name] = values
		}
	}
	c.remote = extra.Header.Get(remoteHeader)
	return c
}

// apiError is what the API answers in the place of a result.
type apiError struct {
	Status  int
	Message string `json:"message"`
	Reason  string `json:"reason"`
	Remedy  string `json:"remedy"`
}

// Error has the message and the remedy in one line.
func (e *apiError) Error() string {
	if e.Remedy != "" && !strings.Contains(e.Message, e.Remedy) {
		return e.Message + " (" + e.Remedy + ")"
	}
	return e.Message
}

// notFound reports whether the API has nothing of this name.
func notFound(err error) bool {
	var e *apiError
	return errors.As(err, &e) && e.Status == http.StatusNotFound
}

// call sends a request to the API, and decodes its answer into out. in is nil for a request without a body. The
// header of the answer comes back.
func (s *Server) call(ctx context.Context, c caller, method, path string, in, out any) (http.Header, error) {
	select {
	case s.calls <- struct{}{}:
		defer func() { <-s.calls }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return nil, fmt.Errorf("mcp: encode a request to the API: %w", err)
		}
	}
	// The values of ctx are those of another request, its end is that of this one.
	own, cancel := context.WithCancel(server.Within(context.Background()))
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	r, err := http.NewRequestWithContext(own, method, "http://localhost"+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("mcp: make a request to the API: %w", err)
	}
	r.Header = c.header.Clone()
	r.RemoteAddr = c.remote
	if in != nil {
		r.Header.Set("Content-Type", "application/json")
	} else {
		r.Body = http.NoBody
	}
	w := &recorder{header: http.Header{}}
	s.o.API.ServeHTTP(w, r)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case w.full:
		return nil, fmt.Errorf("the answer has more than %d bytes", maxAnswer)
	case w.status >= http.StatusBadRequest:
		return nil, refusal(w)
	}
	if err := json.Unmarshal(w.body.Bytes(), out); err != nil {
		return nil, fmt.Errorf("mcp: read the answer of the API: %w", err)
	}
	return w.header, nil
}

// large is like call for an answer that may be large.
func (s *Server) large(ctx context.Context, c caller, path string, out any) error {
	select {
	case s.larges <- struct{}{}:
		defer func() { <-s.larges }()
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := s.call(ctx, c, http.MethodGet, path, nil, out)
	return err
}

// refusal returns the error of an answer.
func refusal(w *recorder) error {
	var doc struct {
		Error apiError `json:"error"`
	}
	if json.Unmarshal(w.body.Bytes(), &doc) != nil || doc.Error.Message == "" {
		doc.Error.Message = fmt.Sprintf("the API answers with status %d", w.status)
	}
	if after := w.header.Get("Retry-After"); after != "" {
		doc.Error.Message += fmt.Sprintf(" (try again after %s s)", after)
	}
	doc.Error.Status = w.status
	return &doc.Error
}

// recorder keeps an answer, within a bound.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
	full   bool
}

func (w *recorder) Header() http.Header { return w.header }

func (w *recorder) WriteHeader(status int) {
	w.status = cmp.Or(w.status, status)
}

func (w *recorder) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.body.Len()+len(p) > maxAnswer {
		w.full = true
		return 0, errors.New("the answer is too large")
	}
	return w.body.Write(p)
}
