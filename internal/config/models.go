package config

import (
	"maps"
	"net/url"
	"slices"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// Model is a model that plugins may ask.
type Model struct {
	Use               string          `key:"use" doc:"A model in Go, by the name with which a program registers it. It is in the place of api, base_url, key, headers, retries and rate."`
	Settings          map[string]any  `key:"settings" doc:"Settings of use."`
	API               string          `key:"api" enum:"openai,anthropic" doc:"The form of requests: openai is chat completions, which Ollama, llama.cpp, vLLM and many vendors have too; anthropic is messages."`
	BaseURL           string          `key:"base_url" doc:"Address of the API, to which /chat/completions or /messages is added, such as http://localhost:11434/v1. Default: https://api.openai.com/v1, or https://api.anthropic.com/v1."`
	Model             string          `key:"model" doc:"Name of the model at the server. With use it is for prices and traces, and may be left out."`
	Key               Text            `key:"key" doc:"The key of the server, such as ${env:OPENAI_API_KEY}. ${env:NAME} stands for an environment variable and ${file:PATH} for the content of a file. It is never printed, and no plugin sees it."`
	Headers           map[string]Text `key:"headers" doc:"Further headers, such as {api-key: '${env:AZURE_KEY}'}. Values are as in key, and never printed. No plugin sees them, and they go to no other server."`
	MaxCallsPerBuild  int             `key:"max_calls_per_build" min:"1" doc:"The maximum number of requests in one build, those of all plugins together. Default: no limit."`
	MaxTokensPerBuild int             `key:"max_tokens_per_build" min:"1" doc:"The maximum number of tokens of these requests and their answers. Until the server has counted, four bytes of a request count as a token, and an answer as its maximum. Default: no limit."`
	MaxTokens         int             `key:"max_output_tokens" min:"1" default:"1024" doc:"The maximum number of tokens of an answer, if the plugin states none."`
	Temperature       *float64        `key:"temperature" min:"0" max:"2" doc:"How much answers vary, if the plugin does not say it. Default: that of the server."`
	Timeout           Duration        `key:"timeout" default:"30s" doc:"Time limit of one request. A server that asks to wait for longer than this, and than a minute, is not waited for. limits.timeout of the plugin must be longer, because it also bounds the wait."`
	Retries           *int            `key:"retries" min:"0" max:"20" default:"2" doc:"How often a request is repeated if the server is busy or fails. The first pause is half a second, each further one twice as long, or as long as the server asks for, at most one minute."`
	Concurrency       int             `key:"concurrency" min:"1" max:"256" default:"16" doc:"How many requests run at the same time. Others wait."`
	Rate              float64         `key:"rate" min:"0.001" max:"100000" doc:"The maximum number of requests in one second, such as 0.5. Default: no limit."`
	Cache             bool            `key:"cache" default:"false" doc:"Keep answers in memory, 16 MiB for each model, and give the same answer to the same request of the same tenant. Such an answer costs nothing of the budgets."`
}

// keyHeaders are the headers in which APIs have the key.
var keyHeaders = map[string]string{"openai": "Authorization", "anthropic": "X-Api-Key"}

// models checks the models, and what plugins are granted of them.
func (k *checker) models() {
	names := slices.Sorted(maps.Keys(k.config.Models))
	for _, name := range names {
		m, path := k.config.Models[name], strict.Join("models", name)
		u, err := url.Parse(m.BaseURL)
		switch {
		case m.Use != "":
			if m.API != "" || m.BaseURL != "" || m.Key != (Text{}) || len(m.Headers) > 0 || m.Retries != nil || m.Rate != 0 {
				k.find(path, "use excludes api, base_url, key, headers, retries and rate (the program that registers the model has them)")
			}
		case len(m.Settings) > 0:
			k.find(path+".settings", "settings are those of use (leave them out)")
		case m.API == "":
			k.find(path, "has no api (add api: openai or api: anthropic, or use: NAME for a model in Go)")
		case m.Model == "":
			k.find(path+".model", "the name is empty (write the name of the model at the server)")
		case m.BaseURL == "":
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Fragment != "":
			k.find(path+".base_url", "want an address such as https://api.openai.com/v1")
		case u.User != nil:
			k.find(path+".base_url", "the address has a name or password (write the password as key)")
		}
		k.headers(path, m.Key, m.Headers, keyHeaders[m.API])
	}
	for _, name := range slices.Sorted(maps.Keys(k.config.Plugins.Instances)) {
		k.services(strict.Join("plugins.instances", name)+".grants", k.config.Plugins.Instances[name].Grants)
	}
}

// services checks that what is granted exists.
func (k *checker) services(path string, g Grants) {
	if g.Embed != nil {
		missing(k, path+".embed.embedder", "embedder", g.Embed.Embedder, k.config.AllEmbedders())
	}
	if g.Search != nil && len(g.Search.Collections) == 0 {
		k.find(path+".search.collections", "name at least one collection")
	}
	if g.LLM == nil {
		return
	}
	if len(g.LLM.Models) == 0 {
		k.find(path+".llm.models", "name at least one model")
	}
	for _, m := range g.LLM.Models {
		missing(k, path+".llm.models", "model", m, k.config.Models)
	}
}

// missing checks that what a name stands for is defined.
func missing[V any](k *checker, path, what, name string, valid map[string]V) {
	if _, ok := valid[name]; !ok {
		k.find(path, "no %s %q%s (define it under %ss)", what, name, hint(k, name, valid), what)
	}
}

// facts checks what the facts are found and extracted with.
func (k *checker) facts() {
	f := k.config.Facts
	if f == nil {
		return
	}
	for _, n := range [...]struct{ key, name string }{{"user", f.User}, {"session", f.Session}} {
		if err := CheckName(n.name); n.name != "" && err != nil {
			k.find("memory.facts."+n.key, "%v", err)
		}
	}
	if f.Embedder != "" {
		missing(k, "memory.facts.embedder", "embedder", f.Embedder, k.config.AllEmbedders())
	}
	if f.Consolidate != nil {
		missing(k, "memory.facts.consolidate.model", "model", f.Consolidate.Model, k.config.Models)
	}
	e := f.Extract
	switch {
	case e == nil:
	case e.Model == "" && e.Name == "":
		k.find("memory.facts.extract", "name a plugin or a model (add use: NAME, or model: NAME)")
	case e.Model == "":
		k.use("memory.facts.extract", e.Use(), nil)
	default:
		missing(k, "memory.facts.extract.model", "model", e.Model, k.config.Models)
		if e.Use().Stated() {
			k.find("memory.facts.extract", "model excludes use, settings and timeout (those of the model are under models)")
		}
	}
}
