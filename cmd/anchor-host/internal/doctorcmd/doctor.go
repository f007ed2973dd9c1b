// Package doctorcmd implements "anchor-host doctor", which checks the machine, the
// configuration, the store and the plugins.
package doctorcmd

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/startup"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/registry/lock"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/tokens"
)

// Command returns "doctor".
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the machine and the set-up",
		Long: `Check the machine and the set-up: versions, the engine and the internals of wazero
that it uses, how the state of plugins is reset, the folder of compiled plugins,
the configuration, how it counts tokens, the folders that it grants, everything that
serve reads at its start, the environment, the store with all its records, the
collections of retrievers, free disk space for the store and for compiled plugins,
limits of the system (memory of the control group, addresses, open files), and every
plugin of the plugin folder, which is held against anchor.lock. Collections are looked
for in all tenants of the keys and of the store, or in that of --tenant. The exit code
is 1 if there is a problem.`,
		Example: `  anchor-host doctor
  anchor-host doctor --tenant acme
  anchor-host doctor -o json`,
		Args: cobra.NoArgs,
	}
	cli.HostFlags(cmd)
	cli.StoreFileFlag(cmd)
	cmd.Flags().String("tenant", "", "look for collections in this tenant only (default: all tenants)")
	format := cli.FormatFlag(cmd, "table", "json", "yaml")
	cmd.RunE = a.Run(func(cmd *cobra.Command, _ []string) error {
		findings := examine(a, cmd)
		l := cli.Listing{Header: []string{"CHECK", "STATUS", "DETAIL"}, Data: findings}
		problems := 0
		for _, f := range findings {
			l.Rows = append(l.Rows, []string{f.Check, f.Status, cli.OneCell(f.Detail)})
			if f.Status == statusProblem {
				problems++
			}
		}
		if err := a.Print(*format, l); err != nil {
			return err
		}
		if problems > 0 {
			return fmt.Errorf("doctor found problems: %d", problems)
		}
		return nil
	})
	return cmd
}

// configurationFinding says which file it is, and what of it no command can use.
func configurationFinding(loaded *config.Loaded) finding {
	if list := loaded.InGo(); len(list) > 0 {
		return finding{"configuration", statusProblem, fmt.Sprintf("%s.use: %s is in Go, and the command has no such parts (run the program that registers it)", list[0].Path, list[0].Use)}
	}
	return finding{"configuration", statusOK, cmp.Or(loaded.File, "no file, defaults only")}
}

// examine makes all checks, in the order in which they are printed.
func examine(a *cli.App, cmd *cobra.Command) []finding {
	v := cli.ReadBuildInfo()
	findings := []finding{
		{"version", statusOK, fmt.Sprintf("anchor-host %s, ABI %d, %s, wazero %s", v.Version, v.ABI, v.Go, v.Wazero)},
		engineFinding(),
	}
	findings = append(findings, hostFindings(cmd.Context())...)
	loaded, err := a.Load(cmd)
	if err != nil {
		findings = append(findings, finding{"configuration", statusProblem, err.Error()})
		if loaded = config.Default(); a.Override(cmd, loaded) != nil { // flags apply even without a valid file
			loaded = config.Default()
		}
	} else {
		findings = append(findings, configurationFinding(loaded))
	}
	findings = append(findings, tokensFinding(&loaded.Config, loaded.Path))
	findings = append(findings, environmentFindings(os.Environ())...)
	findings = append(findings, cacheFinding(loaded), storeFinding(cmd.Context(), loaded.StorePath()))
	findings = append(findings, grantFindings(loaded)...)
	start, tenants := startFindings(cmd.Context(), loaded)
	if tenants == nil || cmd.Flags().Changed("tenant") {
		tenants = []string{loaded.TenantName()}
	}
	findings = append(findings, start...)
	findings = append(findings, retrieverFindings(cmd.Context(), loaded, tenants, !cmd.Flags().Changed("tenant"))...)
	cache, _ := cachePath(loaded) // cacheFinding reports this error
	findings = append(findings, diskFinding("store disk", storePath(loaded)), diskFinding("cache disk", cache),
		addressFinding(), filesFinding())
	for _, w := range assemble.Unguarded(loaded, loaded.PluginDir()) {
		findings = append(findings, finding{"must", statusWarning, strings.TrimPrefix(w, "warning: ")})
	}
	findings = append(findings, hookFindings(time.Now())...)
	return append(findings, pluginFindings(loaded)...)
}

