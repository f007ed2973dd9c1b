//go:build !wasip1

package pdktest

import (
	"testing"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/imports"
)

// Services are what the host offers to a plugin under test. The zero value has
// nothing stored, answers no HTTP request and counts words as tokens.
type Services struct {
	// Config is what pdk.Config reads.
	Config map[string]string
	// HTTP answers pdk.HTTP. nil is a server that does not answer.
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

// Logs returns what the plugin has logged.
func (s *Services) Logs() []Log {
	logs := make([]Log, len(s.stub.Logs))
	for i, l := range s.stub.Logs {
		logs[i] = Log{Level: pdk.Level(l.Level), Text: l.Text}
	}
	return logs
}
