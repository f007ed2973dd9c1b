// Package evalcmd implements "anchor-host eval", which measures retrieval and tunes it.
package evalcmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/atomicfile"
	"github.com/anchor-host/anchor-host/internal/config"
)

// Command returns "eval".
func Command(a *cli.App) *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval [flags] --questions FILE | --corpus FILE --queries FILE --qrels FILE",
		Short: "Measure what retrieval finds and what the budget cut loses",
		Long: `Measure a configuration on your own questions, of which "eval init" writes a file to
edit, or on a collection in the form of BEIR: corpus and queries as JSON
Lines, judgements as lines of query id, document id and grade. Each query is built once,
and its ranking after each step and after the budget cut is compared with the judgements.

The configuration has to retrieve from the same corpus: --mount gives the file to a
plugin, --corpus-items all of it to every build. --compare builds with a second
configuration too, and says which differences are significant. --tune builds nothing, and
finds numbers and weights for retrievers instead. docs/operate.md says how items become
documents, how ties count, and what --tune changes.`,
		Example: `  anchor-host eval init docs
  anchor-host eval --questions questions.jsonl
  anchor-host eval -c anchor.yaml --mount docs --corpus scifact/corpus.jsonl \
    --queries scifact/queries.jsonl --qrels scifact/qrels.tsv --html report.html
  anchor-host eval -c anchor.yaml --compare other.yaml --k 10 --metric ndcg,recall \
    --corpus corpus.jsonl --queries queries.jsonl --qrels qrels.tsv -o json
  anchor-host eval --tune --id-after '#' --corpus corpus.jsonl --queries queries.jsonl --qrels qrels.tsv`,
		Args: cobra.NoArgs,
	}
	cli.HostFlags(cmd)
	cli.WindowFlags(cmd)
	f.register(cmd)
	cmd.RunE = a.Run(func(cmd *cobra.Command, _ []string) error { return run(a, cmd, &f) })
	cmd.AddCommand(initCommand(a))
	return cmd
}

// run runs the command.
func run(a *cli.App, cmd *cobra.Command, f *evalFlags) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	loaded, err := a.Load(cmd)
	if err != nil {
		return err
	}
	configs := []*config.Loaded{loaded}
	if f.compare != "" {
		other, err := loadOther(a, cmd, f.compare)
		if err != nil {
			return err
		}
		configs = append(configs, other)
	}
	e := &evaluation{app: a, flags: f}
	defer e.removeStage()
	if f.tune {
		tuning, err := e.tune(cmd.Context(), loaded)
		if err != nil {
			return err
		}
		return e.finishTuning(tuning)
	}
	report, err := e.evaluate(cmd.Context(), configs)
	if err != nil {
		return err
	}
	if n := e.unedited; n > 0 {
		defer a.Say("warning: %d questions are as eval init wrote them, with the words of the documents: edit them, and delete \"edit\"", n)
	}
	return e.finish(report)
}

// loadOther reads the configuration to compare with, under the same flags.
func loadOther(a *cli.App, cmd *cobra.Command, path string) (*config.Loaded, error) {
	loaded, err := a.LoadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("compare: %w (give --compare the file of another configuration)", err)
	} else if err != nil {
		return nil, err
	}
	return loaded, a.Override(cmd, loaded)
}

// finish prints the report and warns of what makes it less reliable.
func (e *evaluation) finish(r *eval.Report) error {
	var b bytes.Buffer
	if e.flags.output == "json" {
		if err := cli.WriteJSON(&b, r); err != nil {
			return err
		}
	} else {
		writeEvaluation(&b, r, e.flags.worst)
	}
	if e.flags.html != "" {
		if err := writeHTML(e.flags.html, r, e.flags.worst); err != nil {
			return err
		}
	}
	if err := e.app.EmitText(&b); err != nil {
		return err
	}
	skipped := 0
	for _, one := range reportsOf(r) {
		for _, w := range one.Warnings {
			e.app.Say("warning: %s: %s", one.Config, w)
		}
		for _, s := range one.Stages {
			skipped += s.Skipped
		}
		e.app.Say("%s: %d builds, %.1f ms each (median), %.1f ms at the 95th percentile", one.Config, one.Evaluated, one.Times.P50, one.Times.P95)
	}
	if e.flags.html != "" {
		e.app.Say("wrote %s", e.flags.html)
	}
	if e.flags.alert && skipped > 0 {
		return fmt.Errorf("%w: steps skipped %d times (--strict)", cli.ErrDegraded, skipped)
	}
	return nil
}

// writeHTML keeps an existing page if it fails.
func writeHTML(path string, r *eval.Report, worst int) error {
	err := atomicfile.Replace(path, 0o644, func(w io.Writer) error { return anchor.WriteReport(w, r, worst) })
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write report: %w (give --html a file in a folder that exists)", err)
	}
	if err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
