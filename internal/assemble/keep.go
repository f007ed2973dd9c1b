package assemble

import (
	"context"
	"maps"

	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/config"
)

// Modules returns the modules of the plugins that are ready, by the name of the plugin.
func (g *Generation) Modules() map[string]*spec.Spec {
	g.listing.Lock()
	defer g.listing.Unlock()
	return maps.Clone(g.modules)
}

// ForgetBefore frees the modules of the generation before. It is called when the plugins of the
// configuration are loaded.
func (g *Generation) ForgetBefore() {
	g.loading <- struct{}{}
	defer func() { <-g.loading }()
	g.options.Before = nil
}

// openOrKeep loads a plugin. If its module cannot be loaded, as when it is copied just now, the module
// of the generation before is loaded in its place.
func (g *Generation) openOrKeep(ctx context.Context, c *catalog, p *plugins, name string, instance config.Instance, l *loaded) {
	found, missing := c.spec(instance.Plugin)
	if missing == nil {
		l.spec, l.plugin, l.err = g.open(ctx, c, p, name, instance, found)
	} else {
		missing.Plugin = name
		l.err = missing
	}
	if l.err == nil && g.options.Keep {
		// If it fails, the file has changed since, and the next reload finds no module to keep.
		_ = l.spec.Keep()
	}
	before := g.options.Before[instance.Plugin]
	if l.err == nil || mistake(l.err) || before == nil || found != nil && found.Digest == before.Digest || !c.allows(instance.Plugin, before) {
		return
	}
	if s, plugin, err := g.open(ctx, c, p, name, instance, before); err == nil {
		l.spec, l.plugin, l.err, l.kept = s, plugin, nil, l.err
	}
}

// allows reports whether anchor.lock allows a module that is not that of the plugin folder.
func (c *catalog) allows(plugin string, s *spec.Spec) bool {
	held := []spec.Entry{{Name: plugin, Spec: s}}
	_, err := c.guard.Hold(held)
	return err == nil && held[0].Err == nil
}
