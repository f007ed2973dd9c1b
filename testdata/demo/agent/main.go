// Command agent takes a conversation of 60 turns through "anchor-host assemble". It prints
// the tokens before and after each call, and fails if the provider chain breaks a promise.
// `make demo-assemble` runs it.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/anchor-host/anchor-host/internal/testkit/agentdemo"
)

func main() {
	command := flag.String("command", "build/anchor-host", "the binary")
	config := flag.String("config", "testdata/demo/agent.yaml", "configuration")
	broken := flag.String("broken", "testdata/demo/agent-broken.yaml", "the same with a provider that fails")
	observing := flag.String("observing", "testdata/demo/agent-observing.yaml", "the same with observations that are made")
	plugins := flag.String("plugins", "build/plugins", "plugin folder")
	flag.Parse()
	if err := run(*command, *config, *broken, *observing, *plugins); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(command, config, broken, observing, plugins string) error {
	dir, err := os.MkdirTemp("", "anchor-host-demo-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return agentdemo.Run(context.Background(), os.Stdout, agentdemo.Options{
		Config: config, Broken: broken, Observing: observing, Command: execute(command),
		Flags: []string{"--plugins", plugins, "--store", filepath.Join(dir, "store.db")},
	})
}

// execute runs the binary.
func execute(command string) agentdemo.Command {
	return func(ctx context.Context, stdin string, args ...string) (code int, stdout, stderr string) {
		var out, messages bytes.Buffer
		cmd := exec.CommandContext(ctx, command, args...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &messages
		err := cmd.Run()
		var exit *exec.ExitError
		switch {
		case errors.As(err, &exit):
			code = exit.ExitCode()
		case err != nil:
			return -1, "", err.Error()
		}
		return code, out.String(), messages.String()
	}
}
