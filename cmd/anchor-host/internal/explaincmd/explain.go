// Package explaincmd implements "anchor-host explain", and the explanations that "anchor-host
// build" prints: what happened to each item of a build, how two builds differ, and how much
// of the previous build a prompt cache can reuse.
package explaincmd

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// Command returns "explain".
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [flags] A.json [B.json]",
		Short: "Tell why each item of a build is where it is, or how two builds differ",
		Long: `Print the trace of every item of a build. A trace shows which step added, moved,
rescored, rewrote or dropped the item, and the version of the step's plugin. If
the item was left out, it also shows which budget it exceeded, by how many tokens,
and which items used that budget.

With two builds, print the difference between their windows: which items were
added, removed or moved, which changed score, priority, tokens or text, the
reasons, and the change in tokens.

The files are results of "anchor-host build -o json" or "build --request"; one of
the two may be - for stdin. Results have traces if they are built with --explain (in a
request: "explain": true); without traces the difference has no reasons.`,
		Example: `  anchor-host build --explain -o json "how do I cancel a request?" > a.json
  anchor-host explain a.json
  anchor-host explain a.json b.json`,
		Args: cobra.RangeArgs(1, 2),
	}
	format := cli.FormatFlag(cmd, "text", "json")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		if err := cli.CheckFormat(cmd, *format, "text", "json"); err != nil {
			return err
		}
		if len(args) == 2 && args[0] == "-" && args[1] == "-" {
			return cli.Usagef(cmd, "only one of the builds can come from stdin")
		}
		return explainFiles(a, *format, args)
	})
	return cmd
}

// explainFiles prints what happened to the items of one build, or how two builds differ.
func explainFiles(a *cli.App, format string, paths []string) error {
	builds := make([]*builtDoc, len(paths))
	for i, path := range paths {
		var err error
		if builds[i], err = readBuilt(a, path); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	var err error
	switch {
	case len(builds) == 2:
		d := diffBuilds(builds[0], builds[1])
		if format == "json" {
			err = cli.WriteJSON(&b, d)
		} else {
			writeDiff(&b, &d)
		}
	case builds[0].traces == nil:
		err = builds[0].noTraces()
	case format == "json":
		err = cli.WriteJSON(&b, struct {
			File  string              `json:"file"`
			Items []explain.ItemTrace `json:"items"`
		}{builds[0].name, builds[0].traces})
	default:
		writeTraces(&b, builds[0])
	}
	if err != nil {
		return err
	}
	return a.EmitText(&b)
}

// writeTraces writes each trace as a heading and one line for each event.
func writeTraces(b *bytes.Buffer, d *builtDoc) {
	b.WriteString(d.headline() + "\n")
	for i := range d.traces {
		s := &d.traces[i]
		fmt.Fprintf(b, "\n%s  %s  %s, priority %d, score %s, %d tokens  %s\n",
			outcomeWords[s.Outcome], cli.OneCell(s.ID), s.Source, s.Priority, score(s.Score), s.Tokens, cli.Excerpt(s.Excerpt))
		for j := range s.Events {
			b.WriteString("    " + sentence(&s.Events[j]) + "\n")
		}
	}
}

// outcomeWords are the outcomes in the words of the output.
var outcomeWords = map[explain.Outcome]string{
	explain.InWindow: "in", explain.OutOfWindow: "left out", explain.DroppedByStep: "dropped", explain.Undecided: "undecided",
}
