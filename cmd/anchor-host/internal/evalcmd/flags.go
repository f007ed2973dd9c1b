package evalcmd

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
)

// evalFlags are the flags of eval that do not override a key of anchor.yaml.
type evalFlags struct {
	corpus, queries, qrels      string
	questions                   string
	compare, output, html       string
	depths                      []int
	kinds, mounts               []string
	limit, jobs, worst          int
	idMetadata, idCut, idAfter  string
	corpusItems, missing, alert bool
	tune                        bool
	// chosen means that --metric or --k was given.
	chosen bool
}

func (f *evalFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.corpus, "corpus", "", "documents, JSON Lines")
	flags.StringVar(&f.queries, "queries", "", "queries, JSON Lines")
	flags.StringVar(&f.qrels, "qrels", "", "judgements, tab-separated")
	flags.StringVar(&f.questions, "questions", "", "a file of eval init, in the place of these three")
	flags.IntSliceVar(&f.depths, "k", eval.DefaultDepths, "depths of the metrics")
	flags.StringSliceVar(&f.kinds, "metric", eval.DefaultKinds, "metrics: "+strings.Join(eval.Kinds(), ", "))
	flags.IntVar(&f.limit, "limit", 0, "evaluate only the first N queries (default: all)")
	flags.IntVar(&f.jobs, "jobs", 0, "builds at the same time (default: one per processor)")
	flags.StringVar(&f.compare, "compare", "", "a second configuration to compare with")
	cli.FormatFlagVar(cmd, &f.output, "output: table or json", "table", "json")
	flags.StringVar(&f.html, "html", "", "write a report as one HTML page to this file")
	flags.IntVar(&f.worst, "worst", 10, "how many of the worst queries to list")
	flags.StringArrayVar(&f.mounts, "mount", nil, "give a plugin instance the corpus: INSTANCE or INSTANCE=/guest/path")
	flags.BoolVar(&f.corpusItems, "corpus-items", false, "give every build the whole corpus as items")
	flags.StringVar(&f.idMetadata, "id-metadata", eval.DefaultIDMetadata, "metadata key of an item's document id")
	flags.StringVar(&f.idCut, "id-cut", "", `end document ids at this text, such as "#" for chunks named guide.md#2`)
	flags.StringVar(&f.idAfter, "id-after", "", `begin document ids behind this text, such as "#" for records named corpus.jsonl#42`)
	flags.BoolVar(&f.tune, "tune", false, "find good numbers for retrievers of collections and for weights of merged retrievers")
	flags.BoolVar(&f.missing, "allow-missing", false, "count judgements of documents and queries that do not exist")
	flags.BoolVar(&f.alert, "strict", false, "exit with 8 when a step or another part was skipped for any query")
	cmd.MarkFlagsOneRequired("questions", "corpus")
	cmd.MarkFlagsRequiredTogether("corpus", "queries", "qrels")
	for _, other := range []string{"corpus", "queries", "qrels", "corpus-items", "mount"} {
		cmd.MarkFlagsMutuallyExclusive("questions", other)
	}
	cmd.MarkFlagsMutuallyExclusive("mount", "corpus-items")
	for _, other := range []string{"compare", "html", "corpus-items"} {
		cmd.MarkFlagsMutuallyExclusive("tune", other)
	}
}

// check refuses values that no evaluation can have.
func (f *evalFlags) check(cmd *cobra.Command) error {
	f.chosen = cmd.Flags().Changed("metric") || cmd.Flags().Changed("k")
	for _, n := range []struct {
		flag  string
		value int
	}{{"limit", f.limit}, {"jobs", f.jobs}, {"worst", f.worst}} {
		if n.value < 0 {
			return cli.Usagef(cmd, "flag --%s: want a whole number, 0 or more, got %d", n.flag, n.value)
		}
	}
	if _, err := eval.Metrics(f.kinds, f.depths); err != nil {
		return cli.UsageError(cmd, err)
	}
	return nil
}

// options returns the options of the evaluation without its files. Tuning has one metric, which
// is the default of [anchor.App.Tune] unless a flag says otherwise.
func (f *evalFlags) options() anchor.EvaluateOptions {
	o := anchor.EvaluateOptions{
		CorpusItems: f.corpusItems, Limit: f.limit, AllowMissing: f.missing, Metrics: f.kinds, Depths: f.depths,
		Concurrency: f.jobs, IDMetadata: f.idMetadata, IDCut: f.idCut, IDAfter: f.idAfter,
	}
	if f.tune && !f.chosen {
		o.Metrics, o.Depths = nil, nil
	}
	return o
}
