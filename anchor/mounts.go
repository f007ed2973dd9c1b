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

// absoluteMounts makes the folders of the options independent of the current folder.
func (a *App) absoluteMounts() (err error) {
	a.options.Mounts = slices.Clone(a.options.Mounts)
	for i := range a.options.Mounts {
		m := &a.options.Mounts[i]
		if m.Folder == "" {
			continue // mount refuses it
		}
		if m.Folder, err = filepath.Abs(m.Folder); err != nil {
			return fmt.Errorf("mounts[%d]: %w", i, err)
		}
	}
	return nil
}

// mount grants the folders of the options to their instances.
func (a *App) mount(loaded *config.Loaded) error {
	if len(a.options.Mounts) == 0 {
		return nil
	}
	loaded.Plugins.Instances = maps.Clone(loaded.Plugins.Instances)
	for i, m := range a.options.Mounts {
		if err := m.check(); err != nil {
			return fmt.Errorf("%w: mounts[%d]: %w", ErrInvalid, i, err)
		}
		instance, ok := loaded.Plugins.Instances[m.Instance]
		if !ok {
			return fmt.Errorf("%w: mounts: no instance %q%s", ErrInvalid, m.Instance, strict.Hint(m.Instance, slices.Sorted(maps.Keys(loaded.Plugins.Instances))))
		}
		grants := slices.DeleteFunc(slices.Clone(instance.Grants.Files), func(g config.FileGrant) bool {
			return path.Clean(g.Guest) == path.Clean(m.Guest)
		})
		instance.Grants.Files = append(grants, config.FileGrant{Host: m.Folder, Guest: m.Guest, Mode: "ro"})
		loaded.Plugins.Instances[m.Instance] = instance
	}
	return nil
}
