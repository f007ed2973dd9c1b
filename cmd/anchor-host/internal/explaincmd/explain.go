// Package explaincmd implements "anchor-host explain", and the explanations that "anchor-host
// build" prints: what happened to each item of a build, how two builds differ, and how much
// of the previous build a prompt cache can reuse.
package explaincmd

import (
	"bytes"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/builtdoc"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/explain/svg"
)

// Command returns "explain".
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [flags] A.json [B.json]",
		Short: "Explain where each item of a build is, or how two builds differ",
		Long: `Print the trace of every item of a build. A trace shows which step added, moved,
rescored, rewrote or dropped the item, and the version of the step's plugin. If
the item was left out, it also shows which budget it exceeded, by how many tokens,
and which items used that budget.

With two builds, print the difference between their windows: which items were
added, removed or moved, which changed score, priority, tokens or text, the
reasons, and the change in tokens.

The files are results of "anchor-host build -o json" or "build --request"; one of
the two may be - for stdin. Results have traces if they are built with --explain (in a
request: "explain": true); without traces the difference has no reasons.

With --svg FILE also draw the window to scale and the time of each step, or the two
windows above each other. The drawing needs no traces; - is stdout.`,
		Example: `  anchor-host build --explain -o json "how do I cancel a request?" > a.json
  anchor-host explain a.json
  anchor-host explain a.json b.json
  anchor-host explain --svg a.svg a.json`,
		Args: cobra.RangeArgs(1, 2),
	}
	format := cli.FormatFlag(cmd, "text", "json")
	drawing := cmd.Flags().String("svg", "", "draw the builds as SVG into this file (- for stdout, in place of the text)")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 && args[0] == "-" && args[1] == "-" {
			return cli.Usagef(cmd, "only one of the builds can come from stdin")
		}
		return explainFiles(a, *format, *drawing, args)
	})
	return cmd
}

// explainFiles prints what happened to the items of one build, or how two builds differ. It draws
// the builds into a file unless its name is empty.
func explainFiles(a *cli.App, format, drawing string, paths []string) error {
	builds := make([]*builtdoc.Doc, len(paths))
	for i, path := range paths {
		var err error
		if builds[i], err = readBuilt(a, path); err != nil {
			return err
		}
	}
	if drawing != "" {
		drawings := builds[0].Drawings()
		if len(builds) == 2 {
			drawings = []svg.Drawing{builtdoc.DrawDiff(builds[0], builds[1])}
		}
		err := cli.Draw(a, drawing, drawings...)
		if err != nil || drawing == "-" || len(builds) == 1 && builds[0].Traces == nil {
			return err
		}
	}
	if len(builds) == 2 {
		return cli.EmitDiff(a, format, builds[0], builds[1])
	}
	var b bytes.Buffer
	var err error
	switch {
	case builds[0].Traces == nil:
		err = builds[0].NoTraces()
	case format == "json":
		err = cli.WriteJSON(&b, struct {
			File  string              `json:"file"`
			Items []explain.ItemTrace `json:"items"`
		}{builds[0].Name, builds[0].Traces})
	default:
		cli.WriteTraces(&b, builds[0])
	}
	if err != nil {
		return err
	}
	return a.EmitText(&b)
}

// readBuilt reads the result of a build from a file.
func readBuilt(a *cli.App, path string) (*builtdoc.Doc, error) {
	r, name, err := a.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read build: %w", err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, builtdoc.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read build %s: %w", name, err)
	}
	if len(data) > builtdoc.MaxBytes {
		return nil, fmt.Errorf("%w: %s: larger than %d MiB", config.ErrInvalid, name, builtdoc.MaxBytes>>20)
	}
	return builtdoc.Decode(name, data)
}
