package plugincmd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/authoring"
)

// devFlags are the flags of "plugin dev".
type devFlags struct {
	testFlags
	build   authoring.BuildOptions
	release bool
	once    bool
}

// lookEvery is the pause between two looks at the files. An editor writes several at once, so a
// change counts when nothing has changed for settled.
const (
	lookEvery = 40 * time.Millisecond
	settled   = 15 * time.Millisecond
)

func devCommand(a *cli.App) *cobra.Command {
	f := devFlags{testFlags: testFlags{callFlags: callFlags{repeat: 1}}}
	cmd := &cobra.Command{
		Use:   "dev [flags] [FOLDER]",
		Short: "Build and test a plugin whenever its files change",
		Long: `Watch the plugin project in FOLDER, by default the current folder. After each change
build it, test it as "plugin test --short" does, and measure what a call costs. The first
verdict is printed in full, later ones only as far as they differ. Rust and
AssemblyScript are built without optimizations into build/dev, unless --release is given.

Files are compared by size and time. Folders such as build, target and node_modules are
not watched. With -o json each round is one line of JSON.`,
		Example: `  anchor-host plugin dev keep-best
  anchor-host plugin dev --once -o json keep-best`,
		Args: cobra.MaximumNArgs(1),
	}
	f.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.build.Language, "lang", "", "language, if the files do not say it")
	flags.BoolVar(&f.build.Debug, "debug", false, "keep the names of functions, for call stacks")
	flags.BoolVar(&f.release, "release", false, "build as plugin build does, with all optimizations")
	flags.BoolVar(&f.once, "once", false, "end after the first round, with 1 if it failed")
	_ = flags.MarkHidden("keep")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		f.build.Dir, f.build.Quick = ".", !f.release
		if len(args) == 1 {
			f.build.Dir = args[0]
		}
		return develop(a, cmd, &f)
	})
	return cmd
}

// round is what one round of "plugin dev" found.
type round struct {
	Time    time.Time `json:"time"`
	Changed []string  `json:"changed,omitempty"`
	// Error says why there is no module, or why it could not be tested.
	Error   string  `json:"error,omitempty"`
	BuildMS float64 `json:"build_ms,omitempty"`
	TestMS  float64 `json:"test_ms,omitempty"`
	Size    int64   `json:"size,omitempty"`
	Passed  int     `json:"passed"`
	Failed  int     `json:"failed"`
	// Failures are those of this round, Fixed the names of those of the round before.
	Failures []conformance.Result `json:"failures,omitempty"`
	Fixed    []string             `json:"fixed,omitempty"`
	Warnings []string             `json:"warnings,omitempty"`
	Notes    []string             `json:"notes,omitempty"`
	Costs    []conformance.Cost   `json:"costs,omitempty"`
}

// developer builds and tests one project again and again.
type developer struct {
	app    *cli.App
	cmd    *cobra.Command
	flags  *devFlags
	tester *tester
	last   *round // the last one with a tested module, nil before it
	// cases is the folder of cases that a flag names, "" for the one of the project.
	cases string
	// files are those of the present round, as they were when it began.
	files authoring.Files
	// redone is how many rounds in a row were not printed.
	redone int
}

// mostRedone is how many rounds in a row are not printed because the files changed meanwhile. A
// build may change them each time.
const mostRedone = 3

func develop(a *cli.App, cmd *cobra.Command, f *devFlags) error {
	f.short = true
	t, err := newTester(a, cmd, &f.testFlags)
	if err != nil {
		return err
	}
	defer t.progress.Stop()
	t.cfg.ParallelCompile = true // the module is the user's own
	if !f.once {
		f.build.Warm = &authoring.Warm{}
		defer f.build.Warm.Close()
	}
	d := &developer{app: a, cmd: cmd, flags: f, tester: t, cases: f.cases}
	if d.files, err = authoring.Scan(f.build.Dir); err != nil {
		return err
	}
	for changed := []string(nil); ; {
		r, err := d.round(changed)
		switch {
		case cmd.Context().Err() != nil && !f.once:
			return nil // the user ended it
		case err != nil:
			return err
		case f.once && (r.Error != "" || r.Failed > 0):
			return cli.Silent(errBreach)
		case f.once:
			return nil
		}
		if d.files, changed, err = waitForChange(cmd.Context(), f.build.Dir, d.files); err != nil {
			if cmd.Context().Err() != nil {
				return nil // the user ended it
			}
			return err
		}
	}
}

