package anchor

import (
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
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

// Plugins lists the plugins that were loaded for the configuration, by name, and says how
// long that took all together: they are loaded side by side.
func (a *App) Plugins() (list []Plugin, took time.Duration) {
	g, err := a.use()
	if err != nil {
		return nil, 0
	}
	defer g.users.Done()
	g.making <- struct{}{}
	recipe := g.recipe
	<-g.making
	if recipe == nil {
		return nil, 0
	}
	for _, l := range recipe.Loads {
		p := Plugin{Name: l.Name, LoadTime: l.Took, Err: l.Err}
		if l.Plugin != nil {
			p.Spec, p.Stats = l.Plugin.Spec(), l.Plugin.Stats()
		}
		list = append(list, p)
	}
	return list, recipe.LoadTime
}
