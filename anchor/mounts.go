package anchor

import (
	"errors"
	"fmt"
	"maps"
	"path"
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

// check refuses a mount without a folder, which would grant the current one, and a path that
// no plugin can have.
func (m *Mount) check() error {
	switch {
	case m.Folder == "":
		return errors.New("the folder is empty (name the one to mount)")
	case !path.IsAbs(m.Guest):
		return fmt.Errorf("guest: %q is no absolute path (want one such as /docs)", m.Guest)
	}
	return nil
}

// mount grants the folders of the options to their instances.
func (a *App) mount(loaded *config.Loaded) error {
	if len(a.options.Mounts) == 0 {
		return nil
	}
	loaded.Instances = maps.Clone(loaded.Instances)
	for i, m := range a.options.Mounts {
		if err := m.check(); err != nil {
			return fmt.Errorf("%w: mounts[%d]: %w", ErrInvalid, i, err)
		}
		instance, ok := loaded.Instances[m.Instance]
		if !ok {
			return fmt.Errorf("%w: mounts: no instance %q%s", ErrInvalid, m.Instance, strict.Hint(m.Instance, slices.Sorted(maps.Keys(loaded.Instances))))
		}
		grants := slices.DeleteFunc(slices.Clone(instance.Grants.Files), func(g config.FileGrant) bool {
			return path.Clean(g.Guest) == path.Clean(m.Guest)
		})
		instance.Grants.Files = append(grants, config.FileGrant{Host: m.Folder, Guest: m.Guest, Mode: "ro"})
		loaded.Instances[m.Instance] = instance
	}
	return nil
}
