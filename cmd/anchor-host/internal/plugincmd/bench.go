package plugincmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/conform"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/authoring"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
)

// benchFlags are the flags of "plugin bench", including those that it shares with "plugin
// test".
type benchFlags struct {
	testFlags
	op, state     string
	items         int
	inputFile     string
	duration      time.Duration
	save, compare string
}

// bothLanes is the value of --lane that selects every lane of the operation.
const bothLanes = "both"

func benchCommand(a *cli.App) *cobra.Command {
	f := benchFlags{testFlags: testFlags{callFlags: callFlags{repeat: 1}}}
	cmd := &cobra.Command{
		Use:   "bench [flags] FILE|FOLDER",
		Short: "Measure what a call of a plugin costs",
		Long: `Measure one operation of a plugin and print its cost card. The card shows the time
of a call, including writing the request and reading the answer, the fuel and
memory that the call uses, the bytes of request and answer, and the tokens that it
adds. Without --input a request is generated; it is always the same one.

--compare compares the result with a saved card. It prints the ratio of each
figure and marks figures that are worse than noise can explain. Bytes are the same
on every machine, fuel differs by about one percent, and times differ.`,
		Example: `  anchor-host plugin bench build/keep-best.wasm --save before.json
  anchor-host plugin bench build/keep-best.wasm --compare before.json
  anchor-host plugin bench ./plugin.wasm --op rerank --items 100 --lane batch --set weight=0.3`,
		Args: cli.Exactly("FILE|FOLDER"),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.op, "op", "", "operation (default: the only one)")
	flags.IntVar(&f.items, "items", 1000, "number of items, turns, messages or texts of the request")
	flags.StringVar(&f.inputFile, "input", "", "document of the operation's JSON lane to send (- for stdin)")
	flags.DurationVar(&f.duration, "duration", 2*time.Second, "how long to measure each lane")
	flags.StringVar(&f.lane, "lane", bothLanes, "lane: both, json, batch")
	flags.StringVar(&f.state, "state", "", "state of an instance between calls: reset, keep, fresh (default: as in a build)")
	flags.StringVar(&f.save, "save", "", "write the card to a file")
	flags.StringVar(&f.compare, "compare", "", "card of an earlier run to compare with")
	flags.StringVar(&f.settings, "settings", "", "settings by operation, as JSON or the name of a file")
	flags.StringArrayVar(&f.set, "set", nil, "a setting, [OPERATION.]KEY=VALUE (repeatable)")
	grantFlags(flags, &f.callFlags)
	flags.StringArrayVar(&f.allowPath, "allow-path", nil, "give access to a folder: [ro:]HOST:GUEST (repeatable)")
	flags.StringVar(&f.timeout, "timeout", "", "time limit of one call, and of the start before it, such as 2s")
	loadFlags(flags, &f.callFlags)
	flags.String("cache-dir", "", "folder of compiled plugins; off keeps none")
	f.format = cli.FormatFlag(cmd, "text", "json")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error { return bench(a, cmd, &f, args[0]) })
	return cmd
}

func bench(a *cli.App, cmd *cobra.Command, f *benchFlags, path string) error {
	pc, err := f.check(cmd)
	if err != nil {
		return err
	}
	before, err := readCard(f.compare)
	if err != nil {
		return err
	}
	file, err := moduleFile(path)
	if err != nil {
		return err
	}
	spec, err := spec.ReadFile(file)
	if err != nil {
		return err
	}
	job, err := newBenchJob(a, cmd, f, spec)
	if err != nil {
		return err
	}
	pc.Settings = job.init
	card, err := measure(a, cmd, f, spec, pc, job)
	if err != nil {
		return withLog(a, err)
	}
	if f.save != "" {
		if err := saveCard(f.save, card); err != nil {
			return err
		}
	}
	var ratios []authoring.Ratio
	if before != nil {
		if ratios, err = authoring.Compare(before, card); err != nil {
			return fmt.Errorf("compare with %s: %w", f.compare, err)
		}
		if before.Plugin != card.Plugin {
			a.Say("note: the earlier card is of plugin %q, this one of %q", cli.OneCell(before.Plugin), card.Plugin)
		}
	}
	if idle(card) {
		a.Say("note: every answer was no change: the card shows what doing nothing costs (give settings with --set, or a request with --input)")
	}
	return printCard(a, *f.format, card, ratios)
}

// idle reports whether an operation that changes items answered with nothing in every lane.
func idle(card *authoring.Card) bool {
	info, _ := abi.LookupOperation(card.Operation)
	return info.Reply == "Changes" && !slices.ContainsFunc(card.Rows, func(c authoring.Cost) bool { return c.Out > 0 })
}

// check converts the flags to the configuration of a plugin.
func (f *benchFlags) check(cmd *cobra.Command) (host.PluginConfig, error) {
	var pc host.PluginConfig
	lanes := []string{bothLanes, string(host.LaneJSON), string(host.LaneBatch)}
	switch {
	case !slices.Contains(lanes, f.lane):
		return pc, cli.Usagef(cmd, "flag --lane: want one of %s, got %q", strings.Join(lanes, ", "), f.lane)
	case f.items < 0 || f.items > abi.MaxRows:
		return pc, cli.Usagef(cmd, "flag --items: want 0 to %d, got %d", abi.MaxRows, f.items)
	case f.duration <= 0:
		return pc, cli.Usagef(cmd, "flag --duration: want more than 0, got %v", f.duration)
	}
	var state host.State
	if f.state != "" {
		if err := state.UnmarshalText([]byte(f.state)); err != nil {
			return pc, cli.Usagef(cmd, "flag --state: %v", err)
		}
	}
	shared := f.testFlags
	shared.lane = ""
	pc, err := shared.pluginConfig(cmd)
	pc.State = state
	return pc, err
}

