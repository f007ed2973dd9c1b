package hooks

import (
	"cmp"
	"context"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
)

// FromConfig returns the settings of a configuration.
func FromConfig(c *config.Config) Settings {
	h := &c.Agent.Hooks
	return Settings{Chars: h.MaxChars, ToolChars: h.ToolChars, Timeout: time.Duration(h.Timeout)}
}

// Build returns the function that runs the pipelines of an App for events. names has the name of a pipeline for each
// kind of event that has one.
func Build(app *anchor.App, tenant string, names map[string]string) BuildFunc {
	return func(ctx context.Context, kind Kind, query string) ([]Item, error) {
		name := names[string(kind)]
		if name == "" {
			return nil, nil
		}
		result, err := app.Build(ctx, pipeline.Query{Text: query}, anchor.BuildOptions{Pipeline: name, Tenant: tenant})
		if err != nil {
			return nil, err
		}
		items := make([]Item, 0, len(result.Window.Items))
		for i := range result.Window.Items {
			item := &result.Window.Items[i]
			if item.Source == pipeline.SourceSystem || item.Source == pipeline.SourceUser {
				continue // the client has its own
			}
			where, _ := item.Metadata["document"].(string)
			items = append(items, Item{
				Kind: "build", Handle: item.ID, Where: cmp.Or(where, string(item.Source)), Why: "pipeline " + name, Text: item.Content,
			})
		}
		return items, nil
	}
}
