package assemble

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/nearest"
	"github.com/anchor-host/anchor-host/registry/lock"
)

// catalog holds the plugins of a folder that a configuration names.
type catalog struct {
	dir     string
	entries map[string]spec.Entry
	// others are the names of the other plugins of the folder, and what else a use may name.
	others []string
	// notes name plugins that run although anchor.lock does not list them.
	notes []string
	guard *lock.Guard
	// err is why the folder or anchor.lock could not be read.
	err error
}

// Guard returns what holds the plugins of a configuration against the anchor.lock beside its file.
func Guard(l *config.Loaded) *lock.Guard {
	return &lock.Guard{Path: l.LockPath(), Policy: l.Trust.Policy()}
}

// readCatalog reads the named plugins, and no others: reading takes time.
func readCatalog(dir, cacheDir string, names []string, guard *lock.Guard) *catalog {
	c := &catalog{dir: dir, entries: map[string]spec.Entry{}, guard: guard}
	var list []spec.Entry
	list, c.others, c.err = spec.Reader{CacheDir: cacheDir}.ReadNamed(dir, names...)
	if c.err == nil {
		c.notes, c.err = guard.Hold(list)
	} else {
		c.err = FolderError(dir, guard, c.err)
	}
	for _, e := range list {
		c.entries[e.Name] = e
	}
	return c
}

// FolderError returns the error of a plugin folder that could not be read. If there is none, and
// anchor.lock lists plugins of a registry, as in a fresh clone, the remedy is to get these.
func FolderError(dir string, guard *lock.Guard, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, unread := guard.File()
	if unread != nil || !slices.ContainsFunc(f.Plugins, func(e lock.Entry) bool { return e.Reference != "" }) {
		return err
	}
	return fmt.Errorf("plugin directory %s: lacks the plugins of %s: %w (get them with: anchor-host plugin install --frozen)", dir, lock.Name, fs.ErrNotExist)
}

// spec returns the spec of a plugin. The error names the file, the problem and
// the remedy.
func (c *catalog) spec(plugin string) (*spec.Spec, *Unavailable) {
	e, ok := c.entries[plugin]
	switch {
	case strings.HasPrefix(plugin, config.PluginScheme):
		return nil, &Unavailable{Plugin: plugin, Code: ReasonNotFound, Err: fmt.Errorf("%s does not list it: %w (get it with: anchor-host plugin install)", lock.Name, fs.ErrNotExist)}
	case c.err != nil:
		return nil, &Unavailable{Plugin: plugin, Code: reasonFor(c.err), Err: c.err}
	case !ok:
		path := filepath.Join(c.dir, plugin, "plugin.wasm")
		return nil, &Unavailable{Plugin: plugin, Code: ReasonNotFound, Err: &hinted{path, fs.ErrNotExist, func() string { return c.hint(plugin) }}}
	case e.Err != nil:
		return nil, &Unavailable{Plugin: plugin, Code: reasonFor(e.Err), Err: named(e.Path, plugin, e.Err)}
	}
	return e.Spec, nil
}

// hint says what to do about a plugin that is not there.
func (c *catalog) hint(plugin string) string {
	if f, err := c.guard.File(); err == nil && f.Find(plugin) != nil {
		return fmt.Sprintf(" (%s lists it: get it with: anchor-host plugin install)", lock.Name)
	}
	return fmt.Sprintf(" (build or copy the plugin there, or remove the step%s)", c.near(plugin))
}

// links returns the modules that an instance links to. If it fails, it returns the name of the
// link as well.
func (c *catalog) links(i config.Instance) (links []host.Link, name string, missing *Unavailable) {
	for _, name := range slices.Sorted(maps.Keys(i.Links)) {
		spec, missing := c.spec(i.Links[name])
		if missing != nil {
			return nil, name, missing
		}
		links = append(links, host.Link{Name: name, Spec: spec})
	}
	return links, "", nil
}

func (c *catalog) near(plugin string) string {
	if n := nearest.Name(plugin, slices.Concat(slices.Sorted(maps.Keys(c.entries)), c.others)); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}

// hinted is an error whose message is a file, the cause and a remedy. The remedy is found when it is
// shown: it takes time, and a configuration may name many plugins that are not there.
type hinted struct {
	path  string
	cause error
	hint  func() string
}

func (h *hinted) Error() string { return fmt.Sprintf("%s: %v%s", h.path, h.cause, h.hint()) }
func (h *hinted) Unwrap() error { return h.cause }

// named replaces the plugin name at the start of a message with the path of the module, because
// the name is already part of the message.
func named(path, plugin string, err error) error {
	return &renamed{fmt.Sprintf("%s: %s", path, strings.TrimPrefix(err.Error(), fmt.Sprintf("plugin %q: ", plugin))), err}
}

// resolve returns the configuration of what a use names. A plugin of the folder has none of its own.
func resolve(c *config.Config, name string) config.Instance {
	if i, ok := c.Plugins.Instances[name]; ok {
		return i
	}
	return config.Instance{Plugin: name}
}
