//go:build !wasip1

package pdktest

import (
	"testing"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/imports"
)

// Services are the services of the host for a plugin under test. The zero value has an empty
// store, answers no HTTP request and counts words as tokens.
type Services struct {
	// Config holds the values that pdk.Config returns.
	Config map[string]string
	// HTTP answers pdk.HTTP, and each request of pdk.HTTPBatch, one after another. Status 0
	// stands for no answer; Error then says why. nil means that no server answers.
	HTTP func(pdk.HTTPRequest) pdk.HTTPResponse
	// CountTokens answers pdk.CountTokens. nil counts words.
	CountTokens func(text string) int
	// KVFull makes pdk.KVSet fail with pdk.ErrQuota.
	KVFull bool

	stub *imports.Stub
}

// Log is one message that the plugin logged.
type Log struct {
	Level pdk.Level
	Text  string
}

// Use offers s to the plugin until the test ends, and returns it.
func Use(tb testing.TB, s Services) *Services {
	tb.Helper()
	s.stub = &imports.Stub{Config: s.Config}
	if s.KVFull {
		s.stub.KVStatus = 1
	}
	if s.HTTP != nil {
		s.stub.HTTP = func(r imports.HTTPRequest) imports.HTTPResponse {
			return imports.HTTPResponse(s.HTTP(pdk.HTTPRequest(r)))
		}
	}
	if s.CountTokens != nil {
		s.stub.CountTokens = func(text string) int64 { return int64(s.CountTokens(text)) }
	}
	previous := imports.Host
	imports.Host = s.stub
	tb.Cleanup(func() { imports.Host = previous })
	return &s
}

// Logs returns the messages that the plugin has logged.
func (s *Services) Logs() []Log {
	logs := make([]Log, len(s.stub.Logs))
	for i, l := range s.stub.Logs {
		logs[i] = Log{Level: pdk.Level(l.Level), Text: l.Text}
	}
	return logs
}
