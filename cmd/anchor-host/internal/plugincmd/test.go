package plugincmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/conform"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/config"
)

// testFlags are the flags of "plugin test".
type testFlags struct {
	callFlags
	settings   string
	operations []string
	lane       string
	short      bool
	seed       uint64
	cases      string
	live       bool
	keep       string
	update     bool
	format     *string
}

func testCommand(a *cli.App) *cobra.Command {
	f := testFlags{callFlags: callFlags{repeat: 1}}
	cmd := &cobra.Command{
		Use:   "test [flags] FILE|FOLDER...",
		Short: "Test whether plugins keep to the contract",
		Long: `Test whether plugins follow the contract (abi/ABI.md): every operation is called in both
lanes, with ordinary and uncommon requests. The exit code is 1 if a case failed.

Cases of your own are *.json files in the folder tests next to plugin.yaml, such as those
that --record of plugin call and of build writes; docs/authoring.md describes them.
--update rewrites what they expect. The plugin has only the permissions that flags
allow, clock and random numbers are fixed, and nothing is asked of servers and services:
the cases hold their answers. With --live the requests are sent. --set KEY=VALUE sets a
setting, OPERATION.KEY=VALUE only for one operation, or for init.`,
		Example: `  anchor-host plugin test build/plugins/score-filter
  anchor-host plugin test ./plugin.wasm --op filter --lane batch --short
  anchor-host plugin test build/plugins/score-filter --update
  anchor-host plugin test build/plugins/bm25-retriever --allow-path ro:./docs:/docs
  anchor-host plugin test build/languages/*/*.wasm --short -o json`,
		Args: cobra.MinimumNArgs(1),
	}
	f.register(cmd)
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error { return testPlugins(a, cmd, &f, args) })
	return cmd
}

// register adds the flags to the command.
func (f *testFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.operations, "op", nil, "only these operations")
	flags.StringVar(&f.lane, "lane", "", "only this lane: json or batch")
	flags.BoolVar(&f.short, "short", false, "2,000 calls of an instance in a row instead of 10,000")
	flags.Uint64Var(&f.seed, "seed", 0, "seed for the texts and numbers in the requests")
	flags.StringVar(&f.cases, "cases", "", "folder of your own cases (default: tests next to plugin.yaml)")
	flags.StringVar(&f.keep, "keep", "", "write the request of each failed case into this folder, for plugin call (default: a new folder of the system's for temporary files)")
	flags.BoolVar(&f.update, "update", false, "rewrite what your cases expect to what the plugin answers, and show the difference")
	flags.StringVar(&f.settings, "settings", "", "settings by operation, as JSON or the name of a file")
	flags.StringArrayVar(&f.set, "set", nil, "a setting, [OPERATION.]KEY=VALUE (repeatable)")
	grantFlags(flags, &f.callFlags)
	flags.StringArrayVar(&f.allowPath, "allow-path", nil, "give access to a folder: [ro:]HOST:GUEST (repeatable)")
	flags.BoolVar(&f.live, "live", false, "send HTTP requests to the servers that --allow-host allows")
	flags.StringVar(&f.timeout, "timeout", "", fmt.Sprintf("time limit of one call (default %v), and of the start (default %v)", conform.DefaultTimeout, host.DefaultInitTimeout))
	flags.Int64Var(&f.fuel, "fuel", 0, fuelHelp)
	loadFlags(flags, &f.callFlags)
	flags.String("cache-dir", "", "folder of compiled plugins; off keeps none")
	f.format = cli.FormatFlag(cmd, "text", "json")
}

// errBreach is the error of a test with a failed case.
var errBreach = errors.New("the plugin breaks the contract")

func testPlugins(a *cli.App, cmd *cobra.Command, f *testFlags, args []string) error {
	t, err := newTester(a, cmd, f)
	if err != nil {
		return err
	}
	defer t.progress.Stop()
	tested := make([]testedPlugin, len(args))
	for i, path := range args {
		if tested[i], err = t.test(cmd, path); err != nil && (len(args) == 1 || cmd.Context().Err() != nil) {
			return err
		} else if err != nil {
			tested[i].Error = err.Error()
		}
	}
	t.progress.Stop()
	if err := emitTests(a, *f.format, tested); err != nil {
		return err
	}
	if slices.ContainsFunc(tested, func(p testedPlugin) bool { return !p.ok() }) {
		return cli.Silent(errBreach)
	}
	return nil
}

