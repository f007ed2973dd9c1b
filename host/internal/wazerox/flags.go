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

// OneWorker has wazero compile with the goroutine that asks for it, whose panics can be
// recovered. Those of others cannot.
func OneWorker(ctx context.Context) context.Context {
	return experimental.WithCompilationWorkers(ctx, 1)
}

// probeTailCalls compiles a function that ends with a tail call.
func probeTailCalls(l *lab) error {
	return l.compiles("\x00asm\x01\x00\x00\x00" +
		"\x01\x05\x01\x60\x00\x01\x7f" +
		"\x03\x03\x02\x00\x00" +
		"\x0a\x0b\x02\x04\x00\x12\x01\x0b\x04\x00\x41\x01\x0b")
}

// noExtendedConst says why there are no extended constant expressions.
func noExtendedConst(bool) string {
	if extendedConst == 0 {
		return "this wazero has no flag for them"
	}
	return ""
}

// probeExtendedConst compiles a global that is the sum of two constants.
func probeExtendedConst(l *lab) error {
	return l.compiles("\x00asm\x01\x00\x00\x00" +
		"\x06\x09\x01\x7f\x00\x41\x01\x41\x02\x6a\x0b")
}

// compiles compiles a module and closes it.
func (l *lab) compiles(wasm string) error {
	compiled, err := l.rt.CompileModule(l.ctx, []byte(wasm))
	if err != nil {
		return err
	}
	return compiled.Close(l.ctx)
}
