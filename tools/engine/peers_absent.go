//go:build nopeers

package main

import "context"

// The suite is built with this file where the modules of the peers are not available. Rows
// that need them declare needPeers, so that no row calls anything here.

const peersBuiltIn = false

type sdkCompiled struct{}

type sdkPlugin struct{}

func (sdkPlugin) call(context.Context, string, []byte) ([]byte, error) { return nil, errAbsent }

func (sdkPlugin) Close(context.Context) error { return errAbsent }

func (*suite) compileSDK(context.Context, []byte, uint64) (*sdkCompiled, error) {
	return nil, errAbsent
}

func sdkInstance(context.Context, *sdkCompiled) (sdkPlugin, error) { return sdkPlugin{}, errAbsent }

func (*suite) loadSDK(context.Context, []byte) (sdkPlugin, error) { return sdkPlugin{}, errAbsent }

type grpcCaller struct{}

func (grpcCaller) call(context.Context, string, []byte) ([]byte, error) { return nil, errAbsent }

func (*suite) startSubprocess() (grpcCaller, error) { return grpcCaller{}, errAbsent }

func serveGRPC() {}
