package assemble

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/service"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/grants"
	"github.com/anchor-host/anchor-host/pipeline"
)

// pluginConfig converts an instance to the form of the host, with what its references stand
// for. path resolves paths of the configuration.
func pluginConfig(name string, i config.Instance, path func(string) string) (host.PluginConfig, error) {
	r := resolver{path: path}
	out := host.PluginConfig{
		Name: name, Settings: i.Settings, Config: r.texts(i.Config),
		Grants: r.grants(i.Grants), Limits: Limits(i.Limits),
		Engine: i.Engine, State: i.State, WASI: i.WASI,
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
		r.err = cmp.Or(r.err, grants.CheckPrivate(g.HTTP))
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

// Limits converts limits of the configuration to the form of the host, which has the same fields as numbers.
func Limits(l config.Limits) (out host.Limits) {
	from, to := reflect.ValueOf(l), reflect.ValueOf(&out).Elem()
	for i := range to.NumField() {
		to.Field(i).SetInt(from.Field(i).Int())
	}
	return out
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