// benchJob is one measurement.
type benchJob struct {
	op      abi.Operation
	lanes   []host.Lane
	input   string
	request any
	init    map[string]any
}

// newBenchJob makes the job from the flags and the plugin.
func newBenchJob(a *cli.App, cmd *cobra.Command, f *benchFlags, spec *spec.Spec) (*benchJob, error) {
	o, err := f.operation(cmd, spec)
	if err != nil {
		return nil, err
	}
	job := &benchJob{op: o.Operation, lanes: o.Lanes, input: "generated"}
	if f.lane != bothLanes {
		if !o.HasLane(host.Lane(f.lane)) {
			return nil, cli.Usagef(cmd, "flag --lane: %s has no %s lane (it has %s)", job.op, f.lane, laneNames(o.Lanes, ", "))
		}
		job.lanes = []host.Lane{host.Lane(f.lane)}
	}
	if f.inputFile == "" {
		job.request = authoring.Request(job.op, f.items)
	} else if job.request, err = readRequest(a, f.inputFile, job.op); err != nil {
		return nil, err
	} else {
		job.input = filepath.Base(f.inputFile)
	}
	shared := tester{app: a, flags: &f.testFlags}
	settings, err := shared.settings(cmd, spec, nil)
	if err != nil {
		return nil, err
	}
	job.init = settings[abi.OpInit]
	place := authoring.RequestSettings(job.request)
	given := map[string]any{}
	if len(*place) > 0 {
		if err := json.Unmarshal(*place, &given); err != nil {
			return nil, fmt.Errorf("%w: %s: settings: %w", config.ErrInvalid, job.input, err)
		}
	}
	maps.Copy(given, settings[job.op])
	*place, err = spec.CheckSettings(job.op, given)
	return job, err
}

// operation returns the operation to measure: the one that --op names, or the only one.
func (f *benchFlags) operation(cmd *cobra.Command, plugin *spec.Spec) (spec.Operation, error) {
	if f.op != "" {
		if o, err := plugin.Operation(abi.Operation(f.op)); err == nil && o.Operation != abi.OpInit {
			return o, nil
		}
		return spec.Operation{}, cli.Usagef(cmd, "flag --op: plugin %q has no operation %q (it has %s)", plugin.Name, f.op, cli.Dash(operationNames(plugin)))
	}
	if len(plugin.Operations) == 0 {
		return spec.Operation{}, fmt.Errorf("plugin %q: %w (a foreign module can be called with: anchor-host plugin call --repeat)", plugin.Name, host.ErrNoOperation)
	}
	called := slices.DeleteFunc(slices.Clone(plugin.Operations), func(o spec.Operation) bool { return o.Operation == abi.OpInit })
	if len(called) != 1 {
		return spec.Operation{}, cli.Usagef(cmd, "plugin %q has %d operations (say which with --op: %s)", plugin.Name, len(called), cli.Dash(operationNames(plugin)))
	}
	return called[0], nil
}

// readRequest reads a request from a file.
func readRequest(a *cli.App, path string, op abi.Operation) (any, error) {
	r, name, err := a.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read input: %w", err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, abi.MaxBytes))
	if err != nil {
		return nil, fmt.Errorf("read input: %w", err)
	}
	request, err := authoring.ReadRequest(op, data)
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", config.ErrInvalid, name, err)
	}
	return request, nil
}

// measure runs the plugin in each lane.
func measure(a *cli.App, cmd *cobra.Command, f *benchFlags, spec *spec.Spec, pc host.PluginConfig, job *benchJob) (*authoring.Card, error) {
	base := config.Default()
	if err := a.Override(cmd, base); err != nil {
		return nil, err
	}
	ctx := cmd.Context()
	progress := cli.NewProgress(a)
	defer progress.Stop()
	cfg := host.Config{Logger: slog.New(slog.DiscardHandler), CacheDir: base.CachePath(), ImageCache: host.DefaultImageCache, OnCompile: progress.Compiling, DefaultLimits: neverBroken}
	conform.Serve(&cfg, &pc, f.services, nil)
	h, err := host.New(cfg)
	if err != nil {
		return nil, err
	}
	defer h.Close(context.WithoutCancel(ctx))
	plugin, err := h.Load(ctx, spec, pc)
	if err != nil {
		return nil, err
	}
	tokens, err := pipeline.EncodingTokenizer("cl100k_base")
	if err != nil {
		return nil, err
	}
	card := &authoring.Card{
		Plugin: spec.Name, Version: spec.Manifest.Version, Digest: spec.Digest, Size: spec.Size, Operation: job.op,
		Input: job.input, Items: authoring.RequestItems(job.request), State: plugin.State(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	for _, lane := range job.lanes {
		progress.Start(fmt.Sprintf("measuring %s in the %s lane", job.op, lane))
		cost, err := authoring.Measure(ctx, plugin, authoring.MeasureOptions{
			Operation: job.op, Lane: lane, Request: job.request, Duration: f.duration, Tokens: tokens,
		})
		if err != nil {
			return nil, err
		}
		card.Rows = append(card.Rows, cost)
	}
	return card, nil
}

// readCard reads a saved card; it returns nil if file is empty.
func readCard(file string) (*authoring.Card, error) {
	if file == "" {
		return nil, nil
	}
	data, err := readCaseFile(file)
	if err != nil {
		return nil, fmt.Errorf("flag --compare: %w (write a card with --save)", err)
	}
	card := new(authoring.Card)
	if err := json.Unmarshal(data, card); err != nil || card.Operation == "" {
		return nil, fmt.Errorf("%w: %s: no cost card (write one with --save)", config.ErrInvalid, file)
	}
	return card, nil
}
