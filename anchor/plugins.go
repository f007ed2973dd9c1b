package anchor

import (
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/assemble"
)

// Plugin is a plugin that a configuration calls.
type Plugin struct {
	// Name is the name of its instance, or of the plugin if there is no instance.
	Name string
	// Spec describes its module and manifest. It is nil if Err is not.
	Spec *spec.Spec
	// Stats are its calls so far and the resources that it uses.
	Stats host.Stats
	// Notes say what the plugin asks for and is not granted, which grants it does not ask for, and
	// what else an operator should know.
	Notes []string
	// LoadTime is the time to compile and start it.
	LoadTime time.Duration
	// Err says why the plugin is not ready. Steps that call it fail. nil: it is ready.
	Err error
	// Kept says why it has the module from before the last reload. nil: it has that of the plugin
	// folder.
	Kept error
}

// Plugins lists the loaded plugins by name, including those of requests. It also lists plugins of
// the configuration that are not ready. took is the total time of loading; the plugins of one
// pipeline are loaded in parallel.
func (a *App) Plugins() (list []Plugin, took time.Duration) {
	g, err := a.newest()
	if err != nil {
		return nil, 0
	}
	defer g.Release()
	loads, took := g.Loads()
	slices.SortFunc(loads, func(a, b assemble.Load) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 || (a.Err == nil) == (b.Err == nil) {
			return c
		}
		if a.Err != nil { // steps that were made while it was not ready keep failing
			return -1
		}
		return 1
	})
	for _, l := range slices.CompactFunc(loads, func(a, b assemble.Load) bool { return a.Name == b.Name }) {
		p := Plugin{Name: l.Name, LoadTime: l.Took, Err: l.Err, Kept: l.Kept}
		if l.Plugin != nil {
			p.Spec, p.Stats, p.Notes = l.Plugin.Spec(), l.Plugin.Stats(), l.Plugin.Notes()
		}
		list = append(list, p)
	}
	return list, took
}
