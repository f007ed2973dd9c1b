package wazerox

import (
	"context"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// tailCall has wazero take tail calls. Those of its flags that older versions have not are
// in flags_new.go and flags_old.go.
const tailCall = experimental.CoreFeaturesTailCall

// CoreFeatures are those of WebAssembly that guests may use: 2.0, and what is on besides.
func (s *States) CoreFeatures() api.CoreFeatures {
	features := api.CoreFeaturesV2
	if s.On(TailCalls) {
		features |= tailCall
	}
	if s.On(ExtendedConst) {
		features |= extendedConst
	}
	return features
}

// Workers has wazero compile with n goroutines. With one it is the goroutine that asks for it,
// whose panics can be recovered. Those of others cannot.
func Workers(ctx context.Context, n int) context.Context {
	return experimental.WithCompilationWorkers(ctx, n)
}
