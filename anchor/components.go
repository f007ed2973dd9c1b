package anchor

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"

	"github.com/anchor-host/anchor-host/anchor/component"
	"github.com/anchor-host/anchor-host/internal/components"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/llm"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

// Components are parts in Go that a program registers, by names of its choice. A configuration names them
// with use as it names plugins, with settings, timeout and must of the same meaning. A name is that of one
// component, and of no plugin and no instance. Components must be safe for concurrent use. Their panics
// are errors.
type Components struct {
	// Steps change the items of a build. They do not see the items of the system. A reranker or a filter
	// is a step: see pipeline.RerankerStep and pipeline.FilterStep.
	Steps map[string]component.Maker[pipeline.Step]
	// Retrievers find items. They can be steps, and retrievers and routes of steps.
	Retrievers map[string]component.Maker[pipeline.Retriever]
	// Memory is for the key memory.
	Memory map[string]component.Maker[pipeline.MemoryProvider]
	// Formatters are for the key format, as {use: NAME}.
	Formatters map[string]component.Maker[pipeline.Formatter]
	// Providers are for agent.providers. Their names and priorities are those of the configuration.
	Providers map[string]component.Maker[agent.Provider]
	// Embedders are for the key use of an entry of embedders.
	Embedders map[string]component.Maker[retrieve.Embedder]
	// Models are for the key use of an entry of models. Budgets, the time limit and the cache of the entry hold for them.
	Models map[string]component.Maker[llm.Asker]
}

// set returns all components by name.
func (c *Components) set() (*components.Set, error) {
	s := new(components.Set)
	for _, add := range []func() error{
		func() error { return components.Add(s, components.Step, c.Steps) },
		func() error { return components.Add(s, components.Retriever, c.Retrievers) },
		func() error { return components.Add(s, components.Memory, c.Memory) },
		func() error { return components.Add(s, components.Formatter, c.Formatters) },
		func() error { return components.Add(s, components.Provider, c.Providers) },
		func() error { return components.Add(s, components.Embedder, c.Embedders) },
		func() error { return components.Add(s, components.Model, c.Models) },
	} {
		if err := add(); err != nil {
			return nil, errkind.As(ErrInvalid, err)
		}
	}
	return s, nil
}

// LoadBytes is [Load] for the content of a configuration file. dir is the folder that its relative paths
// refer to, such as that of plugins.dir; empty means the current folder. A reload reads nothing, but loads
// plugins and makes components anew.
func LoadBytes(data []byte, dir string, o Options) (*App, error) {
	data = slices.Clone(data)
	return loadFrom(config.DefaultFile, dir, o, func() ([]byte, error) {
		return config.ReadAll(config.DefaultFile, bytes.NewReader(data))
	})
}

// LoadFS is [Load] for a configuration in a file system, such as an embed.FS. [App.Reload] reads it again.
// Only the configuration is read from it: plugins and other files come from the system, and relative paths
// refer to the current folder. [Options.PluginDir] names another plugin folder.
func LoadFS(fsys fs.FS, path string, o Options) (*App, error) {
	return loadFrom(path, "", o, func() ([]byte, error) {
		f, err := fsys.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		defer f.Close()
		return config.ReadAll(path, f)
	})
}

func loadFrom(name, dir string, o Options, read func() ([]byte, error)) (*App, error) {
	if dir == "" {
		dir = "."
	}
	loaded, err := config.LoadFrom(name, dir, read)
	if err != nil {
		return nil, wrong(err)
	}
	return openAbsolute(loaded, o)
}

// openAbsolute opens a configuration whose paths are independent of the current folder, which the program
// may change.
func openAbsolute(loaded *config.Loaded, o Options) (*App, error) {
	if err := loaded.Absolute(); err != nil {
		return nil, err
	}
	return Open(context.Background(), loaded, o)
}
