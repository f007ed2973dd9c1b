package plugincmd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
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
		Use:   "compile [flags] [PLUGIN|INSTANCE...]",
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
		if len(names) == 0 {
			if names, err = folderNames(loaded); err != nil {
				return none, err
			}
		}
		l, failed := compileAll(cmd.Context(), a, loaded, names)
		if failed == nil || len(l.Rows) > 0 {
			err = a.Print(cli.Format(cmd), l)
		}
		return none, errors.Join(err, failed)
	})
}

// folderNames returns the names of all plugins of the folder.
func folderNames(loaded *config.Loaded) (names []string, err error) {
	entries, err := spec.Reader{CacheDir: loaded.CachePath()}.ReadDir(loaded.PluginDir())
	if err != nil {
		return nil, assemble.FolderError(loaded.PluginDir(), assemble.Guard(loaded), err)
	}
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names, nil
}

// compileAll compiles plugins, as many at a time as the host lets. The error is of those that were not
// compiled.
func compileAll(ctx context.Context, a *cli.App, loaded *config.Loaded, names []string) (l cli.Listing, err error) {
	progress := cli.NewProgress(a)
	defer progress.Stop()
	h, err := host.New(host.Config{CacheDir: loaded.CachePath(), ImageCache: host.DefaultImageCache, Logger: a.Logger(&loaded.Config), OnCompile: progress.Compiling})
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	if _, err := h.CacheDir(); err != nil {
		return l, fmt.Errorf("plugins.cache_dir: nothing would be kept: %w", err)
	}
	lines, failures := make([]compiled, len(names)), make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() {
			start := time.Now()
			module, instance, err := findPlugin(loaded, name)
			if err == nil {
				cfg := host.PluginConfig{Name: name}
				if instance != nil {
					cfg.Limits = assemble.Limits(instance.Limits)
				}
				err = h.Compile(ctx, module, cfg)
			}
			failures[i] = err
			lines[i] = compiled{Name: name, TookMS: time.Since(start).Milliseconds()}
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
