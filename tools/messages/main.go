// Command messages makes and checks the evidence that anchor-host handles the messages of the
// world: see README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/anchor-host/anchor-host/internal/testkit/msgtest"
	"github.com/anchor-host/anchor-host/tools/messages/client"
	"github.com/anchor-host/anchor-host/tools/messages/judge"
	"github.com/anchor-host/anchor-host/tools/messages/redact"
)

const usage = `usage:
  messages judge FORM [FILE...]            say which bodies the API would refuse, and why
  messages generate [-simple] FORM SEED N  print a body with N messages
  messages record [-bin DIR] OUT           run the clients and keep some requests, redacted, in OUT
  messages clients [-bin DIR] COMMAND      run the clients and judge what COMMAND makes of each request
  messages agents [-bin DIR] [-show] COMMAND
                                           connect the clients to COMMAND, run sessions, and judge what their APIs get
  messages peers [-python P] COMMAND       truncate histories with other libraries and with COMMAND, and judge all
forms: anthropic, openai, openai-responses, gemini`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "messages:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	switch args[0] {
	case "judge":
		return judgeFiles(args[1:])
	case "generate":
		return generate(args[1:])
	case "record":
		return record(args[1:])
	case "peers":
		return peers(args[1:])
	case "agents":
		return agents(args[1:])
	case "clients":
		return clients(args[1:])
	}
	return errors.New(usage)
}

// judgeFiles judges each file, or stdin.
func judgeFiles(args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}
	files := args[1:]
	if len(files) == 0 {
		files = []string{"/dev/stdin"}
	}
	refused := 0
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := judge.Accept(args[0], body); err != nil {
			refused++
			fmt.Printf("%s: %v\n", name, err)
		}
	}
	if refused > 0 {
		return fmt.Errorf("%d of %d bodies refused", refused, len(files))
	}
	return nil
}

// generate prints one generated body.
func generate(args []string) error {
	flags := flag.NewFlagSet("generate", flag.ContinueOnError)
	simple := flags.Bool("simple", false, "text, images and calls only, as plain JSON")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 3 {
		return errors.New(usage)
	}
	seed, err1 := strconv.ParseUint(flags.Arg(1), 10, 64)
	n, err2 := strconv.Atoi(flags.Arg(2))
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	_, err := os.Stdout.Write(msgtest.Body(msgtest.Options{Form: flags.Arg(0), Seed: seed, Messages: n, Simple: *simple}))
	return err
}

// record runs each client and writes an early and the last of its requests, redacted, to
// OUT/CLIENT-early.json and OUT/CLIENT-last.json.
func record(args []string) error {
	flags := flag.NewFlagSet("record", flag.ContinueOnError)
	bin := binFlag(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() != 1 {
		return errors.New(usage)
	}
	return eachClient(*bin, func(c *client.Client, bodies [][]byte) error {
		for name, body := range map[string][]byte{"early": bodies[1], "last": bodies[len(bodies)-1]} {
			small, err := redact.Body(body)
			if err != nil {
				return err
			}
			if err := judge.Accept(c.Form, small); err != nil {
				return fmt.Errorf("%s, %s request, redacted: %w", c.Name, name, err)
			}
			file := filepath.Join(flags.Arg(0), c.Name+"-"+name+".json")
			if err := os.WriteFile(file, append(small, '\n'), 0o644); err != nil {
				return err
			}
			fmt.Printf("%s: %d bytes\n", file, len(small))
		}
		return nil
	})
}

func binFlag(flags *flag.FlagSet) *string {
	return flags.String("bin", "node_modules/.bin", "folder with the commands of the clients")
}

// eachClient runs the clients and calls f with the requests of each.
func eachClient(bin string, f func(c *client.Client, bodies [][]byte) error) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	for i := range client.Clients {
		if err := oneClient(bin, &client.Clients[i], f); err != nil {
			return err
		}
	}
	return nil
}

func oneClient(bin string, c *client.Client, f func(c *client.Client, bodies [][]byte) error) error {
	dir, err := os.MkdirTemp("", "client")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bodies, err := c.Run(context.Background(), bin, dir)
	if err != nil {
		return err
	}
	return f(c, bodies)
}