// waitForChange returns the files when they differ from those before and have settled.
func waitForChange(ctx context.Context, dir string, before authoring.Files) (authoring.Files, []string, error) {
	seen := before
	for {
		now, err := authoring.Scan(dir)
		if err != nil {
			return nil, nil, err
		}
		changed, pause := now.Changed(before), lookEvery
		switch {
		case len(changed) > 0 && len(now.Changed(seen)) == 0:
			return now, changed, nil
		case len(changed) > 0:
			pause = settled
		}
		seen = now
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// round builds and tests the project once, and prints what is new.
func (d *developer) round(changed []string) (*round, error) {
	r := &round{Time: time.Now(), Changed: changed}
	err := d.try(r)
	d.tester.progress.Stop()
	if d.cmd.Context().Err() != nil {
		return r, d.cmd.Context().Err()
	}
	if err != nil && d.outdated() {
		return r, nil
	}
	if err != nil {
		r.Error = err.Error()
		return r, d.print(r)
	}
	d.redone = 0
	r.compare(d.last)
	err = d.print(r)
	d.last = r
	return r, err
}

// outdated reports whether files have changed since the round began. Its error is then not worth
// saying: it may be about a file that an editor had not written to its end.
func (d *developer) outdated() bool {
	now, err := authoring.Scan(d.flags.build.Dir)
	if d.redone++; err != nil || d.flags.once || d.redone > mostRedone || len(now.Changed(d.files)) == 0 {
		d.redone = 0
		return false
	}
	return true
}

// try builds and tests the project.
func (d *developer) try(r *round) error {
	o := d.flags.build
	o.Messages = d.app.Err
	o.Commands = func(c authoring.Command) { d.tester.progress.Start("running " + c.Name()) }
	began := time.Now()
	built, err := authoring.Build(d.cmd.Context(), o)
	r.BuildMS = milliseconds(time.Since(began))
	if err != nil {
		return err
	}
	r.Size = built.Spec.Size
	d.findCases()
	began = time.Now()
	tested, err := d.tester.test(d.cmd, built.Path)
	r.TestMS = milliseconds(time.Since(began))
	if err != nil {
		return err
	}
	r.Warnings, r.Notes, r.Costs = tested.Warnings, tested.Report.Notes, tested.Report.Costs
	if built.LeftOut != "" {
		r.Notes = append(r.Notes, fmt.Sprintf("built without %s, so size and costs are not those of plugin build (see the flag --release)", built.LeftOut))
	}
	r.Passed, r.Failed = tested.Report.Passed, tested.Report.Failed
	for _, x := range tested.Report.Results {
		if x.Verdict == conformance.Fail {
			r.Failures = append(r.Failures, x)
		}
	}
	return nil
}

// findCases chooses the folder of cases, which can come and go while the project is watched.
func (d *developer) findCases() {
	if d.cases != "" {
		return
	}
	d.flags.cases = filepath.Join(d.flags.build.Dir, casesFolder)
	if info, err := os.Stat(d.flags.cases); err != nil || !info.IsDir() {
		d.flags.cases = ""
	}
}

// compare finds the failures of the round before that are gone.
func (r *round) compare(before *round) {
	if before == nil {
		return
	}
	for i := range before.Failures {
		if x := &before.Failures[i]; !r.fails(x) {
			r.Fixed = append(r.Fixed, failureName(x))
		}
	}
}

// fails reports whether the round has a failure of the same case.
func (r *round) fails(x *conformance.Result) bool {
	for i := range r.Failures {
		if failureName(&r.Failures[i]) == failureName(x) {
			return true
		}
	}
	return false
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// print writes the round: as a line of JSON, or what is new as text.
func (d *developer) print(r *round) error {
	if *d.flags.format == "json" {
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(d.app.Out, "%s\n", line)
		return err
	}
	return d.app.EmitText(r.text(d.last))
}
