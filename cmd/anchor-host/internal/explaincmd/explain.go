// Package explaincmd implements "anchor-host explain", and the explanations that "anchor-host
// build" prints: what happened to each item of a build, how two builds differ, and how much
// of the previous build a prompt cache can reuse.
package explaincmd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/records"
	"github.com/anchor-host/anchor-host/internal/builtdoc"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/explain/svg"
	"github.com/anchor-host/anchor-host/store"
)

// flags are those of explain.
type flags struct {
	svg       string
	asRequest bool
	format    *string
}

// Command returns "explain".
func Command(a *cli.App) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "explain [flags] BUILD [BUILD]",
		Short: "Explain where each item of a build is, or how two builds differ",
		Long: `Print what happened to every item of a build: which step added, moved, rescored,
rewrote or dropped it, and which budget it exceeded. With two builds, print which items
were added, removed, moved or changed, and why.

A build is the file of its result (build --explain -o json; - is stdin), or the ID of a
record that "builds list" prints. Of a record, -o json prints all, and --as-request the
document that "build --request -" builds again, if the record has texts.

--svg draws the window to scale and the time of each step, or the two windows above each
other.`,
		Example: `  anchor-host build --explain -o json "how do I cancel a request?" > a.json
  anchor-host explain a.json
  anchor-host explain a.json b.json
  anchor-host explain --svg build.svg 0197f3c2-1c1e-7b52-8f0e-6a9a3f5f7c11`,
		Args: cobra.RangeArgs(1, 2),
	}
	cli.ConfigFlag(cmd)
	records.Flags(cmd)
	f.format = cli.FormatFlag(cmd, "text", "json")
	cmd.Flags().StringVar(&f.svg, "svg", "", "draw the builds as SVG into this file (- for stdout, in place of the text)")
	cmd.Flags().BoolVar(&f.asRequest, "as-request", false, "print the request of a record")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		if len(args) == 2 && args[0] == "-" && args[1] == "-" {
			return cli.Usagef(cmd, "only one of the builds can come from stdin")
		}
		if f.asRequest && (len(args) == 2 || !isRecord(args[0])) {
			return cli.Usagef(cmd, "--as-request needs the ID of one record")
		}
		return f.explain(a, cmd, args)
	})
	return cmd
}

// explain prints what happened to the items of one build, or how two builds differ. It draws the
// builds into a file if one is named.
func (f *flags) explain(a *cli.App, cmd *cobra.Command, args []string) error {
	docs := make([]*builtdoc.Doc, len(args))
	var record *builds.Record
	for i, arg := range args {
		var err error
		if isRecord(arg) {
			record, docs[i], err = f.readRecord(a, cmd, arg)
		} else {
			docs[i], err = readBuilt(a, arg)
		}
		if err != nil {
			return err
		}
	}
	if f.asRequest {
		return printRequest(a, record)
	}
	if f.svg != "" {
		drawings := docs[0].Drawings()
		if len(docs) == 2 {
			drawings = []svg.Drawing{builtdoc.DrawDiff(docs[0], docs[1])}
		}
		err := cli.Draw(a, f.svg, drawings...)
		if err != nil || f.svg == "-" || len(docs) == 1 && record == nil && docs[0].Traces == nil {
			return err
		}
	}
	if len(docs) == 2 {
		return cli.EmitDiff(a, *f.format, docs[0], docs[1])
	}
	var b bytes.Buffer
	var err error
	switch {
	case record != nil && *f.format == "json":
		err = cli.WriteJSON(&b, record)
	case record != nil:
		cli.Table(&b, nil, rows(record))
		b.WriteString("\n")
		cli.WriteTraces(&b, docs[0])
	case docs[0].Traces == nil:
		err = docs[0].NoTraces()
	case *f.format == "json":
		err = cli.WriteJSON(&b, struct {
			File  string              `json:"file"`
			Items []explain.ItemTrace `json:"items"`
		}{docs[0].Name, docs[0].Traces})
	default:
		cli.WriteTraces(&b, docs[0])
	}
	if err != nil {
		return err
	}
	return a.EmitText(&b)
}

// isRecord reports whether an argument is the ID of a record: a program may have given it any. It looks like
// no path, and no file has its name.
func isRecord(arg string) bool {
	if arg == "-" || strings.ContainsAny(arg, `/\`) || strings.HasSuffix(arg, ".json") {
		return false
	}
	_, err := os.Stat(arg)
	return errors.Is(err, fs.ErrNotExist)
}

// readRecord reads the record of a build from the store, and its result if it is to be shown.
func (f *flags) readRecord(a *cli.App, cmd *cobra.Command, id string) (r *builds.Record, d *builtdoc.Doc, err error) {
	err = records.With(a, cmd, func(app *anchor.App) error {
		if r, err = app.BuildRecord(cmd.Context(), "", id); err == nil && !f.asRequest {
			d, err = builtdoc.Recorded(r.ID, r.Detail.Result, r.Content)
		}
		return err
	})
	return r, d, err
}

// readBuilt reads the result of a build from a file.
func readBuilt(a *cli.App, path string) (*builtdoc.Doc, error) {
	name, data, err := a.ReadAll(path, "build", builtdoc.MaxBytes)
	if err != nil {
		return nil, err
	}
	return builtdoc.Decode(name, data)
}

// printRequest prints the request of a build.
func printRequest(a *cli.App, r *builds.Record) error {
	switch {
	case !r.Content:
		return fmt.Errorf("build %s: %w: its request (records keep it with content: true under records)", r.ID, store.ErrNotFound)
	case r.Detail.Request == nil:
		return fmt.Errorf("build %s: %w: its request (it was built without a request document, or the record was too large)", r.ID, store.ErrNotFound)
	}
	return a.Emit(bytes.NewBuffer(append(r.Detail.Request, '\n')))
}

// rows are the figures of a record.
func rows(r *builds.Record) [][]string {
	list := [][]string{
		{"build", r.ID}, {"question", cli.Dash(r.Query)}, {"ended", r.Time.UTC().Format(time.RFC3339Nano)}, {"user", cli.Dash(r.User)}, {"key", cli.Dash(r.Key)}, {"request id", cli.Dash(r.RequestID)},
		{"cost", records.Cost(&r.Summary)}, {"pipeline", cli.Dash(r.Pipeline)}, {"conversation", cli.Dash(r.Conversation)},
		{"outcome", records.Outcome(&r.Summary)}, {"items in the window", fmt.Sprintf("%d of %d", r.Included, r.Considered)},
		{"tokens", fmt.Sprintf("%d of %d", r.UsedTokens, r.MaxTokens)}, {"time", cli.Millis(r.TookMS)}, {"fuel", cli.Fuel(r.Fuel)},
		{"generation", r.Generation}, {"request", r.Request}, {"texts are kept", strconv.FormatBool(r.Content)},
	}
	if r.Detail.LeftOut != "" {
		list = append(list, []string{"too large, left out", r.Detail.LeftOut})
	}
	return list
}
