// Package fake is a small fake of the APIs of models, for clients that would otherwise need the
// real ones. It streams scripted answers and keeps every request body.
package fake

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Call is a tool that a scripted answer calls.
type Call struct {
	Name  string
	Input map[string]any
}

// Turn is one scripted answer.
type Turn struct {
	Think string // text of thinking or of a summary of reasoning, may be empty
	Text  string
	Calls []Call
}

// Server answers the requests of one session of a client in the order of its script. A request
// without tools is beside the session, such as one for its title: it gets a short text and
// does not count. After the script each answer is "Done.".
type Server struct {
	// Script holds the answers.
	Script []Turn
	// Record is called with the body of each request of the session, one at a time.
	Record func(turn int, body []byte)

	mu   sync.Mutex
	turn int
}

// ServeHTTP answers POST /v1/messages and POST /v1/responses.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 32<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var head struct {
		Model  string            `json:"model"`
		Stream bool              `json:"stream"`
		Tools  []json.RawMessage `json:"tools"`
	}
	if r.Method != http.MethodPost || json.Unmarshal(body, &head) != nil {
		http.NotFound(w, r)
		return
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		fmt.Fprint(w, `{"input_tokens":1000}`)
	case strings.HasSuffix(r.URL.Path, "/messages"):
		n, turn := s.next(body, len(head.Tools) > 0)
		stream(w, anthropicEvents(n, head.Model, turn))
	case strings.HasSuffix(r.URL.Path, "/responses"):
		n, turn := s.next(body, len(head.Tools) > 0)
		stream(w, responsesEvents(n, head.Model, turn))
	default:
		http.NotFound(w, r)
	}
}

// next records a body and returns the number of the answer and the answer.
func (s *Server) next(body []byte, session bool) (int, Turn) {
	if !session {
		return 0, Turn{Text: "Small task"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.turn
	s.turn++
	s.Record(n, body)
	if n < len(s.Script) {
		return n + 1, s.Script[n]
	}
	return n + 1, Turn{Text: "Done."}
}

// event is one server-sent event; its type is a member of the data, too.
type event map[string]any

func stream(w http.ResponseWriter, events []event) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			panic(err) // the events are made here
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e["type"], data)
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
}
