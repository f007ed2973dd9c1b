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
		Use:   "eval [flags] --corpus FILE --queries FILE --qrels FILE",
		Short: "Measure what retrieval finds and what the budget cut loses",
		Long: `Measure a configuration on a collection in the form of BEIR. Each query is built
once. Its ranking after each step, and after the budget cut, is compared with
judgements. The waterfall shows how each stage changed recall, nDCG and MRR.
Metrics follow the definitions of trec_eval. Those named binary_* treat every
relevant document alike.

  corpus   JSON Lines: {"_id": "42", "title": "…", "text": "…"}
  queries  JSON Lines: {"_id": "7", "text": "…"}
  qrels    query id, document id and grade per line, separated by tabs, with or
           without headings; relevant from grade 1

Queries without relevant documents are left out and counted.

The corpus file supplies the ids of the documents. It must contain every judged
document. The configuration has to retrieve from the same corpus. With --mount
INSTANCE a plugin instance finds the corpus in the read-only folder /docs (or
/guest/path, with INSTANCE=/guest/path). The folder holds only this file and
replaces what the configuration mounts there. With --compare, at least one of the
two configurations must have the instance. With --corpus-items a first step named
"items" gives every build the whole corpus, which must be small.

Items are ranked in the order in which the window is filled: by priority, then by
score. Among equal items the greater document id comes first, as in trec_eval;
with --ties list equal items keep their order. Only items of the source retrieval
count. The metadata key of --id-metadata names the document of an item. An item
without this key is identified by its id, without the name of the plugin instance.

With --compare the same queries are also built with a second configuration. For
each metric the report then shows the difference with its 95 % bootstrap interval,
the p-value of a paired randomisation test, and the numbers of queries with better
and with worse results.

With --tune nothing is built. Instead, numbers are sought for the retrievers of
collections that steps name (k1, b, weight, neighbours, depth), and weights for
the retrievers that a step merges. They are tuned on one half of the queries and
measured on the other one, which a digest of each query's id chooses. The output
has the keys to paste into anchor.yaml. The vectors of the queries are made once,
those of documents never. The metric is the first of --metric at the first depth
of --k; default: ndcg@10.`,
		Example: `  anchor-host eval -c anchor.yaml --mount docs --corpus scifact/corpus.jsonl \
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
