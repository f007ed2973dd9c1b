package plugincmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
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
	allowKV    bool
	services   []string
	format     *string
}

func testCommand(a *cli.App) *cobra.Command {
	f := testFlags{callFlags: callFlags{repeat: 1}}
	cmd := &cobra.Command{
		Use:   "test [flags] FILE|FOLDER...",
		Short: "Test whether plugins keep to the contract",
		Long: `Test whether a plugin follows the plugin contract (abi/ABI.md). The command calls
every operation in both lanes, with ordinary and uncommon requests. Each case
checks one rule of the contract. The exit code is 0 if no case failed, otherwise
1. Several plugins are shown in one table with a line for each.

The plugin has only the permissions that flags allow. Clock and random numbers are
fixed. --set KEY=VALUE sets a setting wherever the schemas of the plugin have the
key. OPERATION.KEY=VALUE sets it for one operation; the operation init stands for
the settings of the instance. VALUE is JSON, or else text.

You can add cases of your own as *.json files in the folder tests next to
plugin.yaml. A file holds one case or a list of cases, which run in both lanes.

  {"name": "drops what is low", "operation": "filter", "settings": {"min": 0.5},
   "query": "q", "items": ["text", {"content": "more", "score": 0.7}],
   "expect": {"keep": [1]}}

A case has either query, items, top_k and tokens_left, or a whole request document
as request. expect can have keep and order (row numbers), scores and texts (of the
final list), items (the new ones), no_change (true), output (the answer; members
that you leave out are not compared) and error (a part of the message). The file
tests/settings.json holds settings for all cases, by operation: {"init": {…},
"filter": {…}}.`,
		Example: `  anchor-host plugin test build/plugins/score-filter
  anchor-host plugin test ./plugin.wasm --op filter --lane batch --short
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
	flags.StringVar(&f.settings, "settings", "", "settings by operation, as JSON or the name of a file")
	flags.StringArrayVar(&f.set, "set", nil, "a setting, [OPERATION.]KEY=VALUE (repeatable)")
	httpFlags(flags, &f.callFlags)
	flags.StringArrayVar(&f.allowPath, "allow-path", nil, "give access to a folder: [ro:]HOST:GUEST (repeatable)")
	flags.BoolVar(&f.allowKV, "allow-kv", false, "allow the key-value store")
	flags.StringSliceVar(&f.services, "allow-service", nil, "allow a host service: count_tokens")
	flags.StringVar(&f.timeout, "timeout", "", fmt.Sprintf("time limit of one call (default %v)", conform.DefaultTimeout))
	flags.Int64Var(&f.fuel, "fuel", 0, fuelHelp)
	flags.StringVar(&f.memory, "memory-max", "", "maximum linear memory, such as 64MiB")
	flags.String("cache-dir", "", "folder of compiled plugins; off keeps none")
	f.format = cli.FormatFlag(cmd, "text", "json")
}

// errBreach is the error of a test with a failed case.
var errBreach = errors.New("the plugin breaks the contract")

func testPlugins(a *cli.App, cmd *cobra.Command, f *testFlags, args []string) error {
	if err := cli.CheckFormat(cmd, *f.format, "text", "json"); err != nil {
		return err
	}
	pc, err := f.config(cmd)
	if err != nil {
		return err
	}
	base := config.Default()
	if err := a.Override(cmd, base); err != nil {
		return err
	}
	t := &tester{app: a, flags: f, config: pc, progress: cli.NewProgress(a)}
	defer t.progress.Stop()
	t.host, err = host.New(host.Config{
		Logger: slog.New(slog.DiscardHandler), CacheDir: base.CachePath(), ImageCache: host.DefaultImageCache, OnCompile: t.compiling,
		DefaultLimits: neverRested,
	})
	if err != nil {
		return err
	}
	defer t.host.Close(context.WithoutCancel(cmd.Context()))
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

// config converts the flags to the configuration of a plugin. Here --set changes settings,
// not the values of config_get.
func (f *testFlags) config(cmd *cobra.Command) (host.PluginConfig, error) {
	if f.lane != "" && f.lane != conformance.JSON && f.lane != conformance.Batch {
		return host.PluginConfig{}, cli.Usagef(cmd, "flag --lane: want json or batch, got %q", f.lane)
	}
	call := f.callFlags
	call.set = nil
	pc, err := call.pluginConfig(cmd)
	if err != nil {
		return pc, err
	}
	if f.allowKV {
		pc.Grants.KV = &host.KVGrant{}
	}
	pc.Grants.Services = f.services
	return pc, nil
}

// tester runs the conformance kit for plugins.
type tester struct {
	app      *cli.App
	flags    *testFlags
	config   host.PluginConfig
	host     *host.Host
	progress *cli.Progress
	what     string
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
	o, err := t.options(cmd, plugin, file)
	if err != nil {
		return out, err
	}
	t.what = fmt.Sprintf("testing plugin %q", plugin.Name)
	t.progress.Start(t.what)
	out.Report, err = conformance.Run(cmd.Context(), conform.New(t.host, plugin, t.config), o)
	if err != nil {
		return out, fmt.Errorf("%s: %w", file, err)
	}
	out.Warnings = plugin.Warnings
	return out, nil
}

// options are the options of a run for one plugin.
func (t *tester) options(cmd *cobra.Command, spec *spec.Spec, file string) (conformance.Options, error) {
	f := t.flags
	o := conformance.Options{Short: f.short, Seed: f.seed}
	if f.lane != "" {
		o.Lanes = []string{f.lane}
	}
	for _, name := range f.operations {
		op := abi.Operation(name)
		if _, err := spec.Operation(op); err != nil {
			return o, cli.Usagef(cmd, "flag --op: plugin %q has no operation %q (it has %s)", spec.Name, name, operationNames(spec))
		}
		o.Operations = append(o.Operations, op)
	}
	own, err := ownCases(file, f.cases)
	if err != nil {
		return o, err
	}
	o.Own = own.cases
	settings, err := t.settings(cmd, spec, own.settings)
	if err != nil {
		return o, err
	}
	o.Init, o.Steps = settings[abi.OpInit], settings
	if t.app.Err.Terminal() {
		o.OnCase = func(id string, op abi.Operation, lane string) {
			t.progress.Start(strings.Join(strings.Fields(fmt.Sprintf("testing %s %s %s %s", spec.Name, op, lane, id)), " "))
		}
	}
	return o, nil
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
