package rolloutcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cluster"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/parts"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/startup"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/registry/lock"
	"github.com/anchor-host/anchor-host/registry/trust"
	"github.com/anchor-host/anchor-host/store"
)

func start(a *cli.App) *cobra.Command {
	o := cluster.Start{}
	var steps []int
	cmd := &cobra.Command{
		Use:   "start [flags] FILE",
		Short: "Begin to give the hosts another anchor.yaml",
		Long: `Check FILE, an anchor.yaml, with the anchor.lock beside it as "config validate" does, and give
it to the hosts as a candidate. Sections server and store are not taken from it: each
host has its own. Every plugin must be in anchor.lock. Hosts take plugins from their
plugin folder or from the registry, by digest. The first version is for all
conversations at once.

The candidate gets the shares of --steps, each for the time of --every and for as many
builds as --least says; --every 0 waits for "rollout resume --next". It is taken back on all
hosts when it is beyond a bound, with an error of at most --error for the whole rollout.`,
		Example: `  anchor-host rollout start anchor.yaml
  anchor-host rollout start new/anchor.yaml --steps 5,50,100 --every 1h --latency 1.2`,
		Args: cli.Exactly("FILE"),
	}
	f := cmd.Flags()
	f.IntSliceVar(&steps, "steps", cluster.DefaultSteps(), "shares of the conversations, in percent")
	f.DurationVar(&o.Every, "every", 10*time.Minute, "how long each share stays at least; 0: until rollout resume --next")
	f.Float64Var(&o.Bounds.Failures, "failures", 0.01, "how much greater the share of builds may be that fail or lack a step")
	f.Float64Var(&o.Bounds.Latency, "latency", 1.5, "how many times the time of the stable version builds may need")
	f.Float64Var(&o.Bounds.Fuel, "fuel", 1.5, "how many times the fuel of the stable version builds may need")
	f.Int64Var(&o.Bounds.Least, "least", 50, "builds of the candidate before anything is decided")
	f.Float64Var(&o.Bounds.Error, "error", 0.01, "largest probability with which a candidate within the bounds is taken back")
	f.StringVar(&o.Why, "reason", "", "why, for the status")
	return command(a, cmd, func(ctx context.Context, s store.Store, own *config.Loaded, args []string) (l cli.Listing, err error) {
		o.Steps, o.Who = steps, who()
		if o.Config, o.Lock, err = documents(ctx, a, s, own, args[0]); err != nil {
			return l, err
		}
		d, err := cluster.Begin(ctx, s, o)
		if err != nil {
			return l, err
		}
		return cli.Listing{Text: sentence(d) + "\n", Data: d}, nil
	})
}

// documents reads and checks a configuration and its lock.
func documents(ctx context.Context, a *cli.App, s store.Store, own *config.Loaded, path string) (text, locked []byte, err error) {
	loaded, err := a.LoadFile(path)
	if err != nil {
		return nil, nil, err
	}
	if text, err = os.ReadFile(path); err != nil {
		return nil, nil, fmt.Errorf("read configuration: %w", err)
	}
	if locked, err = os.ReadFile(loaded.LockPath()); errors.Is(err, fs.ErrNotExist) {
		locked = nil
	} else if err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", lock.Name, err)
	}
	if loaded.Trust.Require != string(trust.RequireSigned) {
		loaded.Trust.Require = string(trust.RequireDigest) // or hosts could not say which module is meant
	}
	warnings, wrong := assemble.Validate(loaded, loaded.PluginDir(), parts.Checks(loaded))
	for _, w := range warnings {
		a.Say("%s", w)
	}
	// What a host reads at its start is read as the host does: with its own sections and in its own folder.
	f := config.Followed{Name: path, Data: text, Lock: loaded.LockPath(), Plugins: loaded.PluginDir()}
	remove, err := keysOf(ctx, s, &f)
	if err != nil {
		return nil, nil, err
	}
	defer remove()
	followed, err := own.Follow(f)
	if err != nil {
		return nil, nil, errors.Join(wrong, err)
	}
	ready, failed := startup.Read(ctx, followed, a.Logger(&loaded.Config))
	ready.Close(ctx)
	return text, locked, errors.Join(wrong, failed)
}

// keysOf puts the keys of the cluster, if it has some, into a file that remove removes.
func keysOf(ctx context.Context, s store.Store, f *config.Followed) (remove func(), err error) {
	digest, err := cluster.KeysDigest(ctx, s)
	if err != nil || digest == "" {
		return func() {}, err
	}
	data, err := cluster.Document(ctx, s, digest)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "anchor-host-keys")
	if err != nil {
		return nil, err
	}
	f.Keys = filepath.Join(dir, "keys.yaml")
	return func() { _ = os.RemoveAll(dir) }, os.WriteFile(f.Keys, data, 0o600)
}
