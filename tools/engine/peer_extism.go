//go:build !nopeers

package main

import (
	"context"
	"fmt"

	extism "github.com/extism/go-sdk"
	"github.com/tetratelabs/wazero"
)

// peersBuiltIn says that the suite was built with the modules of its peers.
const peersBuiltIn = true

// sdkPlugin is an instance of a plugin on extism/go-sdk.
type sdkPlugin struct{ *extism.Plugin }

func (p sdkPlugin) call(ctx context.Context, function string, input []byte) ([]byte, error) {
	status, out, err := p.CallWithContext(ctx, function, input)
	if err == nil && status != 0 {
		err = fmt.Errorf("status %d", status)
	}
	return out, err
}

// compileSDK compiles a module and keeps it until the row is measured.
func (s *suite) compileSDK(ctx context.Context, wasm []byte, timeoutMS uint64) (*extism.CompiledPlugin, error) {
	manifest := extism.Manifest{Wasm: []extism.Wasm{extism.WasmData{Data: wasm}}, Timeout: timeoutMS}
	compiled, err := extism.NewCompiledPlugin(ctx, manifest, extism.PluginConfig{EnableWasi: true, RuntimeConfig: s.peerConfig()}, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", goSDK, err)
	}
	s.later(func() {
		if err := compiled.Close(context.Background()); err != nil {
			s.progress("close %s: %v", goSDK, err)
		}
	})
	return compiled, nil
}

// sdkInstance makes an instance with real clocks, as this host has them.
func sdkInstance(ctx context.Context, compiled *extism.CompiledPlugin) (sdkPlugin, error) {
	p, err := compiled.Instance(ctx, extism.PluginInstanceConfig{
		ModuleConfig: wazero.NewModuleConfig().WithSysNanotime().WithSysWalltime(),
	})
	return sdkPlugin{p}, err
}

// loadSDK compiles a module with the timeout and makes an instance.
func (s *suite) loadSDK(ctx context.Context, wasm []byte) (sdkPlugin, error) {
	compiled, err := s.compileSDK(ctx, wasm, sdkTimeout)
	if err != nil {
		return sdkPlugin{}, err
	}
	return sdkInstance(ctx, compiled)
}
