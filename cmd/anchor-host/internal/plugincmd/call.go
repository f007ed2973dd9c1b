package plugincmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/conform"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/recording"
	"github.com/anchor-host/anchor-host/internal/strict"
)

// callFlags are the flags of "plugin call".
type callFlags struct {
	input, inputFile          string
	request, record           string
	set, config, link         []string
	allowHost, allowPath      []string
	allowMethod               []string
	allowPrivate, wasi        bool
	unchecked, allowKV        bool
	services                  []string
	timeout, memory, loadTime string
	pathQuota                 string
	fuel                      int64
	repeat                    int
}

func callCommand(a *cli.App) *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use:   "call [flags] FILE|FOLDER FUNCTION",
		Short: "Call one function of a module",
		Long: `Call one exported function of an Extism or ABI 1 module, or of the module in FOLDER, and
write its output to stdout unchanged. Log lines and the stack of a trap go to stderr.
Without FUNCTION it names those that can be called. The module has only the permissions
that flags allow.

The input of an operation of ABI 1 is the document of its JSON lane, which is checked as
in a build unless --unchecked is given. --record saves the call as a case of "plugin
test", without secrets, and --request repeats such a case. With --repeat the same
instance is called several times and keeps its state.`,
		Example: `  anchor-host plugin call count_vowels.wasm count_vowels --input "hello"
  anchor-host plugin call fetch.wasm get --allow-host api.example.com --set key=1
  anchor-host plugin call fetch.wasm get --allow-host http://localhost:8080 --allow-method GET
  anchor-host plugin call web.wasm anchor_retrieve --input-file q.json --allow-host api.example.com --record tests
  anchor-host plugin call tool.wasm run --wasi --allow-path ro:./docs:/docs
  anchor-host plugin call main.wasm run --link lib=lib.wasm`,
		Args: callArgs,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.input, "input", "", "input as text")
	flags.StringVar(&f.inputFile, "input-file", "", "read the input from a file (- for stdin)")
	caseFlags(flags, &f)
	flags.StringArrayVar(&f.set, "set", nil, "a setting, [OPERATION.]KEY=VALUE (repeatable)")
	flags.BoolVar(&f.unchecked, "unchecked", false, "send the input as it is, and do not check the answer")
	grantFlags(flags, &f)
	flags.StringArrayVar(&f.allowPath, "allow-path", nil, "give access to a folder: [ro:]HOST:GUEST (repeatable)")
	flags.StringVar(&f.pathQuota, "path-quota", "", "maximum bytes in a writable folder (default "+sizeText(host.DefaultFolderQuota)+")")
	flags.BoolVar(&f.wasi, "wasi", false, "offer the WASI functions")
	flags.StringArrayVar(&f.link, "link", nil, "NAME=FILE.wasm that the module imports from (repeatable)")
	flags.StringVar(&f.timeout, "timeout", "", "time limit of one call, and of the start before it, such as 2s")
	flags.Int64Var(&f.fuel, "fuel", 0, fuelHelp)
	loadFlags(flags, &f)
	flags.IntVar(&f.repeat, "repeat", 1, "number of calls")
	flags.String("log-level", "", "lowest level of printed log lines: debug, info, warn, error (default info)")
	flags.String("cache-dir", "", "folder of compiled plugins; off keeps none")
	cmd.MarkFlagsMutuallyExclusive("input", "input-file", "request")
	cmd.MarkFlagsMutuallyExclusive("unchecked", "request")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error { return call(a, cmd, &f, args[0], args[1]) })
	return cmd
}

// callArgs refuses a call without a function, and names the functions of the module.
func callArgs(cmd *cobra.Command, args []string) error {
	err := cli.Exactly("FILE|FOLDER", "FUNCTION")(cmd, args)
	if len(args) != 1 {
		return err
	}
	file, ferr := moduleFile(args[0])
	if ferr != nil {
		return err
	}
	if s, serr := spec.ReadFile(file); serr == nil {
		return fmt.Errorf("missing argument FUNCTION%s", cmp.Or(strict.Hint("", functions(s)), " ("+file+" exports none that can be called)"))
	}
	return err
}