// pluginConfig converts the flags to the configuration of a plugin.
func (f *testFlags) pluginConfig(cmd *cobra.Command) (host.PluginConfig, error) {
	if f.lane != "" && f.lane != conformance.JSON && f.lane != conformance.Batch {
		return host.PluginConfig{}, cli.Usagef(cmd, "flag --lane: want json or batch, got %q", f.lane)
	}
	return f.callFlags.pluginConfig(cmd)
}

// tester runs the conformance kit for plugins.
type tester struct {
	app      *cli.App
	flags    *testFlags
	config   host.PluginConfig
	cfg      host.Config
	progress *cli.Progress
	what     string
	// leftOut is how many cases of the last plugin's folder are of other plugins.
	leftOut int
}

// newTester makes a tester from the flags. The caller stops its progress.
func newTester(a *cli.App, cmd *cobra.Command, f *testFlags) (*tester, error) {
	pc, err := f.pluginConfig(cmd)
	if err != nil {
		return nil, err
	}
	base := config.Default()
	if err := a.Override(cmd, base); err != nil {
		return nil, err
	}
	t := &tester{app: a, flags: f, config: pc, progress: cli.NewProgress(a)}
	t.cfg = host.Config{
		Logger: slog.New(levelOnly{slog.LevelInfo}), CacheDir: base.CachePath(), ImageCache: host.DefaultImageCache, OnCompile: t.compiling,
		DefaultLimits: neverBroken, Lines: true,
	}
	return t, nil
}

func (t *tester) compiling(plugin string, done bool, took time.Duration) {
	t.progress.Compiling(plugin, done, took)
	if done {
		t.progress.Start(t.what)
	}
}

// test reads and tests one plugin.
func (t *tester) test(cmd *cobra.Command, path string) (testedPlugin, error) {
	out := testedPlugin{File: path, Language: languageOf(path)}
	file, err := moduleFile(path)
	if err != nil {
		return out, err
	}
	plugin, err := spec.ReadFile(file)
	if err != nil {
		return out, err
	}
	out.Plugin, out.Size, out.Lanes = plugin.Name, plugin.Size, lanesOf(plugin)
	if plugin.Foreign {
		return out, fmt.Errorf("%s: %w (the module does not export %q: only plugins of this contract can be tested)", file, spec.ErrABIVersion, abi.Marker)
	}
	o, own, err := t.options(cmd, plugin, file)
	if err != nil {
		return out, err
	}
	updates := &updates{}
	if t.flags.update {
		o.Update = updates.add
	}
	keeper := &keeper{tester: t, module: path, spec: plugin, own: own, settings: o.Steps}
	o.KeepRequest = keeper.keep
	target, sealed, err := t.target(plugin, own)
	if err != nil {
		return out, err
	}
	defer target.Host.Close(context.WithoutCancel(cmd.Context()))
	t.what = fmt.Sprintf("testing plugin %q", plugin.Name)
	t.progress.Start(t.what)
	out.Report, err = conformance.Run(cmd.Context(), target.Target, o)
	if err != nil {
		return out, fmt.Errorf("%s: %w", file, err)
	}
	for i := range out.Report.Results {
		if r := &out.Report.Results[i]; r.Request != "" {
			r.Repeat = keeper.command(r.Operation, r.Request)
		}
	}
	for _, request := range sealed.Unlisted() {
		out.Report.Notes = append(out.Report.Notes, fmt.Sprintf(
			"the plugin sent %s, for which %s/%s lists no response: it was refused (list one; record one with %s; or send requests with --live)",
			request, casesFolder, httpFile, recordCommand(path, plugin, request)))
	}
	if t.leftOut > 0 {
		out.Report.Notes = append(out.Report.Notes, cli.Count(t.leftOut, "case")+" of other plugins left out")
	}
	if err := updates.write(t.app); err != nil {
		return out, err
	}
	out.Warnings = plugin.Warnings
	return out, nil
}

// hosted is a plugin to test, with its host.
type hosted struct {
	*conform.Target
	Host *host.Host
}

