package plugincmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/assemble"
)

// pluginLine is one plugin of a listing.
type pluginLine struct {
	Name       string      `json:"name"`
	Version    string      `json:"version,omitempty"`
	Operations []string    `json:"operations,omitempty"`
	Lanes      []host.Lane `json:"lanes,omitempty"`
	Size       int64       `json:"size,omitempty"`
	Digest     string      `json:"digest,omitempty"`
	// Pin is the digest to write into a configuration.
	Pin  string `json:"pin,omitempty"`
	Path string `json:"path"`
	// Deprecated says what to use instead of a plugin that is deprecated.
	Deprecated string `json:"deprecated,omitempty"`
	// Status is "ok", or the problem and its remedy.
	Status   string   `json:"status"`
	Warnings []string `json:"warnings,omitempty"`
}

func listCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the plugins of the plugin folder",
		Long: `List the plugins of the plugin folder. If a plugin cannot be used, the list shows
why, also if anchor.lock or trust of the configuration refuses it. No plugin is run.`,
		Example: `  anchor-host plugin list --plugins build/plugins
  anchor-host plugin list -o json`,
		Args: cobra.NoArgs,
	}
	cli.ConfigFlag(cmd)
	cli.PluginsFlag(cmd)
	return a.Command(cmd, func(cmd *cobra.Command, _ []string) (l cli.Listing, err error) {
		loaded, err := a.Load(cmd)
		if err != nil {
			return l, err
		}
		entries, err := spec.Reader{CacheDir: loaded.CachePath()}.ReadDir(loaded.PluginDir())
		if err != nil {
			return l, assemble.FolderError(loaded.PluginDir(), assemble.Guard(loaded), err)
		}
		notes, err := assemble.Guard(loaded).Hold(entries)
		if err != nil {
			return l, err
		}
		for _, note := range notes {
			a.Say("note: %s", note)
		}
		return pluginListing(entries), nil
	})
}

func pluginListing(entries []spec.Entry) cli.Listing {
	lines := make([]pluginLine, len(entries))
	l := cli.Listing{Header: []string{"NAME", "VERSION", "OPERATIONS", "LANES", "SIZE", "DIGEST", "STATUS"}, Data: lines}
	for i, e := range entries {
		lines[i] = newPluginLine(e)
		p := lines[i]
		size, digest := "-", "-"
		if p.Digest != "" {
			size, digest = sizeText(p.Size), shortDigest(p.Digest)
		}
		l.Rows = append(l.Rows, []string{
			p.Name, cli.Dash(p.Version), cli.Dash(strings.Join(p.Operations, ",")), cli.Dash(laneNames(p.Lanes, ",")),
			size, digest, p.Status,
		})
	}
	return l
}

func newPluginLine(e spec.Entry) pluginLine {
	p := pluginLine{Name: e.Name, Path: e.Path, Status: "ok"}
	if e.Err != nil {
		p.Status = strings.TrimPrefix(cli.OneCell(e.Err.Error()), fmt.Sprintf("plugin %q: ", e.Name))
		return p
	}
	p.Size, p.Digest, p.Pin, p.Warnings = e.Spec.Size, e.Spec.Digest, e.Spec.Pin(), e.Spec.Warnings
	if e.Spec.Foreign {
		p.Status = "foreign module: functions can be called, it has no operations"
		return p
	}
	p.Version, p.Deprecated = e.Spec.Manifest.Version, e.Spec.Manifest.Deprecated
	lanes := map[host.Lane]bool{}
	for _, o := range e.Spec.Operations {
		p.Operations = append(p.Operations, string(o.Operation))
		for _, lane := range o.Lanes {
			lanes[lane] = true
		}
	}
	for _, lane := range []host.Lane{host.LaneJSON, host.LaneBatch} {
		if lanes[lane] {
			p.Lanes = append(p.Lanes, lane)
		}
	}
	switch {
	case p.Deprecated != "":
		p.Status = "deprecated: " + cli.OneCell(p.Deprecated)
	case len(p.Warnings) > 0:
		p.Status = "ok, warning: " + p.Warnings[0]
	}
	return p
}
