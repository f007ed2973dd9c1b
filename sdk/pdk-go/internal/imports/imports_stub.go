//go:build !wasip1

package imports

import (
	"strings"

	"github.com/anchor-host/anchor-host/abi/services"
)

// Stub is a host in memory.
type Stub struct {
	In  []byte
	Out []byte
	Err string

	Config   map[string]string
	KV       map[string][]byte
	KVStatus int32
	Logs     []LogEntry
	LogLevel Level
	// HTTP answers requests. If it is nil, no request is answered.
	HTTP func(HTTPRequest) HTTPResponse
	// CountTokens counts the tokens of a text. If it is nil, words are counted.
	CountTokens func(text string) int64
	// Embed, Search and LLM answer the services. One that is nil is unavailable.
	Embed  func(services.EmbedRequest) (services.EmbedAnswer, []float32)
	Search func(q services.SearchRequest, vector []float32) services.SearchAnswer
	LLM    func(services.LLMRequest) services.LLMAnswer
}

// LogEntry is one message logged.
type LogEntry struct {
	Level Level
	Text  string
}

// Host is the current stub.
var Host = new(Stub)

// Input returns the input of the call in the JSON lane.
func Input() []byte { return Host.In }

// Output sets the output of the call in the JSON lane.
func Output(b []byte) { Host.Out = append([]byte(nil), b...) }

// SetError sets the message of the error that the call fails with.
func SetError(msg string) { Host.Err = msg }

// Config returns the configuration value of key.
func Config(key string) (string, bool) {
	v, ok := Host.Config[key]
	return v, ok
}

// Enabled reports whether the host wants messages of that level.
func Enabled(level Level) bool { return level >= Host.LogLevel }

// Log sends a message to the host's log.
func Log(level Level, msg string) {
	if Enabled(level) {
		Host.Logs = append(Host.Logs, LogEntry{level, msg})
	}
}

// HTTP sends a request. Status 0 means that there was no answer.
func HTTP(r HTTPRequest) HTTPResponse {
	if Host.HTTP == nil {
		return HTTPResponse{}
	}
	return Host.HTTP(r)
}

// HTTPBatch sends requests. The stub answers one after another.
func HTTPBatch(rs []HTTPRequest) ([]HTTPResponse, error) {
	answers := make([]HTTPResponse, len(rs))
	for i, r := range rs {
		if answers[i] = HTTP(r); answers[i].Status == 0 && answers[i].Error == "" {
			answers[i].Error = "network"
		}
	}
	return answers, nil
}

// KVGet returns the value of key.
func KVGet(key string) ([]byte, bool) {
	v, ok := Host.KV[key]
	return v, ok
}

// KVSet stores value under key and returns a status, which is 0 on success. An
// empty value deletes the key.
func KVSet(key string, value []byte) int32 {
	if Host.KVStatus != 0 {
		return Host.KVStatus
	}
	if len(value) == 0 {
		delete(Host.KV, key)
		return 0
	}
	if Host.KV == nil {
		Host.KV = map[string][]byte{}
	}
	Host.KV[key] = append([]byte(nil), value...)
	return 0
}

// CountTokens returns the number of tokens of text.
func CountTokens(text string) int64 {
	if Host.CountTokens != nil {
		return Host.CountTokens(text)
	}
	return int64(len(strings.Fields(text)))
}

// missing is the failure of a service that the stub does not have.
var missing = services.Failure{Error: services.Unavailable, Message: "the test has no such service (pdktest.Services)"}

// Embed makes vectors of texts.
func Embed(q services.EmbedRequest) (services.EmbedAnswer, []float32, error) {
	if Host.Embed == nil {
		return services.EmbedAnswer{Failure: missing}, nil, nil
	}
	a, vectors := Host.Embed(q)
	return a, vectors, nil
}

// Search searches a collection.
func Search(q services.SearchRequest, vector []float32) (services.SearchAnswer, error) {
	if Host.Search == nil {
		return services.SearchAnswer{Failure: missing}, nil
	}
	return Host.Search(q, vector), nil
}

// LLM asks models. The stub answers one request after another.
func LLM(q services.LLMRequests) (services.LLMAnswers, error) {
	var out services.LLMAnswers
	for _, r := range q.Requests {
		a := services.LLMAnswer{Failure: missing}
		if Host.LLM != nil {
			a = Host.LLM(r)
		}
		out.Responses = append(out.Responses, a)
	}
	return out, nil
}