// tokensFinding says how the tokens of the pipeline at the top level are counted.
func tokensFinding(c *config.Config, path func(string) string) finding {
	switch {
	case c.Model != "" && c.Tokenizer.File == "":
		m, err := tokens.LookupModel(c.Model)
		switch {
		case err != nil:
			return finding{"tokens", statusWarning, err.Error()}
		case m.Exact():
			return finding{"tokens", statusOK, fmt.Sprintf("%s: exact, by %s", c.Model, m.Encoding)}
		}
		return finding{"tokens", statusOK, fmt.Sprintf("%s: %v to %v of those of %s (%s)", c.Model, m.Low, m.High, m.Encoding, m.Source)}
	case c.Tokenizer.File != "":
		file := path(c.Tokenizer.File)
		if _, err := tokens.ReadFile(file); err != nil {
			return finding{"tokens", statusProblem, err.Error()}
		}
		return finding{"tokens", statusOK, "exact, by " + file}
	}
	return finding{"tokens", statusOK, "by " + cmp.Or(c.Tokenizer.String(), pipeline.DefaultEncoding)}
}

// grantFindings report mistakes in the grants of the instances, and in the folders that the
// grants name.
func grantFindings(loaded *config.Loaded) []finding {
	var findings []finding
	for _, name := range slices.Sorted(maps.Keys(loaded.Plugins.Instances)) {
		for _, err := range assemble.CheckGrants(loaded.Plugins.Instances[name].Grants, loaded.Path) {
			findings = append(findings, finding{"instance " + name, statusProblem, err.Error()})
		}
	}
	return findings
}

// startFindings say of each part that serve reads at its start what is wrong with it. It returns the tenants
// of the keys, nil if there are no keys.
func startFindings(ctx context.Context, loaded *config.Loaded) (findings []finding, tenants []string) {
	ready, _ := startup.Read(ctx, loaded, slog.New(slog.DiscardHandler)) // the checks have the error
	defer ready.Close(ctx)
	for _, c := range ready.Checks {
		switch {
		case c.Part == startup.Store: // storeFinding says more
		case c.Err != nil:
			findings = append(findings, finding{c.Part, statusProblem, c.Err.Error()})
		case c.Detail != "":
			findings = append(findings, finding{c.Part, statusOK, c.Detail})
		}
	}
	if f := certificateFinding(ready.Options.TLS); f != nil {
		findings = append(findings, *f)
	}
	if ready.Keys != nil {
		tenants = ready.Keys.Tenants()
	}
	return findings, tenants
}

// certificateFinding says until when the certificate of the service is valid. It is nil for a service without one, and
// for files that a start would refuse.
func certificateFinding(files server.TLS) *finding {
	until, err := files.Until()
	if files.Cert == "" || err != nil {
		return nil
	}
	var invalid x509.CertificateInvalidError
	switch problem := files.Problem(); {
	case problem == nil:
		return &finding{"certificate", statusOK, fmt.Sprintf("%s is valid until %s", files.Cert, until.Format(time.DateOnly))}
	case errors.As(problem, &invalid):
		return &finding{"certificate", statusProblem, problem.Error()}
	default:
		return &finding{"certificate", statusWarning, problem.Error()}
	}
}

// compilerPlatforms are the platforms for which wazero has a compiler.
var compilerPlatforms = []string{
	"linux/amd64", "darwin/amd64", "freebsd/amd64", "netbsd/amd64", "dragonfly/amd64", "windows/amd64",
	"linux/arm64", "darwin/arm64", "freebsd/arm64", "netbsd/arm64", "windows/arm64",
}

// engineFinding says whether plugins are compiled to machine code on this platform.
func engineFinding() finding {
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if slices.Contains(compilerPlatforms, platform) {
		return finding{"engine", statusOK, "compiler on " + platform}
	}
	return finding{"engine", statusWarning, "interpreter on " + platform + ": plugins run many times slower"}
}

// hostFindings describe the features of a plugin host on this machine.
func hostFindings(ctx context.Context) (findings []finding) {
	h, err := host.New(host.Config{CacheDir: host.CacheOff})
	if err != nil {
		return []finding{{"features", statusProblem, err.Error()}}
	}
	defer h.Close(ctx)
	return []finding{featureFinding(h), stateFinding(ctx, h), memoryFinding(h.Stats().MaxMemory)}
}

// stateFinding says how the state of plugins is restored between calls.
func stateFinding(ctx context.Context, h *host.Host) finding {
	line, quick, err := h.Strategy(ctx)
	switch {
	case err != nil:
		return finding{"state", statusProblem, err.Error()}
	case !quick:
		return finding{"state", statusWarning, line}
	}
	line, _, _ = strings.Cut(line, "; stacks hold ") // which nothing can change
	return finding{"state", statusOK, line}
}