// caseFlags are the flags that read and write cases.
func caseFlags(flags *pflag.FlagSet, f *callFlags) {
	flags.StringVar(&f.request, "request", "", "send the request of a case, and compare the answer")
	flags.StringVar(&f.record, "record", "", "save the calls in this folder as cases of plugin test")
}

// grantFlags are the flags that allow HTTP and services, and those that give a configuration.
func grantFlags(flags *pflag.FlagSet, f *callFlags) {
	flags.StringArrayVar(&f.config, "config", nil, "KEY=VALUE that the plugin reads with config_get; VALUE may be ${env:NAME} or ${file:NAME} (repeatable)")
	flags.BoolVar(&f.allowKV, "allow-kv", false, "allow the key-value store")
	flags.StringSliceVar(&f.services, "allow-service", nil, "allow a host service: count_tokens, or embed, search or llm with made-up answers")
	flags.StringArrayVar(&f.allowHost, "allow-host", nil, "allow HTTP requests to a server: HOST for https, HOST:PORT, *.example.com, http://HOST:PORT, PORT may be * (repeatable)")
	flags.StringSliceVar(&f.allowMethod, "allow-method", nil, "allow these HTTP methods only (default "+strings.Join(commonMethods, ",")+")")
	flags.BoolVar(&f.allowPrivate, "allow-private", false, "also allow private addresses (--allow-host with a private address implies it)")
}

// commonMethods are the methods that --allow-host allows, as in Extism.
var commonMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

func call(a *cli.App, cmd *cobra.Command, f *callFlags, file, function string) error {
	pc, err := f.pluginConfig(cmd)
	if err != nil {
		return err
	}
	base := config.Default()
	if err := a.Override(cmd, base); err != nil {
		return err
	}
	if err := configPairs(cmd, "--set", f.set, map[string]string{}); err != nil {
		return err
	}
	input, err := callInput(a, f, file, function)
	if err != nil {
		return err
	}
	if file, err = moduleFile(file); err != nil {
		return err
	}
	spec, err := spec.Reader{CacheDir: base.CachePath()}.ReadFile(file)
	if err != nil {
		return err
	}
	if pc.Links, err = f.links(cmd); err != nil {
		return err
	}
	if err := callable(spec, file, function); err != nil {
		return err
	}
	settings, err := f.stepSettings(cmd, spec, &pc)
	if err != nil {
		return err
	}
	c := &plannedCall{app: a, flags: f, spec: spec, config: pc, settings: settings, function: function, input: input}
	if err := c.prepare(); err != nil {
		return err
	}
	base.Telemetry.LogLevel = cmp.Or(base.Telemetry.LogLevel, "info")
	progress := cli.NewProgress(a)
	defer progress.Stop()
	c.host.Logger, c.host.CacheDir, c.host.OnCompile = slog.New(levelOnly{cli.LogLevel(&base.Config)}), base.CachePath(), progress.Compiling
	c.progress = progress
	return c.run(cmd.Context())
}

// plannedCall is a call that is made once or several times.
type plannedCall struct {
	app      *cli.App
	flags    *callFlags
	spec     *spec.Spec
	config   host.PluginConfig
	host     host.Config
	settings map[abi.Operation]map[string]any
	function string
	input    []byte
	progress *cli.Progress
	// one judges the answer, nil for nothing. own is the case of --request, nil for none.
	one *conformance.Single
	own *conformance.OwnCase
}

