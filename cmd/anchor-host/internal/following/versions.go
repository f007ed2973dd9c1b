package following

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/anchor-host/anchor-host/cluster"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/atomicfile"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/lock"
)

// versions is the name of the folder that has a folder for each version.
const versions = "versions"

// prepare makes the folder of a version with its lock and its plugins, and reads its configuration.
func (h *Host) prepare(ctx context.Context, d *cluster.Documents) (*config.Loaded, error) {
	dir := filepath.Join(h.dir, versions, d.Version.Short())
	f := config.Followed{Name: "version " + d.Version.Short(), Data: d.Config, Lock: filepath.Join(dir, lock.Name), Plugins: filepath.Join(dir, "plugins")}
	if h.keyed {
		f.Keys = h.path(keysFile)
	}
	if err := os.MkdirAll(f.Plugins, 0o700); err != nil {
		return nil, err
	}
	if d.Lock == nil {
		return h.own.Follow(f)
	}
	locked, err := lock.Parse(lock.Name, d.Lock)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Write(f.Lock, 0o600, d.Lock); err != nil {
		return nil, err
	}
	loaded, err := h.own.Follow(f)
	if err != nil {
		return nil, err
	}
	return loaded, h.fill(ctx, loaded, locked)
}

// fill copies the locked plugins that the folder of a version lacks into it: from the plugin folder of the
// host, or from the cache of artifacts, which asks the registry for those that it has not.
func (h *Host) fill(ctx context.Context, loaded *config.Loaded, locked *lock.File) error {
	reader := spec.Reader{CacheDir: loaded.CachePath()}
	var client *registry.Client
	defer func() {
		if client != nil {
			client.Close()
		}
	}()
	for i := range locked.Plugins {
		e := &locked.Plugins[i]
		to := filepath.Join(loaded.PluginDir(), e.Name)
		if has(reader, loaded.PluginDir(), e) != "" {
			continue
		}
		if from := has(reader, h.own.PluginDir(), e); from != "" {
			if err := copyPlugin(from, to); err != nil {
				return err
			}
			continue
		}
		if e.Reference == "" {
			return fmt.Errorf("plugin %q: the plugin folder of the host has no module with the digest %s: %w (publish the plugin, or copy it to every host)", e.Name, e.Module, lock.ErrDrift)
		}
		if client == nil {
			var err error
			if client, err = newClient(loaded.Registries); err != nil {
				return err
			}
		}
		if err := pull(ctx, client, e, to+".wasm"); err != nil {
			return fmt.Errorf("plugin %q: %w", e.Name, err)
		}
	}
	return nil
}

// has returns the path of the module of a locked plugin in a folder, "" if it is not there.
func has(reader spec.Reader, dir string, e *lock.Entry) string {
	entries, _, err := reader.ReadNamed(dir, e.Name)
	if err != nil {
		return ""
	}
	for _, there := range entries {
		if there.Err == nil && there.Spec.Digest == e.Module {
			return there.Path
		}
	}
	return ""
}

// copyPlugin copies a module, with the manifest beside it if it is in a folder of its own.
func copyPlugin(from, to string) error {
	names := map[string]string{from: to + ".wasm"}
	if filepath.Base(from) == "plugin.wasm" {
		names = map[string]string{from: filepath.Join(to, "plugin.wasm"), filepath.Join(filepath.Dir(from), "plugin.yaml"): filepath.Join(to, "plugin.yaml")}
		if err := os.MkdirAll(to, 0o700); err != nil {
			return err
		}
	}
	for from, to := range names {
		data, err := os.ReadFile(from)
		if errors.Is(err, os.ErrNotExist) && strings.HasSuffix(from, ".yaml") {
			continue
		}
		if err == nil {
			err = atomicfile.Write(to, 0o600, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func newClient(r config.Registries) (*registry.Client, error) {
	cache, err := registry.OpenCache("")
	if err != nil {
		return nil, err
	}
	return registry.New(registry.Options{Cache: cache, PlainHTTP: r.PlainHTTP, Mirrors: r.Mirrors})
}

// pull gets a locked plugin by its digest.
func pull(ctx context.Context, client *registry.Client, e *lock.Entry, to string) error {
	ref, err := registry.ParseReference(e.Reference)
	if err != nil {
		return err
	}
	ref.Digest = e.Manifest
	p, err := client.Pull(ctx, ref)
	if err != nil {
		return err
	}
	if p.ModuleDigest != e.Module {
		return fmt.Errorf("%s: its module has the digest %s, the lock says %s: %w", p.Reference, p.ModuleDigest, e.Module, lock.ErrDrift)
	}
	return atomicfile.Write(to, 0o600, p.Module)
}

// sweep removes the folders of versions that the host does not serve any more. What is loaded is in memory.
func (h *Host) sweep() {
	entries, err := os.ReadDir(filepath.Join(h.dir, versions))
	if err != nil {
		return
	}
	for _, e := range entries {
		used := false
		for v := range h.loaded {
			used = used || v.Short() == e.Name()
		}
		if !used {
			_ = os.RemoveAll(filepath.Join(h.dir, versions, e.Name())) // the next sweep tries it again
		}
	}
}
