// Package modeltest is a fake of the servers of models, for tests: chat completions, messages and
// embeddings. It answers what a test says, keeps a log of all that it received, and misbehaves on
// request.
package modeltest

import (
	"encoding/json"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// maxBody bounds what the server reads of a request, in bytes.
const maxBody = 16 << 20

// Request is what the server received.
type Request struct {
	// Path is chat/completions, messages or embeddings, after the base URL.
	Path   string
	Header http.Header
	// Body is the document, as it came.
	Body string
	// Model, MaxTokens, Messages and Schema are what the document says. A system text of the API
	// of messages is the first message.
	Model     string
	MaxTokens int
	Messages  []Message
	Schema    string
	// Texts are those to embed.
	Texts []string
}

// Message is a message to a model.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Last is the text of the last message.
func (r *Request) Last() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[len(r.Messages)-1].Content
}

// Answer is what the server does. The zero value answers with an empty text.
type Answer struct {
	// Text is the answer of a model. If the request has a schema, it is JSON.
	Text string
	// Input and Output are the numbers of tokens. Both 0: 10 and 5.
	Input, Output int
	// Cut says that the answer reached its maximum of tokens.
	Cut bool
	// Status is another status than 200, and Header has headers of the response.
	Status int
	Header http.Header
	// Raw is the whole body in the place of one made of Text.
	Raw string
	// Half ends the connection in the middle of the body.
	Half bool
	// Never answers only when the client has gone.
	Never bool
	// Delay is how long the server waits before it answers.
	Delay time.Duration
}

// Server is a fake server. Its methods are safe for concurrent use.
type Server struct {
	// URL is the base URL, with /v1 at its end.
	URL string

	answer func(Request) Answer

	mu       sync.Mutex
	requests []Request
	at, most int
}

// New starts a server that ends with the test. answer says what to answer to a request to a model;
// it may be called from several goroutines at once. nil: the answer repeats the last message.
func New(tb testing.TB, answer func(Request) Answer) *Server {
	tb.Helper()
	if answer == nil {
		answer = func(r Request) Answer { return Answer{Text: r.Last()} }
	}
	s := &Server{answer: answer}
	server := httptest.NewServer(s)
	tb.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	s.URL = server.URL + "/v1"
	return s
}

// Requests returns what the server received, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Most returns how many requests the server had at the same time.
func (s *Server) Most() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return
	}
	q := read(strings.TrimPrefix(r.URL.Path, "/v1/"), body)
	q.Header = r.Header.Clone()
	s.mu.Lock()
	s.requests = append(s.requests, q)
	s.at++
	s.most = max(s.most, s.at)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.at--
		s.mu.Unlock()
	}()
	a := s.answer(q)
	if a.Never {
		<-r.Context().Done()
		return
	}
	select {
	case <-time.After(a.Delay):
	case <-r.Context().Done():
		return
	}
	write(w, &q, &a)
}

// read reads a request of any of the APIs.
func read(path string, body []byte) Request {
	q := Request{Path: path, Body: string(body)}
	var d struct {
		Model         string          `json:"model"`
		Max           int             `json:"max_tokens"`
		MaxCompletion int             `json:"max_completion_tokens"`
		System        string          `json:"system"`
		Messages      []Message       `json:"messages"`
		Input         json.RawMessage `json:"input"`
		Format        struct {
			Schema struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
		Tools []struct {
			Schema json.RawMessage `json:"input_schema"`
		} `json:"tools"`
	}
	if json.Unmarshal(body, &d) != nil {
		return q
	}
	q.Model, q.MaxTokens, q.Messages, q.Schema = d.Model, max(d.Max, d.MaxCompletion), d.Messages, string(d.Format.Schema.Schema)
	if d.System != "" {
		q.Messages = slices.Insert(q.Messages, 0, Message{"system", d.System})
	}
	if len(d.Tools) > 0 {
		q.Schema = string(d.Tools[0].Schema)
	}
	var one string
	if json.Unmarshal(d.Input, &one) == nil {
		q.Texts = []string{one}
	} else if json.Unmarshal(d.Input, &q.Texts) != nil {
		q.Texts = nil
	}
	return q
}

// write writes an answer in the form of the API of the request.
func write(w http.ResponseWriter, q *Request, a *Answer) {
	for name, values := range a.Header {
		w.Header()[name] = values
	}
	body := []byte(a.Raw)
	if a.Raw == "" && a.Status == 0 {
		body, _ = json.Marshal(document(q, a)) // plain data
	}
	w.Header().Set("Content-Type", "application/json")
	if a.Half {
		w.Header().Set("Content-Length", "100000")
		_, _ = w.Write(body[:len(body)/2]) // the client sees that it is short
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	_, _ = w.Write(body) // a client that has gone is no failure of the server
}

// document is the body of an answer.
func document(q *Request, a *Answer) any {
	type object = map[string]any
	in, out := a.Input, a.Output
	if in == 0 && out == 0 {
		in, out = 10, 5
	}
	switch {
	case q.Path == "embeddings":
		data := []object{}
		for i, text := range q.Texts {
			data = append(data, object{"object": "embedding", "index": i, "embedding": Vector(text)})
		}
		return object{"object": "list", "model": q.Model, "data": data}
	case q.Path == "messages" && q.Schema != "" && json.Valid([]byte(a.Text)):
		return object{
			"content": []object{{"type": "tool_use", "id": "t1", "name": "answer", "input": json.RawMessage(a.Text)}}, "stop_reason": stop(a, "tool_use", "max_tokens"),
			"usage": object{"input_tokens": in, "output_tokens": out},
		}
	case q.Path == "messages":
		return object{
			"content": []object{{"type": "text", "text": a.Text}}, "stop_reason": stop(a, "end_turn", "max_tokens"),
			"usage": object{"input_tokens": in, "output_tokens": out},
		}
	}
	return object{
		"choices": []object{{"index": 0, "message": object{"role": "assistant", "content": a.Text}, "finish_reason": stop(a, "stop", "length")}},
		"usage":   object{"prompt_tokens": in, "completion_tokens": out},
	}
}

func stop(a *Answer, whole, cut string) string {
	if a.Cut {
		return cut
	}
	return whole
}

// Vector is the vector with 8 dimensions that the server makes of a text.
func Vector(text string) []float32 {
	h := fnv.New64a()
	h.Write([]byte(text))
	v := make([]float32, 0, 8)
	for _, b := range h.Sum(nil) {
		v = append(v, float32(b)/255)
	}
	return v
}
