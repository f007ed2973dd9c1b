//go:build !nopeers

package main

import (
	"context"
	"io"
	"os"
	"os/exec"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// echoMethod is the only method of the subprocess's service. Its messages are BytesValue,
// which is part of protobuf, so that no code must be generated.
const echoMethod = "/engine.Echo/Echo"

var handshake = plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "ANCHOR_ENGINE", MagicCookieValue: "echo"}

// grpcEcho is the plugin, on both sides.
type grpcEcho struct{ plugin.NetRPCUnsupportedPlugin }

// GRPCServer implements plugin.GRPCPlugin in the subprocess.
func (grpcEcho) GRPCServer(_ *plugin.GRPCBroker, server *grpc.Server) error {
	server.RegisterService(&grpc.ServiceDesc{
		ServiceName: "engine.Echo", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Echo", Handler: answer}},
	}, struct{}{})
	return nil
}

// GRPCClient implements plugin.GRPCPlugin on this side.
func (grpcEcho) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return conn, nil
}

func answer(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) { //nolint:revive // the signature is grpc's
	var in wrapperspb.BytesValue
	if err := decode(&in); err != nil {
		return nil, err
	}
	return &in, nil
}

// serveGRPC is the main function of the subprocess.
func serveGRPC() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: handshake, Plugins: plugin.PluginSet{"echo": grpcEcho{}}, GRPCServer: plugin.DefaultGRPCServer,
		Logger: hclog.NewNullLogger(),
	})
}

// grpcCaller calls the subprocess.
type grpcCaller struct{ conn *grpc.ClientConn }

func (c grpcCaller) call(ctx context.Context, _ string, input []byte) ([]byte, error) {
	var out wrapperspb.BytesValue
	if err := c.conn.Invoke(ctx, echoMethod, wrapperspb.Bytes(input), &out); err != nil {
		return nil, err
	}
	return out.Value, nil
}

// startSubprocess starts this program as a plugin and keeps it until the row is measured.
func (s *suite) startSubprocess() (grpcCaller, error) {
	self, err := os.Executable()
	if err != nil {
		return grpcCaller{}, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), roleVariable+"="+roleGRPC)
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: handshake, Plugins: plugin.PluginSet{"echo": grpcEcho{}}, Cmd: cmd,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC}, Logger: hclog.New(&hclog.LoggerOptions{Output: io.Discard}),
	})
	s.later(client.Kill)
	protocol, err := client.Client()
	if err != nil {
		return grpcCaller{}, err
	}
	conn, err := protocol.Dispense("echo")
	if err != nil {
		return grpcCaller{}, err
	}
	return grpcCaller{conn.(*grpc.ClientConn)}, nil
}
