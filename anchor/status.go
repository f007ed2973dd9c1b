package anchor

import (
	"time"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/assemble"
)

// Status says which version of the configuration an App uses.
type Status struct {
	// Number is that of the version: 1 for the first, and one more for each successful reload. It is
	// 0 once the App is closed.
	Number int64
	// Since is when the version was loaded.
	Since time.Time
	// File is the path of the configuration file. It is empty if there is none.
	File string
	// PluginDir is the folder of the plugins.
	PluginDir string
	// LockFile is the path of anchor.lock. There may be no such file.
	LockFile string
	// PriceFile is the path of the prices of models. It is empty if the configuration names none.
	PriceFile string
	// StoreFile is the file of the store. It is empty for a store of [Options.Store].
	StoreFile string
	// Tenant is the tenant of calls that name none.
	Tenant string
	// Draining is the number of former versions that builds still use, or that are being closed.
	Draining int
	// Last is the last reload.
	Last Attempt
}

// Status returns the status of the App.
func (a *App) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := Status{Draining: a.draining, Last: a.last}
	if g := a.current; g != nil {
		s.Tenant = g.Loaded.TenantName()
		s.PriceFile = g.Loaded.Path(g.Loaded.Telemetry.Prices)
		if a.options.Store == nil {
			s.StoreFile, _ = agentstore.Path(g.Loaded.StorePath()) // without one, the error is that of the first use
		}
		s.LockFile = assemble.Guard(g.Loaded).Path
		s.Number, s.Since, s.File, s.PluginDir = g.Number, g.Since, g.Loaded.Location(), g.Loaded.PluginDir()
	}
	return s
}

// Setting is one effective value of a configuration. Its JSON form is that of "anchor-host config
// show --origin -o json".
type Setting struct {
	// Path is the key path in anchor.yaml.
	Path string `json:"path"`
	// Value is a bool, int64, float64, []string or string, and Text the same in one cell of a table.
	Value any    `json:"value"`
	Text  string `json:"-"`
	// Origin is "flag --x", "environment X", "file:line" or "default".
	Origin string `json:"origin,omitempty"`
}

// Settings lists every value of the configuration that is set or has a default, with its origin.
// The values of secrets are hidden. It is empty once the App is closed.
func (a *App) Settings() []Setting {
	g, err := a.newest()
	if err != nil {
		return []Setting{}
	}
	defer g.Release()
	of := g.Loaded.Settings()
	list := make([]Setting, len(of))
	for i := range of {
		list[i] = Setting(of[i])
	}
	return list
}
