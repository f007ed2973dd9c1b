package assemble

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/fill"
)

// pluginConfig converts an instance to the form of the host, with what its references stand
// for. path resolves paths of the configuration.
func pluginConfig(name string, i config.Instance, path func(string) string) (host.PluginConfig, error) {
	r := resolver{path: path}
	out := host.PluginConfig{
		Name: name, Settings: i.Settings, Config: r.texts(i.Config),
		Grants: r.grants(i.Grants), Limits: limits(i.Limits),
		Engine: i.Engine, Lane: i.Lane, State: i.State, Deterministic: i.Deterministic, WASI: i.WASI,
	}
	out.Secrets = r.secrets
	return out, r.err
}

// resolver reads what references stand for, and keeps the first error.
type resolver struct {
	path    func(string) string
	secrets []string
	err     error
}

func (r *resolver) texts(texts map[string]config.Text) map[string]string {
	if texts == nil {
		return nil
	}
	out := make(map[string]string, len(texts))
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		text, secrets, err := texts[key].Resolve(r.path)
		r.err = cmp.Or(r.err, err)
		r.secrets = append(r.secrets, secrets...)
		out[key] = text
	}
	return out
}

func (r *resolver) grants(g config.Grants) host.Grants {
	path := r.path
	out := host.Grants{Services: g.Services}
	if g.HTTP != nil {
		out.HTTP = &host.HTTPGrant{Hosts: g.HTTP.Hosts, Methods: g.HTTP.Methods, Private: g.HTTP.Private}
		for _, server := range slices.Sorted(maps.Keys(g.HTTP.Headers)) {
			if out.HTTP.Headers == nil {
				out.HTTP.Headers = map[string]map[string]string{}
			}
			out.HTTP.Headers[server] = r.texts(g.HTTP.Headers[server])
		}
	}
	if g.KV != nil {
		out.KV = &host.KVGrant{Quota: int64(g.KV.Quota)}
	}
	if g.Embed != nil {
		out.Ask.Embed = &service.EmbedGrant{Embedder: g.Embed.Embedder, MaxCalls: int64(g.Embed.MaxCalls), MaxTexts: int64(g.Embed.MaxTexts)}
	}
	if g.Search != nil {
		out.Ask.Search = &service.SearchGrant{Collections: g.Search.Collections, MaxCalls: int64(g.Search.MaxCalls)}
	}
	if g.LLM != nil {
		out.Ask.LLM = &service.LLMGrant{Models: g.LLM.Models, MaxCalls: int64(g.LLM.MaxCalls), MaxTokens: int64(g.LLM.MaxTokens)}
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
			return nil, fmt.Errorf("%w: %s: %w", config.ErrInvalid, totalKey(b), err)
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

// totalKey is the key that the total of a budget comes from.
func totalKey(b *config.Budget) string {
	if b.TotalTokens != 0 {
		return "budget.total_tokens"
	}
	return "max_tokens"
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