// prepare makes the input, and the configuration of the host.
func (c *plannedCall) prepare() (err error) {
	c.host.ImageCache, c.host.DefaultLimits, c.host.Lines = host.DefaultImageCache, neverBroken, true
	conform.Serve(&c.host, &c.config, c.flags.services, nil)
	switch {
	case c.flags.request != "":
		err = c.fromCase(c.flags.request)
	case !c.flags.unchecked:
		c.one, err = single(c.app, c.spec, c.settings, c.function, c.flags.inputFile, c.input)
	}
	if c.one != nil {
		c.input = c.one.Document
	}
	// A single plugin is bounded by its own limit.
	c.host.Memory = max(host.DefaultHostMemory, 4*c.config.Limits.Memory)
	return err
}

// run loads the plugin and makes the calls.
func (c *plannedCall) run(ctx context.Context) error {
	if c.own != nil {
		ctx = conformance.WithCase(ctx, c.own)
	}
	if dir := c.flags.record; dir != "" {
		if c.spec.Foreign {
			return fmt.Errorf("flag --record: %w (only operations of this contract can be repeated)", spec.ErrABIVersion)
		}
		recorder, err := recording.New(dir, recording.DefaultMaxBytes)
		if err != nil {
			return fmt.Errorf("flag --record: %w", err)
		}
		c.host.OnRecord = recorder.Add
		defer func() { c.app.Say("%s", recorder.Summary()) }()
	}
	h, err := host.New(c.host)
	if err != nil {
		return err
	}
	defer h.Close(context.WithoutCancel(ctx))
	plugin, err := h.Load(ctx, c.spec, c.config)
	if err != nil {
		return callError(c.app, err)
	}
	c.progress.Start(fmt.Sprintf("running %s", c.function))
	return repeat(ctx, c.app, c.flags, plugin, c.one, c.function, c.input)
}

// callable refuses a function that cannot be called. A batch needs a host that writes it.
func callable(s *spec.Spec, file, function string) error {
	if slices.Contains(s.Functions, function) {
		return nil
	}
	for _, o := range s.Operations {
		if o.HasLane(host.LaneBatch) && o.Operation.BatchExport() == function {
			return fmt.Errorf("%s: function %q: %w (it takes batches, which plugin call does not write: call %q, or run plugin test --lane batch)",
				file, function, host.ErrNoExport, o.Operation.JSONExport())
		}
	}
	return fmt.Errorf("%s: function %q: %w%s", file, function, host.ErrNoExport, cmp.Or(strict.Hint(function, functions(s)), " (it exports none that can be called)"))
}

// functions lists the exports that are worth a call: not what only a host calls.
func functions(s *spec.Spec) []string {
	return slices.DeleteFunc(slices.Clone(s.Functions), func(name string) bool {
		return !s.Foreign && (name == abi.Marker || name == abi.MailboxExport)
	})
}

// stepSettings returns the settings of --set by operation, and puts those of init into pc. Of a module
// of another host they are values of its configuration.
func (f *callFlags) stepSettings(cmd *cobra.Command, s *spec.Spec, pc *host.PluginConfig) (map[abi.Operation]map[string]any, error) {
	out := map[abi.Operation]map[string]any{}
	if s.Foreign {
		return out, configPairs(cmd, "--set", f.set, pc.Config)
	}
	for _, pair := range f.set {
		if err := set(out, s, pair); err != nil {
			return nil, cli.Usagef(cmd, "flag --set: %w (--config gives what the plugin reads with config_get)", err)
		}
	}
	pc.Settings = out[abi.OpInit]
	return out, nil
}

// configPairs puts pairs KEY=VALUE into a configuration.
func configPairs(cmd *cobra.Command, flag string, pairs []string, config map[string]string) error {
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return cli.Usagef(cmd, "flag %s: want KEY=VALUE, got %q", flag, pair)
		}
		config[key] = value
	}
	return nil
}

