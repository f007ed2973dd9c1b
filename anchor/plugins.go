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
	// Name is that of its instance, or of the plugin where it has none.
	Name string
	// Spec is what its module and manifest say. It is nil where Err is not.
	Spec *spec.Spec
	// Stats are what it has done and what it takes.
	Stats host.Stats
	// LoadTime is how long it took to compile and start it.
	LoadTime time.Duration
	// Err is why it is not ready: the steps that call it fail. nil: it is.
	Err error
}

// Plugins lists the plugins that were loaded, those of requests included, by name, and
// says how long that took all together: the plugins of one pipeline are loaded side by
// side. Of the plugins that are not ready it lists those of the configuration.
func (a *App) Plugins() (list []Plugin, took time.Duration) {
	g, err := a.use()
	if err != nil {
		return nil, 0
	}
	defer g.users.Done()
	loads, took := g.plugins.Loads()
	g.mu.RLock()
	for _, r := range g.recipes {
		loads = append(loads, r.Loads...)
	}
	if g.chain != nil {
		loads = append(loads, g.chain.Loads...)
	}
	g.mu.RUnlock()
	slices.SortFunc(loads, func(a, b assemble.Load) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 || (a.Err == nil) == (b.Err == nil) {
			return c
		}
		if a.Err != nil { // the steps that found it so still fail
			return -1
		}
		return 1
	})
	for _, l := range slices.CompactFunc(loads, func(a, b assemble.Load) bool { return a.Name == b.Name }) {
		p := Plugin{Name: l.Name, LoadTime: l.Took, Err: l.Err}
		if l.Plugin != nil {
			p.Spec, p.Stats = l.Plugin.Spec(), l.Plugin.Stats()
		}
		list = append(list, p)
	}
	return list, took
}
