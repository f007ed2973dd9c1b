// Package parts has the Go components that every command registers.
package parts

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/component"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/agents/mcpserver"
	"github.com/anchor-host/anchor-host/internal/agents/mcpsource"
	"github.com/anchor-host/anchor-host/internal/config"
)

// Components returns the components of a configuration: the retriever mcp, if a step uses it. A program whose own
// parts have its name is left alone.
func Components(loaded *config.Loaded) anchor.Components {
	if len(uses(loaded)) == 0 {
		return anchor.Components{}
	}
	return anchor.Components{Retrievers: mcpsource.Retrievers(loaded.LockPath())}
}

// Checks check the settings of components without making them, by the name that a step uses.
func Checks(loaded *config.Loaded) map[string]func(map[string]any) error {
	if len(uses(loaded)) == 0 {
		return nil
	}
	return map[string]func(map[string]any) error{mcpsource.Name: func(given map[string]any) error {
		_, err := mcpsource.Decode(component.Settings(given))
		return err
	}}
}

// Server returns the settings of an MCP server by its name. Without a name there must be only one.
func Server(loaded *config.Loaded, name string) (*mcpsource.Settings, error) {
	var found *mcpsource.Settings
	var names []string
	for _, given := range uses(loaded) {
		s, err := mcpsource.Decode(component.Settings(given))
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, s.Server) {
			names = append(names, s.Server)
		}
		if s.Server == name {
			if found != nil && found.At() != s.At() {
				return nil, fmt.Errorf("mcp server %q: two steps have it at different places: %.200s and %.200s (give one another name)", name, found.At(), s.At())
			}
			if found == nil || s.Tool != "" {
				found = s
			}
		}
	}
	if found == nil {
		return nil, fmt.Errorf("mcp server %.100q: no step of the configuration has it (there are: %q)", name, names)
	}
	return found, nil
}

// uses are the settings of all places that use mcp, and not a plugin or an instance of this name.
func uses(loaded *config.Loaded) (out []map[string]any) {
	if _, instance := loaded.Plugins.Instances[mcpsource.Name]; instance || loaded.IsSearch(mcpsource.Name) {
		return nil
	}
	add := func(name string, given map[string]any) {
		if _, named := given["server"]; name == mcpsource.Name && named {
			out = append(out, given)
		}
	}
	steps := func(list []config.Step) {
		for i := range list {
			s := &list[i]
			add(s.Use.Name, s.Settings)
			for j := range s.Retrievers {
				add(s.Retrievers[j].Name, s.Retrievers[j].Settings)
			}
			for _, route := range s.Routes {
				add(route.Name, route.Settings)
			}
		}
	}
	steps(loaded.Steps)
	for _, o := range loaded.Overlaid() {
		steps(o.Own.Steps)
	}
	return out
}

// Tools returns the steps that agents may call as tools, of the configuration that is in force at each call. It reads
// plugins only when that is another one than before.
func Tools(inForce func() *config.Loaded) func() []mcpserver.PluginTool {
	var mu sync.Mutex
	var last *config.Loaded
	var list []mcpserver.PluginTool
	return func() []mcpserver.PluginTool {
		mu.Lock()
		defer mu.Unlock()
		if now := inForce(); now != nil && now != last {
			last, list = now, tools(now)
		}
		return list
	}
}

// tools returns the steps whose plugin says so for the operation that the step calls. Plugins are read, and not
// loaded.
func tools(loaded *config.Loaded) (out []mcpserver.PluginTool) {
	names := map[string]string{} // of plugins, by step
	for i := range loaded.Steps {
		s := &loaded.Steps[i]
		if s.Use.Name == "" || s.Name == "" || s.Builtin() != "" || loaded.IsSearch(s.Use.Name) || len(s.Retrievers) > 0 {
			continue
		}
		names[s.Name] = s.Use.Name
		if instance, ok := loaded.Plugins.Instances[s.Use.Name]; ok {
			names[s.Name] = instance.Plugin
		}
	}
	if len(names) == 0 {
		return nil
	}
	entries, _, err := spec.Reader{CacheDir: loaded.CachePath()}.ReadNamed(loaded.PluginDir(), slices.Sorted(maps.Values(names))...)
	if err != nil {
		return nil // loading them says why
	}
	for i := range loaded.Steps {
		s := &loaded.Steps[i]
		for j := range entries {
			m := entries[j].Spec
			if m == nil || m.Manifest == nil || names[s.Name] == "" || names[s.Name] != m.Name {
				continue
			}
			for _, op := range []abi.Operation{abi.OpRetrieve, abi.OpProcess, abi.OpFilter, abi.OpRerank} {
				if text := m.Manifest.Operations[op].Tool; text != "" && (s.Operation == "" || s.Operation == string(op)) {
					out = append(out, mcpserver.PluginTool{Step: s.Name, Description: text, Texts: op != abi.OpRetrieve})
					break
				}
			}
			break
		}
	}
	return out
}