// resolve replaces references of the flag --config, whose values are secrets.
func resolve(cmd *cobra.Command, pc *host.PluginConfig) error {
	for key, value := range pc.Config {
		t, err := config.ParseText("flag --config "+key, value)
		if err != nil {
			return cli.Usagef(cmd, "flag --config %s: %w", key, err)
		}
		text, secrets, err := t.Resolve(func(path string) string { return path })
		if err != nil {
			return err
		}
		pc.Config[key], pc.Secrets = text, append(pc.Secrets, secrets...)
	}
	return nil
}

// fuelHelp is the help of --fuel.
var fuelHelp = fmt.Sprintf("units of fuel that one call may use; each instruction costs some (default: %d)", int64(host.DefaultFuel))

// neverBroken makes the host call a plugin that fails again and again, so that authors see
// each failure.
var neverBroken = host.Limits{BreakAfter: host.Unlimited}

// repeat calls the function the requested number of times and writes each output.
func repeat(ctx context.Context, a *cli.App, f *callFlags, plugin *host.Plugin, one *conformance.Single, function string, input []byte) error {
	times := make([]time.Duration, 0, max(0, f.repeat))
	for range f.repeat {
		start := time.Now()
		result, err := plugin.Call(ctx, function, input)
		if err != nil {
			return callError(a, err)
		}
		guestLog(a, result.Log)
		times = append(times, time.Since(start))
		b := bytes.NewBuffer(result.Output)
		if f.repeat > 1 {
			b.WriteByte('\n')
		}
		if err := a.Emit(b); err != nil {
			return err
		}
		if err := finish(ctx, a, one, plugin.Spec().Foreign, result); err != nil {
			return err
		}
	}
	if len(times) > 1 {
		slices.Sort(times)
		a.Say("%d calls: fastest %v, median %v, slowest %v", len(times), times[0], times[len(times)/2], times[len(times)-1])
	}
	return nil
}

// levelOnly enables a log level and drops the records, because the log of a guest is part of
// the result of a call.
type levelOnly struct{ level slog.Level }

func (l levelOnly) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }
func (l levelOnly) Handle(context.Context, slog.Record) error        { return nil }
func (l levelOnly) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l levelOnly) WithGroup(string) slog.Handler                    { return l }

