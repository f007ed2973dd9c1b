package anchor

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/strict"
)

// Mount is a folder that the plugin of an instance reads.
type Mount struct {
	// Instance is the name of an entry of instances.
	Instance string
	// Folder is the path of the folder, relative to the current folder. The plugin can only read
	// it.
	Folder string
	// Guest is the path at which the plugin finds it, such as "/docs". It replaces a mount of the
	// configuration at this path.
	Guest string
}

// mount grants the folders of the options to their instances.
func (a *App) mount(loaded *config.Loaded) error {
	if len(a.options.Mounts) == 0 {
		return nil
	}
	loaded.Instances = maps.Clone(loaded.Instances)
	for _, m := range a.options.Mounts {
		instance, ok := loaded.Instances[m.Instance]
		if !ok {
			return fmt.Errorf("%w: mounts: no instance %q%s", ErrInvalid, m.Instance, strict.Hint(m.Instance, slices.Sorted(maps.Keys(loaded.Instances))))
		}
		folder, err := filepath.Abs(m.Folder) // others are relative to the configuration
		if err != nil {
			return fmt.Errorf("mounts: %w", err)
		}
		grants := slices.DeleteFunc(slices.Clone(instance.Grants.Files), func(g config.FileGrant) bool {
			return path.Clean(g.Guest) == path.Clean(m.Guest)
		})
		instance.Grants.Files = append(grants, config.FileGrant{Host: folder, Guest: m.Guest, Mode: "ro"})
		loaded.Instances[m.Instance] = instance
	}
	return nil
}
