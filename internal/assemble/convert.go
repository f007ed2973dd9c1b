package assemble

import (
	"fmt"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/fill"
)

// pluginConfig converts an instance to the form of the host. path resolves paths of the
// configuration.
func pluginConfig(name string, i config.Instance, path func(string) string) host.PluginConfig {
	return host.PluginConfig{
		Name: name, Settings: i.Settings, Config: i.Config,
		Grants: grants(i.Grants, path), Limits: limits(i.Limits),
		Engine: i.Engine, Lane: i.Lane, State: i.State, Deterministic: i.Deterministic, WASI: i.WASI,
	}
}

func grants(g config.Grants, path func(string) string) host.Grants {
	out := host.Grants{Services: g.Services}
	if g.HTTP != nil {
		out.HTTP = &host.HTTPGrant{Hosts: g.HTTP.Hosts, Methods: g.HTTP.Methods, Private: g.HTTP.Private}
	}
	if g.KV != nil {
		out.KV = &host.KVGrant{Quota: int64(g.KV.Quota)}
	}
	for _, f := range g.Files {
		out.Files = append(out.Files, host.FileGrant{
			Host: path(f.Host), Guest: f.Guest, Mode: f.Mode, Quota: int64(f.Quota), MaxFiles: int(f.MaxFiles),
		})
	}
	return out
}

func limits(l config.Limits) host.Limits {
	return host.Limits{
		Timeout: time.Duration(l.Timeout), InitTimeout: time.Duration(l.InitTimeout),
		QueueTimeout: time.Duration(l.QueueTimeout), IdleTimeout: time.Duration(l.IdleTimeout), Fuel: int64(l.Fuel),
		Memory: int64(l.Memory), Input: int64(l.Input), Output: int64(l.Output),
		LogBytes: int64(l.LogBytes), HTTPBody: int64(l.HTTPBody),
		Items: int(l.Items), Tokens: int(l.Tokens), Instances: int(l.Instances), MinInstances: int(l.MinInstances),
		RestAfter: int(l.RestAfter), RestMost: time.Duration(l.RestMost),
		LoadMemory: int64(l.LoadMemory), LoadTime: time.Duration(l.LoadTime),
	}
}

// budget converts a budget to the form of the pipeline. It returns nil if there is none.
func budget(b *config.Budget, maxTokens int) (*fill.Budget, error) {
	if b == nil {
		return nil, nil
	}
	total := b.TotalTokens
	if total == 0 {
		total = maxTokens
	}
	if total == 0 {
		total = pipeline.DefaultMaxTokens
	}
	if b.Preset != "" {
		preset, err := fill.PresetBudget(b.Preset, total)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", config.ErrInvalid, err)
		}
		preset.EnforceSharedPool = b.EnforceSharedPool
		return preset, nil
	}
	out := &fill.Budget{TotalTokens: total, ReserveTokens: b.ReserveTokens, EnforceSharedPool: b.EnforceSharedPool}
	for _, a := range b.Allocations {
		out.Allocations = append(out.Allocations, fill.Allocation{
			Source: pipeline.Source(a.Source), MaxTokens: a.MaxTokens, Priority: a.Priority,
			Overflow: fill.OverflowStrategy(a.Overflow),
		})
	}
	return out, nil
}

func systemPrompts(prompts []config.SystemPrompt) []pipeline.SystemPrompt {
	var out []pipeline.SystemPrompt
	for _, p := range prompts {
		out = append(out, pipeline.SystemPrompt{Content: p.Content, Priority: p.Priority})
	}
	return out
}

func sources(names []string) []pipeline.Source {
	var out []pipeline.Source
	for _, n := range names {
		out = append(out, pipeline.Source(n))
	}
	return out
}