// callInput reads the input. More than one call may receive is an error.
func callInput(a *cli.App, f *callFlags, file, function string) ([]byte, error) {
	if f.inputFile == "" {
		return []byte(f.input), nil
	}
	r, name, err := a.Open(f.inputFile)
	if err != nil {
		return nil, fmt.Errorf("flag --input-file: %w", err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, host.DefaultInput+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read input: %w", err)
	case len(data) > host.DefaultInput:
		return nil, &host.PluginError{
			Plugin: file, Operation: abi.Operation(function), Code: abi.ReasonInputTooLarge,
			Err: fmt.Errorf("%s: more than %s", name, sizeText(host.DefaultInput)), Remedy: "send less in one call",
		}
	}
	return data, nil
}

// pluginConfig converts the flags to the configuration of a plugin.
func (f *callFlags) pluginConfig(cmd *cobra.Command) (host.PluginConfig, error) {
	pc := host.PluginConfig{WASI: f.wasi, State: host.StateKeep, Config: map[string]string{}}
	var timeout, load config.Duration
	var memory config.Size
	for _, flag := range []struct {
		name, value string
		read        func([]byte) error
	}{{"--timeout", f.timeout, timeout.UnmarshalText}, {"--memory-max", f.memory, memory.UnmarshalText}, {"--load-time", f.loadTime, load.UnmarshalText}} {
		if flag.value == "" {
			continue
		}
		if err := flag.read([]byte(flag.value)); err != nil {
			return pc, cli.Usagef(cmd, "flag %s: %w", flag.name, err)
		}
	}
	if f.fuel < 0 || f.repeat < 1 {
		return pc, cli.Usagef(cmd, "--fuel must be 0 or more, --repeat 1 or more")
	}
	pc.Limits = host.Limits{Timeout: time.Duration(timeout), InitTimeout: time.Duration(timeout), Memory: int64(memory), Fuel: f.fuel, LoadTime: time.Duration(load)}
	if err := configPairs(cmd, "--config", f.config, pc.Config); err != nil {
		return pc, err
	}
	if err := resolve(cmd, &pc); err != nil {
		return pc, err
	}
	if f.allowKV {
		pc.Grants.KV = &host.KVGrant{}
	}
	for _, name := range f.services {
		if !slices.Contains(conform.Served, name) {
			pc.Grants.Services = append(pc.Grants.Services, name)
		}
	}
	var err error
	if pc.Grants.Files, err = f.mounts(cmd); err != nil {
		return pc, err
	}
	if len(f.allowHost) == 0 && len(f.allowMethod) > 0 {
		return pc, cli.Usagef(cmd, "--allow-method has no meaning without --allow-host")
	}
	if len(f.allowHost) > 0 {
		pc.Grants.HTTP = f.httpGrant()
	}
	return pc, nil
}

// loadFlags adds the flags about a module's start.
func loadFlags(flags *pflag.FlagSet, f *callFlags) {
	flags.StringVar(&f.memory, "memory-max", "", "maximum linear memory, such as 64MiB")
	flags.StringVar(&f.loadTime, "load-time", "", "longest estimated time to load the module, such as 30s (default 5s, or 2s per MiB of code)")
}

// mounts returns the folders that the module can access.
func (f *callFlags) mounts(cmd *cobra.Command) ([]host.FileGrant, error) {
	var quota config.Size
	if f.pathQuota != "" {
		if err := quota.UnmarshalText([]byte(f.pathQuota)); err != nil {
			return nil, cli.Usagef(cmd, "flag --path-quota: %w", err)
		}
	}
	var out []host.FileGrant
	for _, spec := range f.allowPath {
		mount, ok := parseMount(spec)
		if !ok {
			return nil, cli.Usagef(cmd, "flag --allow-path: want [ro:]HOST:GUEST, got %q", spec)
		}
		mount.Quota = int64(quota)
		out = append(out, mount)
	}
	return out, nil
}

func (f *callFlags) httpGrant() *host.HTTPGrant {
	methods := f.allowMethod
	if len(methods) == 0 {
		methods = commonMethods
	}
	return &host.HTTPGrant{
		Hosts: f.allowHost, Methods: methods, Private: f.allowPrivate || slices.ContainsFunc(f.allowHost, isPrivate),
	}
}

// links reads the modules from which the module imports.
func (f *callFlags) links(cmd *cobra.Command) ([]host.Link, error) {
	var out []host.Link
	for _, pair := range f.link {
		name, file, ok := strings.Cut(pair, "=")
		if !ok || name == "" || file == "" {
			return nil, cli.Usagef(cmd, "flag --link: want NAME=FILE.wasm, got %q", pair)
		}
		spec, err := spec.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("link %q: %w", name, err)
		}
		out = append(out, host.Link{Name: name, Spec: spec})
	}
	return out, nil
}

// parseMount reads [ro:]HOST:GUEST. The guest path has no colon; the host path
// may.
func parseMount(spec string) (host.FileGrant, bool) {
	g := host.FileGrant{Mode: host.ModeRW}
	if rest, ok := strings.CutPrefix(spec, "ro:"); ok {
		g.Mode, spec = host.ModeRO, rest
	}
	i := strings.LastIndexByte(spec, ':')
	if i < 1 || i == len(spec)-1 {
		return g, false
	}
	g.Host, g.Guest = spec[:i], spec[i+1:]
	return g, true
}

// isPrivate reports whether a pattern names a server that can only be in a private network.
func isPrivate(pattern string) bool {
	p, err := manifest.ParseHostPattern(pattern)
	if err != nil || !p.Addr.IsValid() {
		return err == nil && p.Name == "localhost"
	}
	return p.Addr.IsPrivate() || p.Addr.IsLoopback() || p.Addr.IsLinkLocalUnicast()
}
