package config

import (
	"strings"
	"testing"
	"time"
)

const modelled = `models:
  small: {api: openai, base_url: "http://localhost:11434/v1", model: m, key: "literal-key", headers: {x-team: "literal-header"}, max_calls_per_build: 20, temperature: 0, retries: 0, timeout: 5s, cache: true}
  claude: {api: anthropic, model: c}
embedders: {far: {http: {base_url: "http://h", model: m}}}
plugins:
  instances:
    i: {plugin: p, grants: {embed: {embedder: far}, search: {collections: [docs]}, llm: {models: [small, claude], max_calls: 5}}}
`

func TestModels(t *testing.T) {
	l, err := Parse("a.yaml", []byte(modelled))
	if err != nil {
		t.Fatal(err)
	}
	m := l.Models["small"]
	if m.API != "openai" || m.Timeout != Duration(5*time.Second) || m.MaxCallsPerBuild != 20 || m.Temperature == nil || *m.Temperature != 0 || m.Retries == nil || *m.Retries != 0 || !m.Cache || l.Plugins.Instances["i"].Grants.LLM.MaxCalls != 5 {
		t.Errorf("%+v", m)
	}
	shown := map[string]any{}
	for _, s := range l.Settings() {
		shown[s.Path] = s.Value
	}
	for path, want := range map[string]any{"models.small.key": hidden, "models.small.headers.x-team": hidden, "models.small.model": "m", "models.claude.max_output_tokens": int64(1024)} {
		if shown[path] != want {
			t.Errorf("%s is listed as %#v, want %#v", path, shown[path], want)
		}
	}
	s, err := compileSchema(t)
	if err == nil {
		err = s.Validate(l.node.Any())
	}
	if err != nil {
		t.Error(err)
	}
}

func TestModelsAreChecked(t *testing.T) {
	model := func(s string) string { return "models: {m: {api: openai, model: x, " + s + "}}" }
	for text, want := range map[string]string{
		"models: {m: {model: x}}":                                                  `models.m: has no api (add api: openai`,
		"models: {m: {api: grpc, model: x}}":                                       "models.m.api: ",
		`models: {m: {api: openai, model: ""}}`:                                    "models.m.model: the name is empty",
		model("base_url: h"):                                                       "models.m.base_url: want an address",
		model(`base_url: "http://u:geheim@h"`):                                     "models.m.base_url: the address has a name or password",
		model("max_calls_per_build: 0"):                                            "models.m.max_calls_per_build: want 1 or more, got 0",
		model("temperature: 3"):                                                    "models.m.temperature: want 0 to 2, got 3",
		model(`headers: {Host: x}`):                                                "models.m.headers.Host: anchor-host sets this header itself",
		model(`headers: {"a b": x}`):                                               "is no name of a header",
		model(`headers: {a: ""}`):                                                  "models.m.headers.a: has no value",
		model(`headers: {a: x, A: y}`):                                             "models.m.headers.a: the header is there twice",
		model(`headers: {a: "${x}"}`):                                              "models.m.headers.a: is no valid reference",
		model(`key: k, headers: {authorization: x}`):                               "models.m.headers.authorization: key and the header Authorization exclude each other",
		`models: {m: {api: anthropic, model: x, key: k, headers: {x-api-key: x}}}`: "models.m.headers.x-api-key: key and the header X-Api-Key exclude each other",
		model("rate: 0"):                                                           "models.m.rate: want 0.001 to 100000, got 0",
		model(`key: "${x}"`):                                                       "models.m.key: is no valid reference",
		strings.Replace(modelled, "[small, claude]", "[smal]", 1):                  `instances.i.grants.llm.models: no model "smal" (did you mean "small"?)`,
		strings.Replace(modelled, "[small, claude]", "[]", 1):                      "instances.i.grants.llm.models: name at least one model",
		strings.Replace(modelled, "[docs]", "[]", 1):                               "instances.i.grants.search.collections: name at least one collection",
		strings.Replace(modelled, "{embedder: far}", "{embedder: x}", 1):           `instances.i.grants.embed.embedder: no embedder "x"`,
		"pipelines: {p: {models: {}}}":                                             "a pipeline has no such key",
	} {
		_, err := Parse("a.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
