package evalcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/parts"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/errkind"
)

// corpusMount is the default path at which guests find the corpus.
const corpusMount = "/docs"

// evaluation is one run of eval.
type evaluation struct {
	app   *cli.App
	flags *evalFlags
	// stage is the path of the folder that holds only the corpus. It is empty if there is no such
	// folder.
	stage string
	bar   *evalProgress
	// unedited is how many questions nobody has edited.
	unedited int
}

// evaluate measures one configuration, or two and their difference.
func (e *evaluation) evaluate(ctx context.Context, configs []*config.Loaded) (report *eval.Report, err error) {
	err = e.with(ctx, configs, func(fronts []*anchor.App, o anchor.EvaluateOptions) error {
		if len(fronts) > 1 {
			o.Other = fronts[1]
		}
		report, err = fronts[0].Evaluate(ctx, o)
		return err
	})
	return report, err
}

// tune looks for good numbers for one configuration.
func (e *evaluation) tune(ctx context.Context, c *config.Loaded) (found *eval.Tuning, err error) {
	err = e.with(ctx, []*config.Loaded{c}, func(fronts []*anchor.App, o anchor.EvaluateOptions) error {
		found, err = fronts[0].Tune(ctx, o)
		return err
	})
	return found, err
}

// with opens the files of the evaluation and loads the configurations, and calls f with both.
func (e *evaluation) with(ctx context.Context, configs []*config.Loaded, f func([]*anchor.App, anchor.EvaluateOptions) error) error {
	o := e.flags.options()
	for _, file := range []struct {
		what, path string
		to         *io.Reader
	}{{"corpus", e.flags.corpus, &o.Corpus}, {"queries", e.flags.queries, &o.Queries}, {"judgements", e.flags.qrels, &o.Qrels}, {"questions", e.flags.questions, &o.Questions}} {
		if file.path == "" {
			continue // either the questions or the others
		}
		r, name, err := e.app.Open(file.path)
		if err != nil {
			return fmt.Errorf("read %s: %w", file.what, err)
		}
		defer r.Close()
		*file.to = namedReader{r, name}
	}
	if o.Questions != nil {
		if err := e.countUnedited(&o.Questions); err != nil {
			return err
		}
	}
	if err := e.checkMounts(configs); err != nil {
		return err
	}
	wait := cli.NewProgress(e.app)
	defer wait.Stop()
	wait.Start("starting the plugins")
	var fronts []*anchor.App
	for _, c := range configs {
		front, err := e.open(ctx, c, wait)
		if err != nil {
			return err
		}
		defer front.Close(context.WithoutCancel(ctx))
		fronts = append(fronts, front)
	}
	defer e.endProgress()
	o.Progress = func(config string, done, total int) {
		wait.Stop()
		e.progress(config, done, total)
	}
	return f(fronts, o)
}

// countUnedited counts the questions that are as they were made.
func (e *evaluation) countUnedited(questions *io.Reader) error {
	from := (*questions).(namedReader)
	data, err := io.ReadAll(from)
	if err != nil {
		return fmt.Errorf("read questions: %w", err)
	}
	list, err := eval.ReadQuestions(from.name, bytes.NewReader(data))
	if err != nil {
		return errkind.As(config.ErrInvalid, err)
	}
	for i := range list {
		if list[i].Edit {
			e.unedited++
		}
	}
	*questions = namedReader{bytes.NewReader(data), from.name}
	return nil
}

// namedReader is a reader with a name for error messages.
type namedReader struct {
	io.Reader
	name string
}

// Name returns the name.
func (r namedReader) Name() string { return r.name }

// open loads a configuration and mounts the corpus for the instances that --mount names.
func (e *evaluation) open(ctx context.Context, c *config.Loaded, wait *cli.Progress) (*anchor.App, error) {
	var mounts []anchor.Mount
	for _, m := range e.flags.mounts {
		name, guest := splitMount(m)
		if _, known := c.Plugins.Instances[name]; !known {
			continue
		}
		if err := e.makeStage(); err != nil {
			return nil, err
		}
		mounts = append(mounts, anchor.Mount{Instance: name, Folder: e.stage, Guest: guest})
	}
	return anchor.Open(ctx, c, anchor.Options{
		Logger: e.app.Logger(&c.Config), OnCompile: wait.Compiling, Lazy: true, Mounts: mounts, Components: parts.Components(c),
	})
}

// progress shows how many builds of a configuration are done.
func (e *evaluation) progress(config string, done, total int) {
	if e.bar == nil || e.bar.what != cli.OneCell(config) || done == 1 {
		e.endProgress()
		e.bar = newEvalProgress(e.app, config)
	}
	e.bar.step(done, total)
}

func (e *evaluation) endProgress() {
	if e.bar != nil {
		e.bar.stop()
	}
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

// configName names a configuration as a report does.
func configName(c *config.Loaded) string {
	if c.File == "" {
		return "the default configuration"
	}
	return c.File
}

// checkMounts refuses a mount for an instance that no configuration has. Of two compared
// configurations only one must have the instance: they may differ by just that instance.
func (e *evaluation) checkMounts(configs []*config.Loaded) error {
	for _, m := range e.flags.mounts {
		name, _ := splitMount(m)
		has := func(c *config.Loaded) bool { _, ok := c.Plugins.Instances[name]; return ok }
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

// copyFile makes a hard link to the file, or copies it where links are not possible.
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
		_ = os.RemoveAll(e.stage) // a file left in the temporary folder does no harm
	}
}
