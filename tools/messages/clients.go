package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/anchor-host/anchor-host/tools/messages/client"
	"github.com/anchor-host/anchor-host/tools/messages/judge"
)

// budgets are those that each request is assembled for: too small for the conversation, so that
// something must go, and one that holds all.
var budgets = []string{"300", "600", "1200", "1000000"}

// clients runs each client, passes each request through `COMMAND assemble` with several
// budgets, and judges what comes out.
func clients(args []string) error {
	flags := flag.NewFlagSet("clients", flag.ContinueOnError)
	bin := binFlag(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New(usage)
	}
	failed := 0
	err := eachClient(*bin, func(c *client.Client, bodies [][]byte) error {
		outputs, refused := 0, 0
		for i, body := range bodies {
			if err := judge.Accept(c.Form, body); err != nil {
				return fmt.Errorf("%s: request %d as the client sent it: %w", c.Name, i, err)
			}
			for _, budget := range budgets {
				outputs++
				out, err := assemble(flags.Arg(0), c.Form, budget, body)
				if err == nil {
					err = judge.Accept(c.Form, out)
				}
				if err == nil {
					err = judge.Unchanged(c.Form, body, out)
				}
				if err != nil {
					refused++
					fmt.Printf("%s: request %d in %s tokens: %v\n", c.Name, i, budget, err)
				}
			}
		}
		fmt.Printf("%s: %d requests, %d outputs, %d refused\n", c.Name, len(bodies), outputs, refused)
		failed += refused
		return nil
	})
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d outputs refused", failed)
	}
	return err
}

// assemble runs `COMMAND assemble` on a body and returns the body that it prints.
func assemble(command, form, budget string, body []byte) ([]byte, error) {
	return output(command, body, "assemble", "--to", form, "--max-tokens", budget)
}

func output(command string, stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.Command(command, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Env = append(os.Environ(), "ANCHOR_HOST_CONFIG=")
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("assemble: %w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return out, err
}

// inHome runs a command with a home folder and a working folder of its own, and returns its output, or what it said if it has none.
func inHome(command, home, dir string, args ...string) (string, error) {
	cmd := exec.Command(command, args...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "CLAUDE_CONFIG_DIR=" + home + "/.claude", "CODEX_HOME=" + home + "/.codex"}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	if out.Len() == 0 {
		return errs.String(), nil
	}
	return out.String(), nil
}
