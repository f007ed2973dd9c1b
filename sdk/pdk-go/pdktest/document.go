//go:build !wasip1

package pdktest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/settings"
)

// Document calls the handler of an operation that works on one JSON document. request is one
// of the request types of package abi, Reply the matching reply type. The error is that of
// the handler. If reply and error are nil, there is no change, or the operation has no
// answer.
//
//	reply, err := pdktest.Document[abi.ClassifyReply]("classify",
//		abi.QueryRequest{Query: abi.Query{Text: "go test"}})
func Document[Reply any](op abi.Operation, request any) (*Reply, error) {
	exports, ok := serve.Lookup(op)
	if !ok {
		return nil, fmt.Errorf("%s: no such operation (import its package)", op)
	}
	in, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	out, err := call(exports.JSON, in)
	if err != nil || out == nil {
		return nil, err
	}
	reply := new(Reply)
	if err := json.Unmarshal(out, reply); err != nil {
		return nil, fmt.Errorf("%s: decode reply: %w", op, err)
	}
	return reply, nil
}

// Init configures the plugin: it runs the handler of package setup with the
// given settings, a struct or a map.
func Init(initSettings any) error {
	raw, err := json.Marshal(initSettings)
	if err != nil {
		return err
	}
	_, err = Document[struct{}](abi.OpInit, abi.InitRequest{Settings: raw})
	return err
}

// Isolate removes all handlers and init settings, and restores the handlers when the test
// ends. It is for tests that register handlers of their own.
func Isolate(tb testing.TB) {
	tb.Helper()
	restore := serve.Reset()
	settings.SetInit(nil)
	tb.Cleanup(func() {
		restore()
		settings.SetInit(nil)
	})
}
