package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/eval"
	"github.com/anchor-host/anchor-host/pipeline"
)

// maxCorpusItems bounds a corpus that is handed to every build: beyond it a
// retriever is what is wanted.
const maxCorpusItems = 10_000

// corpusMount is where guests find the corpus, unless it is said otherwise.
const corpusMount = "/docs"

// evaluation is one run of eval.
type evaluation struct {
	app     *app
	flags   *evalFlags
	options eval.Options
	set     *eval.Set
	// items is the corpus as items, stage the folder that holds only the corpus.
	items []pipeline.Item
	stage string
}

// read reads corpus, queries and judgements.
func (e *evaluation) read() error {
	f := e.flags
	var keep func(eval.Document) error
	if f.corpusItems {
		e.items = []pipeline.Item{}
		keep = e.keep
	}
	corpus, err := readFile(e.app, f.corpus, "corpus", func(name string, r io.Reader) (*eval.Corpus, error) {
		return eval.ReadCorpus(name, r, keep)
	})
	if err != nil {
		return err
	}
	queries, err := readFile(e.app, f.queries, "queries", eval.ReadQueries)
	if err != nil {
		return err
	}
	qrels, err := readFile(e.app, f.qrels, "judgements", eval.ReadQrels)
	if err != nil {
		return err
	}
	e.set, err = eval.Select(corpus, queries, qrels, eval.SelectOptions{Limit: f.limit, AllowMissing: f.missing})
	return err
}

// readFile reads a file of the collection, or stdin.
func readFile[T any](a *app, path, what string, read func(name string, r io.Reader) (T, error)) (T, error) {
	r, name, err := a.Open(path)
	if err != nil {
		var none T
		return none, fmt.Errorf("read %s: %w", what, err)
	}
	defer r.Close()
	return read(name, r)
}

// keep adds a document to the items of every build.
func (e *evaluation) keep(d eval.Document) error {
	if len(e.items) == maxCorpusItems {
		return fmt.Errorf("more than %d documents (--corpus-items is for small collections: let a retriever index this one, see --mount)", maxCorpusItems)
	}
	e.items = append(e.items, pipeline.Item{
		ID: d.ID, Content: strings.TrimSpace(d.Title + "\n" + d.Text), Source: pipeline.SourceRetrieval,
		Priority: pipeline.DefaultItemPriority, Metadata: map[string]any{"doc_id": d.ID, "title": d.Title},
	})
	return nil
}

// report evaluates one configuration, or two and their difference.
func (e *evaluation) report(ctx context.Context, configs []*config.Loaded) (*eval.Report, error) {
	if err := e.checkMounts(configs); err != nil {
		return nil, err
	}
	var runs []*eval.Run
	for _, c := range configs {
		run, err := e.run(ctx, c)
		if err != nil {
			return nil, err
		}
		runs = append(runs, run)
	}
	report := eval.NewReport(runs[0], configName(configs[0]))
	if len(runs) > 1 {
		report.Compare = eval.NewComparison(runs[0], runs[1], configName(configs[1]))
	}
	return report, nil
}

// configName names a configuration in a report.
func configName(c *config.Loaded) string {
	if c.File == "" {
		return "the default configuration"
	}
	return c.File
}

// run builds all queries with one configuration.
func (e *evaluation) run(ctx context.Context, c *config.Loaded) (_ *eval.Run, err error) {
	if err := e.mount(c); err != nil {
		return nil, err
	}
	wait := cli.NewProgress(e.app.App)
	defer wait.Stop()
	wait.Start("starting the plugins")
	app, err := anchor.Open(ctx, c, anchor.Options{Logger: e.app.Logger(&c.Config), OnCompile: wait.Compiling, Lazy: true})
	if err != nil {
		return nil, err
	}
	defer app.Close(context.WithoutCancel(ctx))
	if err := app.Prepare(ctx, ""); err != nil {
		return nil, err
	}
	wait.Stop()
	options := e.options
	options.Ranker.Prefixes = c.PluginNames()
	bar := newEvalProgress(e.app, configName(c))
	defer bar.stop()
	options.Progress = bar.step
	return eval.Evaluate(ctx, &evalBuilder{app, &c.Config, anchor.BuildOptions{
		Items: e.items, Callbacks: []pipeline.Callback{eval.Callback()},
	}}, e.set, options)
}

// evalBuilder builds under the timeout of the configuration.
type evalBuilder struct {
	app     *anchor.App
	config  *config.Config
	options anchor.BuildOptions
}

// Build implements [eval.Builder].
func (b *evalBuilder) Build(ctx context.Context, q pipeline.Query) (*pipeline.Result, error) {
	return cli.Within(ctx, b.config, func(ctx context.Context) (*pipeline.Result, error) { return b.app.Build(ctx, q, b.options) })
}

// splitMount returns the instance of a value of --mount, and where its guest finds the
// corpus.
func splitMount(m string) (instance, guest string) {
	instance, guest, ok := strings.Cut(m, "=")
	if !ok {
		guest = corpusMount
	}
	return instance, guest
}

// checkMounts refuses a mount for an instance that no configuration has. One of two that
// are compared is enough: they may differ by just that instance.
func (e *evaluation) checkMounts(configs []*config.Loaded) error {
	for _, m := range e.flags.mounts {
		name, _ := splitMount(m)
		has := func(c *config.Loaded) bool { _, ok := c.Instances[name]; return ok }
		if slices.ContainsFunc(configs, has) {
			continue
		}
		who := configName(configs[0]) + " has no"
		if len(configs) > 1 {
			who = fmt.Sprintf("neither %s nor %s has an", configName(configs[0]), configName(configs[1]))
		}
		return fmt.Errorf("%w: --mount %s: %s instance %q (name an entry of its instances)", config.ErrInvalid, m, who, name)
	}
	return nil
}

// mount gives the instances that are asked for, and that the configuration has, a folder
// with the corpus.
func (e *evaluation) mount(c *config.Loaded) error {
	for _, m := range e.flags.mounts {
		name, guest := splitMount(m)
		instance, known := c.Instances[name]
		if !known {
			continue
		}
		if err := e.makeStage(); err != nil {
			return err
		}
		grants := slices.DeleteFunc(slices.Clone(instance.Grants.Files), func(g config.FileGrant) bool { return g.Guest == guest })
		instance.Grants.Files = append(grants, config.FileGrant{Host: e.stage, Guest: guest, Mode: "ro"})
		c.Instances[name] = instance
	}
	return nil
}

// makeStage makes the folder that holds the corpus and nothing else.
func (e *evaluation) makeStage() (err error) {
	if e.stage != "" {
		return nil
	}
	if e.stage, err = os.MkdirTemp("", "anchor-host-corpus-*"); err != nil {
		return fmt.Errorf("mount corpus: %w", err)
	}
	if err := copyFile(e.flags.corpus, filepath.Join(e.stage, "corpus.jsonl")); err != nil {
		return fmt.Errorf("mount corpus: %w", err)
	}
	return nil
}

// copyFile makes a copy, or another name for the same file where that is
// possible.
func copyFile(from, to string) error {
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	if os.Link(real, to) == nil {
		return nil
	}
	in, err := os.Open(real)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func (e *evaluation) removeStage() {
	if e.stage != "" {
		_ = os.RemoveAll(e.stage) // a leftover in the temporary folder is no failure
	}
}
