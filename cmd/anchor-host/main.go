// Command anchor-host builds token-budgeted context windows with plugins that
// run in a WebAssembly sandbox.
//
// Data goes to stdout, messages to stderr. A value comes from the flag, else from the environment
// (ANCHOR_HOST_*), else from anchor.yaml, else from the default.
//
// # Exit codes
//
//	0    ok
//	1    failure
//	2    wrong usage of the command line
//	3    invalid configuration, request, manifest or ABI
//	5    permission refused
//	6    not found
//	7    deadline or limit exceeded
//	8    degraded: --strict was given and a step or another part was skipped
//	130  interrupted
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(doMain(signalContext(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// signalContext returns a context that the first signal cancels. The second signal ends the
// program at once.
func signalContext() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx
}

// doMain runs one command line and returns the exit code. ctx ends when the
// user interrupts.
func doMain(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := newApp(ctx, stdin, stdout, stderr)
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(a.Err)
	cmd, err := root.ExecuteContextC(ctx)
	return a.Finish(ctx, cmd, err)
}
