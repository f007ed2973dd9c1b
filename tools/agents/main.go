// Command agents measures what agents get from the memory of a project and from its files.
//
//	go -C tools/agents run . files -repos DIR       60 questions about three repositories, beside ripgrep
//	go -C tools/agents run . memory -mem0 PYTHON    questions about long conversations, beside word search and Mem0
//	go -C tools/agents run . secrets                hits and false alarms of the detector of secrets
//	go -C tools/agents run . tree                   a tree that did not change
//	go -C tools/agents run . scale -repos DIR -n 100000   a memory in the folder, which the first call makes
//
// Each prints a line of JSON for each figure, and fails if a target is missed.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "agents:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no measurement (want files, memory, secrets, tree or scale)")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	repos := flags.String("repos", "", "folder with the repositories cobra, flask and fastify")
	part := flags.String("part", "tune", "which questions: tune, last or all")
	mem0 := flags.String("mem0", "", "a Python that has mem0ai; empty leaves Mem0 out")
	n := flags.Int("n", 10_000, "files of the tree")
	verbose := flags.Bool("v", false, "print each miss")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "files":
		return files(ctx, *repos, *part, *verbose)
	case "memory":
		return conversations(ctx, *part, *mem0, *verbose)
	case "secrets":
		return detector(ctx, *repos, *verbose)
	case "scale":
		return scale(ctx, *repos, *n)
	case "tree":
		return tree(ctx, *n)
	}
	return fmt.Errorf("%s: no such measurement (want files, memory, secrets, tree or scale)", args[0])
}

// say prints a result as a line of JSON.
func say(v any) {
	line, _ := json.Marshal(v) // of plain values it never fails
	fmt.Println(string(line))
}
