// Package examples runs the programs of the folder examples against a service and fakes of model
// APIs, all on loopback.
package examples

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// calls is how many times the fake asks for the tool before it answers.
const calls = 3

// fake is the API of a model, of Anthropic and of OpenAI. It asks for a page of the log, then for
// the next, and answers in the end.
type fake struct {
	*httptest.Server
	mu sync.Mutex
	// log are the bodies of the requests.
	log []string
}

func newFake() *fake {
	f := &fake{}
	f.Server = httptest.NewServer(f)
	return f
}

// taken returns the log and empties it.
func (f *fake) taken() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.log
	f.log = nil
	return out
}

// ServeHTTP implements http.Handler.
func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	f.mu.Lock()
	f.log = append(f.log, string(body))
	page := len(f.log)
	f.mu.Unlock()
	var answer any
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages"):
		answer = anthropicAnswer(page)
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		answer = openAIAnswer(page)
	default:
		http.Error(w, r.URL.Path, http.StatusNotFound)
		return
	}
	w.Header().Set("content-type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

const finalAnswer = "None failed: each has the status 200."

func anthropicAnswer(page int) any {
	block, reason := any(map[string]any{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", page), "name": "read_log", "input": map[string]any{"page": page}}), "tool_use"
	if page > calls {
		block, reason = map[string]any{"type": "text", "text": finalAnswer}, "end_turn"
	}
	return map[string]any{
		"id": fmt.Sprintf("msg_%d", page), "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": []any{block},
		"stop_reason": reason, "stop_sequence": nil, "usage": map[string]any{"input_tokens": 1, "output_tokens": 1},
	}
}

func openAIAnswer(page int) any {
	message, reason := map[string]any{"role": "assistant", "content": finalAnswer}, "stop"
	if page <= calls {
		call := map[string]any{"id": fmt.Sprintf("call_%d", page), "type": "function",
			"function": map[string]any{"name": "read_log", "arguments": fmt.Sprintf(`{"page": %d}`, page)}}
		message, reason = map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
	}
	return map[string]any{
		"id": fmt.Sprintf("chatcmpl-%d", page), "object": "chat.completion", "created": 1, "model": "gpt-5",
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": reason}},
		"usage":   map[string]any{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
	}
}