// target returns the plugin as a target, and what answers its requests. Each plugin has a host
// of its own, because the transport is the host's.
func (t *tester) target(plugin *spec.Spec, own *ownTests) (hosted, *conformance.Exchanges, error) {
	cfg, pc, run := t.cfg, t.config, conformance.NewExchanges(own.http)
	exchanges := conform.Exchanges{Run: run}
	conform.Replays(&cfg, &pc, own.cases)
	conform.Serve(&cfg, &pc, conform.ServicesOf(plugin.Manifest), own.cases)
	switch {
	case !t.flags.live:
		cfg.HTTPTransport = exchanges
		if pc.Grants.HTTP == nil {
			pc.Grants.HTTP = conform.GrantHTTP(plugin.Manifest)
		}
	case slices.ContainsFunc(own.cases, func(c conformance.OwnCase) bool { return c.HTTP != nil }):
		return hosted{}, nil, fmt.Errorf("flag --live: the case %q lists its requests (leave out the flag, or name a folder without such cases with --cases)",
			own.cases[slices.IndexFunc(own.cases, func(c conformance.OwnCase) bool { return c.HTTP != nil })].Name)
	}
	h, err := host.New(cfg)
	if err != nil {
		return hosted{}, nil, err
	}
	target := conform.New(h, plugin, pc)
	target.Sealed = !t.flags.live
	return hosted{target, h}, run, nil
}

// options are the options of a run for one plugin, and the author's own tests.
func (t *tester) options(cmd *cobra.Command, spec *spec.Spec, file string) (conformance.Options, *ownTests, error) {
	f := t.flags
	o := conformance.Options{Short: f.short, Seed: f.seed, Sparing: f.live && t.config.Grants.HTTP != nil, Beside: runtime.GOMAXPROCS(0) > 1}
	if f.lane != "" {
		o.Lanes = []string{f.lane}
	}
	for _, name := range f.operations {
		op := abi.Operation(name)
		if _, err := spec.Operation(op); err != nil {
			return o, nil, cli.Usagef(cmd, "flag --op: plugin %q has no operation %q (it has %s)", spec.Name, name, operationNames(spec))
		}
		o.Operations = append(o.Operations, op)
	}
	own, err := ownCases(file, f.cases)
	if err != nil {
		return o, nil, err
	}
	if t.leftOut, err = own.only(spec.Name); err != nil {
		return o, nil, err
	}
	o.Own = own.cases
	settings, err := t.settings(cmd, spec, own.settings)
	if err != nil {
		return o, nil, err
	}
	o.Init, o.Steps = settings[abi.OpInit], settings
	if t.app.Err.Terminal() {
		o.OnCase = func(id string, op abi.Operation, lane string) {
			t.progress.Start(strings.Join(strings.Fields(fmt.Sprintf("testing %s %s %s %s", spec.Name, op, lane, id)), " "))
		}
	}
	return o, &own, nil
}

// settings combines the settings of the folder of cases, of --settings and of --set. Later
// ones replace earlier ones.
func (t *tester) settings(cmd *cobra.Command, spec *spec.Spec, own map[abi.Operation]map[string]any) (map[abi.Operation]map[string]any, error) {
	out := map[abi.Operation]map[string]any{}
	for op, s := range own {
		out[op] = maps.Clone(s)
	}
	if text := t.flags.settings; text != "" {
		name, b := "flag --settings", []byte(text)
		if !strings.HasPrefix(strings.TrimSpace(text), "{") {
			var err error
			if b, err = readCaseFile(text); err != nil {
				return nil, fmt.Errorf("flag --settings: %w", err)
			}
			name = text
		}
		given, err := parseSettings(name, b)
		if err != nil {
			return nil, cli.UsageError(cmd, err)
		}
		maps.Copy(out, given)
	}
	for _, pair := range t.flags.set {
		if err := set(out, spec, pair); err != nil {
			return nil, cli.Usagef(cmd, "flag --set: %w", err)
		}
	}
	return out, nil
}

func operationNames(spec *spec.Spec) string {
	names := make([]string, len(spec.Operations))
	for i, o := range spec.Operations {
		names[i] = string(o.Operation)
	}
	return strings.Join(names, ", ")
}

// lanesOf lists the lanes that any operation has.
func lanesOf(plugin *spec.Spec) (lanes []host.Lane) {
	for _, lane := range []host.Lane{host.LaneJSON, host.LaneBatch} {
		if slices.ContainsFunc(plugin.Operations, func(o spec.Operation) bool { return o.HasLane(lane) }) {
			lanes = append(lanes, lane)
		}
	}
	return lanes
}
