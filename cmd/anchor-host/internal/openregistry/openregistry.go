// Package openregistry makes the client of registries for a command, from its flags and its
// configuration.
package openregistry

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/registry"
)

// Flags are the flags of commands that use registries.
type Flags struct {
	// Offline is --offline: no connection is opened.
	Offline bool
	// Cache is the folder in which artifacts are kept, "" for the one of the user.
	Cache string
	// PlainHTTP are registries that are asked without TLS, Mirrors are REGISTRY=SERVER. Both come
	// before what the configuration says.
	PlainHTTP, Mirrors []string
	// Timeout is how long a registry may take for one thing, 0 for the default.
	Timeout time.Duration
}

// Add adds the flags to a command that can do without a network.
func (f *Flags) Add(cmd *cobra.Command) {
	f.AddOnline(cmd)
	cmd.Flags().BoolVar(&f.Offline, "offline", false, "open no connection: take everything from the cache")
}

// AddOnline adds the flags to a command that needs a network.
func (f *Flags) AddOnline(cmd *cobra.Command) {
	f.AddCache(cmd)
	cmd.Flags().StringSliceVar(&f.PlainHTTP, "plain-http", nil, "registries that are asked without TLS, such as registry.internal:5000")
	cmd.Flags().StringArrayVar(&f.Mirrors, "mirror", nil, "REGISTRY=SERVER: ask SERVER before REGISTRY when something is pulled")
	cmd.Flags().DurationVar(&f.Timeout, "timeout", registry.DefaultTimeout, "how long a registry may take for a plugin, a signature or a list, with all waits")
	cli.SettingFlag(cmd, "timeout", "") // the timeout of the configuration is that of builds
}

// AddCache adds the flag of the cache alone.
func (f *Flags) AddCache(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Cache, "registry-cache", "", "folder in which artifacts are kept (default: in the cache folder of the user)")
}

// Client makes a client that draws its transfers on b, unless b is nil. The caller closes it.
func (f *Flags) Client(cmd *cobra.Command, b *Bar, r config.Registries) (*registry.Client, error) {
	if f.Timeout < 0 || f.Timeout == 0 && cmd.Flags().Changed("timeout") {
		return nil, cli.Usagef(cmd, "flag --timeout: want more than 0, such as 10m, got %s", f.Timeout)
	}
	cache, err := registry.OpenCache(f.Cache)
	if err != nil {
		return nil, err
	}
	o := registry.Options{
		Cache: cache, Offline: f.Offline, Progress: b.progress(), Timeout: f.Timeout, Tell: b.tell(),
		PlainHTTP: slices.Concat(f.PlainHTTP, r.PlainHTTP), Mirrors: map[string][]string{},
	}
	for _, m := range f.Mirrors {
		host, server, ok := strings.Cut(m, "=")
		if !ok || host == "" || server == "" {
			return nil, cli.Usagef(cmd, "flag --mirror: want REGISTRY=SERVER, got %.100q", m)
		}
		o.Mirrors[host] = append(o.Mirrors[host], server)
	}
	for host, servers := range r.Mirrors {
		o.Mirrors[host] = append(o.Mirrors[host], servers...)
	}
	return registry.New(o)
}

// Do runs what needs a client, and of the configuration only how registries are reached. run finishes
// the bar before it asks the user something.
func (f *Flags) Do(a *cli.App, cmd *cobra.Command, run func(*registry.Client, *Bar) error) error {
	loaded, err := a.Load(cmd)
	if err != nil {
		return err
	}
	b := NewBar(a)
	client, err := f.Client(cmd, b, loaded.Registries)
	if err != nil {
		return err
	}
	defer client.Close()
	defer b.Finish()
	return run(client, b)
}