// featureFinding says which undocumented features of wazero the host uses, and which it does
// without.
func featureFinding(h *host.Host) finding {
	f := finding{Check: "features", Status: statusOK}
	var on, off []string
	for _, is := range h.Features() {
		if is.On {
			on = append(on, is.Name)
			continue
		}
		off = append(off, fmt.Sprintf("%s is off, %s: %s", is.Name, is.Why, is.Without))
		if is.Unexpected {
			f.Status = statusWarning
		}
	}
	uses := "uses none"
	if len(on) > 0 {
		uses = "uses " + strings.Join(on, ", ")
	}
	f.Detail = strings.Join(append([]string{uses}, off...), "; ")
	return f
}

// environmentFindings report variables that look like settings but are unknown.
func environmentFindings(environ []string) (findings []finding) {
	for _, what := range cli.UnknownVariables(environ) {
		findings = append(findings, finding{"environment", statusWarning, what})
	}
	if findings == nil {
		findings = []finding{{"environment", statusOK, "no unknown variable " + config.EnvPrefix + "*"}}
	}
	return findings
}

// cacheFinding says whether compiled plugins are kept. It tries to write to the cache folder.
func cacheFinding(loaded *config.Loaded) finding {
	dir, err := cachePath(loaded)
	switch {
	case err != nil:
		return finding{"cache", statusWarning, fmt.Sprintf("%v: every command compiles plugins again (set cache_dir)", err)}
	case dir == "":
		return finding{"cache", statusWarning, "off: every command compiles plugins again"}
	}
	if err := cacheTrouble(dir); err != nil {
		return finding{"cache", statusWarning, fmt.Sprintf("%v: every command compiles plugins again (or set cache_dir to another folder)", err)}
	}
	if err := folderWritable(dir); err != nil {
		return finding{"cache", statusProblem, fmt.Sprintf("%v (set cache_dir to a folder that can be written and has room)", err)}
	}
	return finding{"cache", statusOK, dir + " can be written"}
}

// cacheTrouble returns the reason why a host does not use a cache folder.
func cacheTrouble(dir string) error {
	h, err := host.New(host.Config{CacheDir: dir})
	if err != nil {
		return err
	}
	_, err = h.CacheDir()
	return errors.Join(err, h.Close(context.Background()))
}

// pluginFindings say of each plugin in the plugin folder whether it can be used.
func pluginFindings(loaded *config.Loaded) []finding {
	dir := loaded.PluginDir()
	entries, err := spec.ReadDir(dir)
	findings := []finding{{"plugins", statusOK, fmt.Sprintf("%d in %s", len(entries), dir)}}
	if err != nil {
		findings = []finding{{"plugins", statusWarning, assemble.FolderError(dir, assemble.Guard(loaded), err).Error()}}
	}
	lockFinding, drifts := lockFindings(loaded, entries)
	findings = append(findings, lockFinding...)
	for _, e := range entries {
		f := finding{"plugin " + e.Name, statusOK, e.Path}
		drift := drifts[e.Name]
		delete(drifts, e.Name)
		switch {
		case e.Err != nil:
			f.Status, f.Detail = statusProblem, e.Err.Error()
		case drift.Status != "":
			f = drift
		case len(e.Spec.Warnings) > 0:
			f.Status, f.Detail = statusWarning, strings.Join(e.Spec.Warnings, "; ")
		}
		findings = append(findings, f)
	}
	for _, name := range slices.Sorted(maps.Keys(drifts)) { // the folder lacks them
		findings = append(findings, drifts[name])
	}
	return findings
}

// lockFindings hold plugins against anchor.lock and trust. The map has those that differ, by name.
func lockFindings(loaded *config.Loaded, entries []spec.Entry) ([]finding, map[string]finding) {
	guard := assemble.Guard(loaded)
	f, err := guard.File()
	if err != nil {
		return []finding{{"lock", statusProblem, err.Error()}}, nil
	}
	drifts := map[string]finding{}
	for _, d := range f.Check(entries, guard.Policy) {
		line := finding{"plugin " + d.Plugin, statusProblem, d.Error()}
		if d.Allowed {
			line.Status = statusWarning
		}
		if f.Plugins != nil || !d.Allowed {
			drifts[d.Plugin] = line
		}
	}
	switch {
	case f.Plugins == nil:
		return []finding{{"lock", statusOK, "no " + lock.Name + ": nothing notices when the file of a plugin changes (begin one with: anchor-host plugin approve NAME)"}}, drifts
	case len(drifts) > 0:
		return []finding{{"lock", statusWarning, fmt.Sprintf("%s not as %s says", cli.Count(len(drifts), "plugin"), guard.Path)}}, drifts
	}
	return []finding{{"lock", statusOK, fmt.Sprintf("%s as %s says", cli.Count(len(f.Plugins), "plugin"), guard.Path)}}, drifts
}
