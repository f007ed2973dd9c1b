package plugincmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/nearest"
)

// compiled is one plugin of the report.
type compiled struct {
	Name   string `json:"name"`
	TookMS int64  `json:"took_ms"`
	// Error says why the plugin has no machine code. "" means that it has.
	Error string `json:"error,omitempty"`
}

func compileCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compile [flags] [PLUGIN...]",
		Short: "Compile plugins into the cache, so that the next start is fast",
		Long: `Compile plugins of the plugin folder into the cache folder, all of them by default.
No code of a plugin is run. A step of an image that calls it saves each container
the time: a plugin of 4 MB takes some seconds of a processor. Machine code counts
only for the user, the version of anchor-host and the kind of processor that made it;
others compile again.`,
		Example: `  anchor-host plugin compile
  anchor-host plugin compile keep-best --plugins build/plugins`,
	}
	cli.ConfigFlag(cmd)
	cli.PluginsFlag(cmd)
	return a.Command(cmd, func(cmd *cobra.Command, names []string) (none cli.Listing, err error) {
		loaded, err := a.Load(cmd)
		if err != nil {
			return none, err
		}
		if loaded.CachePath() == host.CacheOff {
			return none, fmt.Errorf("plugins.cache_dir: %w: it is off, so nothing can be kept (name a folder)", config.ErrInvalid)
		}
		entries, err := wantedPlugins(a, loaded, names)
		if err != nil {
			return none, err
		}
		l, failed := compileAll(cmd.Context(), a, loaded, entries)
		if len(l.Rows) > 0 {
			err = a.Print(cli.Format(cmd), l)
		}
		return none, errors.Join(err, failed)
	})
}

// wantedPlugins returns the plugins of the folder with these names, all for none.
func wantedPlugins(a *cli.App, loaded *config.Loaded, names []string) ([]spec.Entry, error) {
	entries, err := spec.Reader{CacheDir: loaded.CachePath()}.ReadDir(loaded.PluginDir())
	if err != nil {
		return nil, assemble.FolderError(loaded.PluginDir(), assemble.Guard(loaded), err)
	}
	notes, err := assemble.Guard(loaded).Hold(entries)
	if err != nil || len(names) == 0 {
		return entries, err
	}
	for _, note := range notes {
		a.Say("note: %s", note)
	}
	byName := map[string]spec.Entry{}
	for _, e := range entries {
		byName[e.Name] = e
	}
	wanted := make([]spec.Entry, len(names))
	for i, name := range names {
		var there bool
		if wanted[i], there = byName[name]; !there {
			return nil, fmt.Errorf("%s: %w: there is no plugin %q%s", loaded.PluginDir(), config.ErrInvalid, name,
				nearest.Hint(name, slices.Collect(maps.Keys(byName))))
		}
	}
	return wanted, nil
}

// compileAll compiles plugins, as many at a time as the host lets. The error is of those that were not
// compiled.
func compileAll(ctx context.Context, a *cli.App, loaded *config.Loaded, entries []spec.Entry) (l cli.Listing, err error) {
	progress := cli.NewProgress(a)
	defer progress.Stop()
	h, err := host.New(host.Config{CacheDir: loaded.CachePath(), ImageCache: host.DefaultImageCache, Logger: a.Logger(&loaded.Config), OnCompile: progress.Compiling})
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	lines, failures := make([]compiled, len(entries)), make([]error, len(entries))
	var wg sync.WaitGroup
	for i, e := range entries {
		wg.Go(func() {
			start := time.Now()
			if failures[i] = e.Err; e.Err == nil {
				failures[i] = h.Compile(ctx, e.Spec, compileConfig(&loaded.Config, e.Name))
			}
			lines[i] = compiled{Name: e.Name, TookMS: time.Since(start).Milliseconds()}
		})
	}
	wg.Wait()
	progress.Stop()
	l = cli.Listing{Header: []string{"NAME", "TIME", "STATUS"}, Data: lines}
	for i := range lines {
		status := "ok"
		if failures[i] != nil {
			lines[i].Error = failures[i].Error()
			status = "failed"
		}
		l.Rows = append(l.Rows, []string{lines[i].Name, fmt.Sprintf("%d ms", lines[i].TookMS), status})
	}
	return l, errors.Join(failures...)
}

// compileConfig is what an instance of the configuration says about loading a plugin. The first one by
// its name counts, and a plugin without an instance has the defaults.
func compileConfig(c *config.Config, plugin string) host.PluginConfig {
	for _, name := range slices.Sorted(maps.Keys(c.Plugins.Instances)) {
		if i := c.Plugins.Instances[name]; i.Plugin == plugin {
			return host.PluginConfig{Name: plugin, Limits: assemble.Limits(i.Limits)}
		}
	}
	return host.PluginConfig{Name: plugin}
}
