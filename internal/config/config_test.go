package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/anchor-host/anchor-host/host"
)

const full = `plugins:
  dir: ./wasm
  instances:
    docs:
      plugin: bm25-retriever
      digest: sha256:0000000000000000000000000000000000000000000000000000000000000000
      settings: {k1: 0.9, api_key: s3cret}
      grants:
        files: [{host: ./docs, guest: /docs, mode: ro}]
        http: {hosts: ["*.example.com"]}
        kv: {quota: 1MiB}
        services: [count_tokens]
      limits: {timeout: 2s, memory: 256MiB, fuel: 1000000}
      must: true
window:
  max_tokens: 8192
  budget: {preset: rag}
  system_prompts:
    - {content: Be short., priority: 9}
counting: {tokenizer: cl100k_base}
format: anthropic
format_options: {caching: true}
memory:
  conversation:
    tokens: 500
    turns: [{role: user, content: hi, created_at: '2026-01-01T00:00:00Z'}]
  facts: {max_items: 3, min_score: 0.2, user: ann, type: semantic, tags: [a, b]}
enricher: {max_items: 3}
steps:
  - {name: docs, use: docs, top_k: 20, must: true}
  - {name: fresh, use: recency-rerank, priority: 60, settings: {half_life: 72h}}
  - {name: best, use: top_k, top_k: 5}
  - name: route
    use: intent-classifier
    operation: classify
    routes: {code: {use: docs}}
    default: code
tenant: acme
store: {path: memory.db, synchronous: normal}
agent:
  max_tokens: 1000
  max_messages: 50
  frames: false
  observation: true
  compaction: {high_water: 800, low_water: 300, compact: {use: turn-summary}, timeout: 5s}
  truncation: false
  plan: true
  timeout: 3s
  providers:
    - {use: crm-snapshot, priority: 5}
    - {name: again, use: crm-snapshot, priority: 40, timeout: 1s, settings: {id_key: account}}
`

func TestParse(t *testing.T) {
	l, err := Parse("conf/anchor.yaml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	docs := l.Plugins.Instances["docs"]
	want := Limits{Timeout: Duration(2 * time.Second), Memory: 256 << 20, Fuel: 1_000_000}
	if docs.Limits != want || !docs.Must || docs.Settings["k1"] != 0.9 || docs.Grants.KV.Quota != 1<<20 {
		t.Errorf("docs = %+v", docs)
	}
	if got := l.Path(docs.Grants.Files[0].Host); got != filepath.Join("conf", "docs") {
		t.Errorf("path = %q", got)
	}
	if s := l.Steps[3]; s.Routes["code"].Name != "docs" || s.Default != "code" {
		t.Errorf("route = %+v", s)
	}
	if !l.Conversation.Turns[0].CreatedAt.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("turns = %+v", l.Conversation.Turns)
	}
}

func TestMistakes(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"typo at the top", "timeut: 3", `a.yaml:1:1: timeut: unknown key (did you mean "timeout"?)`},
		{"typo in a step", "steps:\n  - {name: a, use: sort, prioritty: 3}", `a.yaml:2:26: steps[0].prioritty: unknown key (did you mean "priority"?)`},
		{"typo in a grant", "plugins: {instances: {d: {plugin: p, grants: {file: []}}}}", `a.yaml:1:47: plugins.instances.d.grants.file: unknown key (did you mean "files"?)`},
		{"size", "plugins: {instances: {d: {plugin: p, limits: {memory: much}}}}", `a.yaml:1:55: plugins.instances.d.limits.memory: want a size such as "64MiB", got "much"`},
		{"bound that is not lifted", "plugins: {instances: {d: {plugin: p, limits: {timeout: unlimited}}}}", `a.yaml:1:56: plugins.instances.d.limits.timeout: want a time span such as "2s", got "unlimited"`},
		{"bound without a word", "plugins: {instances: {d: {plugin: p, limits: {items: all}}}}", `a.yaml:1:54: plugins.instances.d.limits.items: want a whole number, unlimited or none, got "all"`},
		{"bound of zero", "plugins: {instances: {d: {plugin: p, limits: {fuel: 0}}}}", `a.yaml:1:53: plugins.instances.d.limits.fuel: want 1 or more, got 0`},
		{"duration", "timeout: 5", `a.yaml:1:10: timeout: want a time span such as "2s", got "5"`},
		{"counting.tokenizer", "counting: {tokenizer: cl100k}", `a.yaml:1:23: counting.tokenizer: unknown value "cl100k" (want one of words, cl100k_base, o200k_base)`},
		{"fallback of a plugin that is not skipped", "format: {use: p, fallback: openai}",
			`a.yaml:1:28: format.fallback: a fallback needs must: false (add it, or leave the fallback out)`},
		{"unknown fallback", "counting: {tokenizer: {use: p, must: false, fallback: word}}",
			`a.yaml:1:55: counting.tokenizer.fallback: unknown value "word" (did you mean "words"?)`},
		{"policy of a retriever", "steps: [{name: a, use: p, retrievers: [{use: q, must: false}]}]",
			`a.yaml:1:49: steps[0].retrievers[0].must: was removed (leave it out, or rewrite the file with: anchor-host config migrate)`},
		{"format", "format: antropic", `a.yaml:1:9: format: unknown value "antropic" (did you mean "anthropic"?)`},
		{"name that is a path", "steps: [{name: a, use: ../x}]",
			`a.yaml:1:24: steps[0].use: unknown name "../x" (want one of dedupe_ids, filter, min_score, rerank, sort, top_k)`},
		{"path of a retriever", "steps: [{name: a, use: p, retrievers: [{use: x/y}]}]",
			`a.yaml:1:46: steps[0].retrievers[0].use: unknown name "x/y"`},
		{"path of an instance", "plugins: {instances: {i: {plugin: ..}}}",
			`a.yaml:1:35: plugins.instances.i.plugin: ".." is not a valid plugin name (want lower-case letters, digits and single hyphens, a letter first, at most 64)`},
		{"no plugin", "steps: [{name: a}]", `a.yaml:1:9: steps[0]: name what the step uses (add use: NAME, retrievers or a classifier)`},
		{"former key", "max_tokens: 3\nsteps: [{name: a, plugin: p}]", "a.yaml:1:1: max_tokens: unknown key (it is window.max_tokens now; rewrite the file with: anchor-host config migrate)\na.yaml:2:19: steps[0].plugin: unknown key (it is steps[0].use now; rewrite the file with: anchor-host config migrate)"},
		{"former key of a pipeline", "pipelines: {p: {tokenizer: words}}", "a.yaml:1:28: pipelines.p.tokenizer: unknown key (it is pipelines.p.counting.tokenizer now; rewrite the file with: anchor-host config migrate)"},
		{"key that is gone", "agent: {phase: llm}", "a.yaml:1:9: agent.phase: was removed (leave it out, or rewrite the file with: anchor-host config migrate)"},
		{"two meanings", "plugins: {instances: {sort: {plugin: p}}}\nsteps: [{name: a, use: sort}]", "a.yaml:2:24: steps[0].use: \"sort\" is an instance, and also built in (rename the former)"},
		{"two meanings of a format", "plugins: {instances: {openai: {plugin: p}}}\nformat: openai", "a.yaml:2:9: format.use: \"openai\" is an instance, and also built in (rename the former)"},
		{"name alone of a plugin of the folder", "format: my-format", "a.yaml:1:9: format: unknown value \"my-format\" (want one of anthropic, openai, openai-responses, gemini, generic)"},
		{"settings of a built-in", "format: {use: openai, settings: {a: 1}}", "a.yaml:1:9: format: openai is built in, and takes no settings, timeout, must and fallback (leave them out)"},
		{"must of an observer", "callbacks: [{use: p, must: true}]", "a.yaml:1:22: callbacks[0].must: was removed (leave it out, or rewrite the file with: anchor-host config migrate)"},
		{"shadow without a plugin", "steps: [{name: a, use: p, shadow: {share: 5}}]", `a.yaml:1:35: steps[0].shadow: missing key "use"`},
		{"shadow by its name", "steps: [{name: a, use: p, shadow: sort}]", "a.yaml:1:35: steps[0].shadow.use: \"sort\" is no plugin (want an entry of plugins.instances, or a plugin of the plugin folder)"},
		{"fallback of observations", "agent: {observation: {make: {use: p, fallback: builtin}}}", "a.yaml:1:38: agent.observation.make.fallback: was removed (leave it out, or rewrite the file with: anchor-host config migrate)"},
		{"shadow of a built-in", "steps: [{name: a, use: sort, shadow: {use: p}}]", "a.yaml:1:38: steps[0].shadow: the step calls no plugin that finds or changes items (leave it out)"},
		{"shadow that is built in", "steps: [{name: a, use: p, shadow: {use: sort}}]", "a.yaml:1:41: steps[0].shadow.use: \"sort\" is no plugin (want an entry of plugins.instances, or a plugin of the plugin folder)"},
		{"no embedder at all", "embedder: none", "a.yaml:1:11: embedder: it makes no vectors if it is left out (for those of documents: collections: {NAME: {embedder: none}})"},
		{"preset and numbers", "window: {budget: {preset: rag, allocations: [{source: memory, cap_tokens: 3}]}}", `a.yaml:1:18: window.budget: preset excludes allocations (keep one way)`},
		{"builtin and plugin", "steps: [{name: a, use: p, builtin: sort}]",
			`a.yaml:1:27: steps[0].builtin: unknown key (it is steps[0].use now; rewrite the file with: anchor-host config migrate)`},
		{"input without function", "steps: [{name: a, use: p, input: text}]",
			`a.yaml:1:9: steps[0]: input and output need a function (add function: NAME)`},
		{"function and operation", "steps: [{name: a, use: p, function: f, operation: filter}]",
			`a.yaml:1:9: steps[0]: function needs a plugin, and excludes operation, retrievers, classifier and routes (keep one way)`},
		{"input of a function", "steps: [{name: a, use: p, function: f, input: txt}]",
			`a.yaml:1:47: steps[0].input: unknown value "txt" (did you mean "text"?)`},
		{"items of one text", "steps: [{name: a, use: p, function: f, input: text, output: items}]",
			`a.yaml:1:61: steps[0].output: input text has one text per item (for more use input: request)`},
		{"reads of a builtin", "steps: [{name: a, use: sort, reads: [text]}]",
			`a.yaml:1:37: steps[0].reads: reads needs a plugin (a built-in sees whole items; leave it out)`},
		{"reads of a function", "steps: [{name: a, use: p, function: f, input: text, reads: [text]}]",
			`a.yaml:1:60: steps[0].reads: reads choose what is sent with input: request only (leave them out)`},
		{"settings of a function", "steps: [{name: a, use: p, function: f, settings: {a: 1}}]",
			`a.yaml:1:50: steps[0].settings: settings are sent with input: request only`},
		{"frames of no run", "memory: {frames: {run: ''}}", `a.yaml:1:24: memory.frames.run: the name is empty`},
		{"run of frames missing", "memory: {frames: {max_frames: 2}}", `a.yaml:1:18: memory.frames: missing key "run"`},
		{"number for offered frames", "agent: {frames: 3}", `a.yaml:1:17: agent.frames: want true, false or a map`},
		{"unknown key of offered frames", "agent: {frames: {max: 3}}", `a.yaml:1:18: agent.frames.max: unknown key (want one of enabled, max_frames, tokens)`},
		{"bound of offered frames", "agent: {frames: {max_frames: 0}}", `a.yaml:1:30: agent.frames.max_frames: want 1 to 4294967295, got 0`},
		{"number for observation", "agent: {observation: 3}", `a.yaml:1:22: agent.observation: want true, false or a map`},
		{"maker of observations", "agent: {observation: {make: on}}", `a.yaml:1:29: agent.observation.make: unknown value "on" (want one of off, builtin)`},
		{"low water", "agent: {observation: {make: builtin, high_water: 5, low_water: 5}}", `a.yaml:1:64: agent.observation.low_water: want less than high_water 5, got 5`},
		{"marks of what has no compactor", "memory: {conversation: {high_water: 9, summary_tokens: 9, low_water: 5000}}",
			"a.yaml:1:37: memory.conversation.high_water: high_water needs compact\n" +
				"a.yaml:1:56: memory.conversation.summary_tokens: summary_tokens needs compact\n" +
				"a.yaml:1:70: memory.conversation.low_water: want at most tokens 4096, got 5000"},
		{"marks in the wrong order", "memory: {conversation: {tokens: 100, high_water: 101, low_water: 102, compact: {use: x}}}",
			"a.yaml:1:50: memory.conversation.high_water: want at most tokens 100, got 101\n" +
				"a.yaml:1:66: memory.conversation.low_water: want at most high_water 101, got 102"},
		{"mark above a default", "memory: {conversation: {tokens: 100, low_water: 76, compact: {use: x}}}",
			`a.yaml:1:49: memory.conversation.low_water: want at most high_water 75, got 76`},
		{"eviction", "memory: {conversation: {eviction: pared}}", `a.yaml:1:35: memory.conversation.eviction: unknown value "pared" (did you mean "paired"?)`},
		{"name twice", "steps: [{name: a, use: sort}, {name: a, use: sort}]",
			`a.yaml:1:38: steps[1].name: the name "a" is already used by steps[0] (give each step its own)`},
		{"digest", "plugins: {instances: {d: {plugin: p, digest: abc}}}", `a.yaml:1:46: plugins.instances.d.digest: want sha256: and 64 lower-case hex digits, or two of these joined by + where there is a plugin.yaml (plugin inspect shows it), got "abc"`},
		{"system in scope", "steps: [{name: a, use: sort, scope: [system]}]",
			`a.yaml:1:38: steps[0].scope[0]: unknown value "system" (want one of retrieval, memory, user, tool, conversation)`},
		{"memory twice", "memory: {use: p, conversation: {}}", `a.yaml:1:9: memory: use and conversation exclude each other (keep one)`},
		{"enricher both ways", "enricher: {template: x, use: p}", `a.yaml:1:11: enricher: template and max_items exclude use (keep one way)`},
		{"transform without retriever", "steps: [{name: a, use: p, operation: transform_query}]",
			`a.yaml:1:9: steps[0]: transform_query needs a retriever (add retrievers: [NAME])`},
		{"default without route", "steps: [{name: a, use: p, routes: {x: {use: q}}, default: y}]",
			`a.yaml:1:59: steps[0].default: no route "y" (want one of x)`},
		{"fusion of nothing", "steps: [{name: a, use: p, fusion: rrf}]",
			`a.yaml:1:9: steps[0]: fusion needs retrievers (add retrievers: [NAME, NAME])`},
		{"retriever without a name", "steps: [{name: a, retrievers: [{weight: 2}]}]", `a.yaml:1:32: steps[0].retrievers[0]: name a plugin or an instance (add use: NAME)`},
		{"weight in turn", "steps: [{name: a, retrievers: [{use: p, weight: 2}], fusion: round_robin}]",
			`a.yaml:1:49: steps[0].retrievers[0].weight: weight has no effect with fusion: round_robin (leave it out)`},
		{"builtin with routes", "steps: [{name: a, use: sort, routes: {x: {use: q}}, default: x}]",
			`a.yaml:1:9: steps[0]: sort is built in, and excludes operation, retrievers, classifier, routes and default (leave them out)`},
		{"retrieve with a retriever", "steps: [{name: a, use: p, operation: retrieve, retrievers: [{use: q}]}]",
			`a.yaml:1:9: steps[0]: retrievers need operation: transform_query (leave them out)`},
		{"retrieve with routes", "steps: [{name: a, use: p, operation: retrieve, routes: {x: {use: q}}}]",
			`a.yaml:1:9: steps[0]: routes and default need operation: classify (leave them out)`},
		{"no weight", "steps: [{name: a, retrievers: [{use: p, weight: 0}]}]", `a.yaml:1:49: steps[0].retrievers[0].weight: want 0.001 to 1000, got 0`},
		{"both ways to retrieve", "steps: [{name: a, use: t, retrievers: [{use: p}], retrievers: [{plugin: p}]}]",
			`a.yaml:1:51: steps[0].retrievers: duplicate key (first in line 1)`},
		{"settings of no plugin", "steps: [{name: a, retrievers: [{use: p}], settings: {a: 1}}]",
			`a.yaml:1:9: steps[0]: settings, reads and scope need a plugin (give settings to each retriever)`},
		{"retrievers with routes", "steps: [{name: a, retrievers: [{use: p}], routes: {x: {use: q}}}]",
			`a.yaml:1:9: steps[0]: retrievers without a plugin exclude operation and routes (leave those out)`},
		{"classifier and plugin", "steps: [{name: a, use: p, classifier: {keywords: {x: [y]}}, routes: {x: {use: q}}}]",
			`a.yaml:1:9: steps[0]: classifier excludes use, operation and retrievers (keep one way)`},
		{"keywords without a route", "steps: [{name: a, classifier: {keywords: {cod: [y]}}, routes: {code: {use: q}}}]",
			`a.yaml:1:48: steps[0].classifier.keywords.cod: no route "cod" (did you mean "code"?) (add it to routes, or give a default)`},
		{"label without keywords", "steps: [{name: a, classifier: {keywords: {x: []}}, routes: {x: {use: q}}}]",
			`a.yaml:1:46: steps[0].classifier.keywords.x: want keywords that are not empty`},
		{"keywords as a list", "steps: [{name: a, classifier: {keywords: [x]}, routes: {x: {use: q}}}]",
			`a.yaml:1:42: steps[0].classifier.keywords: want a map from labels to lists of keywords`},
		{"empty instance", "plugins:\n  instances:\n    docs:\n", `a.yaml:3:10: plugins.instances.docs: missing key "plugin"`},
		{"two mistakes", "steps:\n  - {name: a, use: s_rt}\n  - {nam: b, use: sort}",
			"" +
				"a.yaml:3:5: steps[1]: missing key \"name\"\na.yaml:3:6: steps[1].nam: unknown key (did you mean \"name\"?)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("a.yaml", []byte(tt.text))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	l, err := Parse("a.yaml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range Overrides {
		if o.Path == "window.max_tokens" {
			if err := l.Override(o, "100", "flag --max-tokens"); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := map[string]Setting{}
	for _, s := range l.Settings() {
		got[s.Path] = s
	}
	for _, want := range []Setting{
		{"window.max_tokens", int64(100), "100", "flag --max-tokens"},
		{"counting.tokenizer", "cl100k_base", "cl100k_base", "a.yaml:20"},
		{"telemetry.log_level", "warn", "warn", "default"},
		{"plugins.dir", "./wasm", "./wasm", "a.yaml:2"},
		{"plugins.instances.docs.settings.k1", 0.9, "0.9", "a.yaml:7"},
		{"plugins.instances.docs.settings.api_key", "(hidden)", "(hidden)", "a.yaml:7"},
		{"plugins.instances.docs.limits.memory", "256MiB", "256MiB", "a.yaml:13"},
		{"plugins.instances.docs.must", true, "true", "a.yaml:14"},
		{"steps[0].must", true, "true", "a.yaml:30"},
		{"steps[1].priority", int64(60), "60", "a.yaml:31"},
		{"memory.conversation.tokens", int64(500), "500", "a.yaml:25"},
		{"enricher.max_items", int64(3), "3", "a.yaml:28"},
		{"store.synchronous", "normal", "normal", "a.yaml:39"},
		{"memory.facts.min_score", 0.2, "0.2", "a.yaml:27"},
		{"memory.facts.tags", []string{"a", "b"}, "a, b", "a.yaml:27"},
		{"agent.frames.enabled", false, "false", "a.yaml:43"},
		{"agent.frames.max_frames", int64(50), "50", "default"},
		{"agent.observation.enabled", true, "true", "a.yaml:44"},
		{"agent.compaction.enabled", true, "true", "default"},
		{"agent.compaction.low_water", int64(300), "300", "a.yaml:45"},
		{"agent.truncation", false, "false", "a.yaml:46"},
	} {
		if !reflect.DeepEqual(got[want.Path], want) {
			t.Errorf("got %+v, want %+v", got[want.Path], want)
		}
	}
	for _, path := range []string{"timeout", "window.answer", "steps[1].top_k"} {
		if unset, ok := got[path]; ok {
			t.Errorf("a setting without value and default is listed: %+v", unset)
		}
	}
}

// What a switch that is not set means.
func TestSwitches(t *testing.T) {
	l, err := Parse("a.yaml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	a := &l.Agent
	if On(a.Frames.Enabled) || !On(a.Observation.Enabled) || !On(a.Compaction.Enabled) || On(a.Truncation) {
		t.Errorf("switches of %+v", a)
	}
	if l.TenantName() != "acme" || Default().TenantName() != "default" {
		t.Errorf("tenants %q, %q", l.TenantName(), Default().TenantName())
	}
	if got := []string{l.Agent.Providers[0].Title(), l.Agent.Providers[1].Title(), l.StorePath()}; !reflect.DeepEqual(got, []string{"crm-snapshot", "again", "memory.db"}) {
		t.Errorf("got %v", got)
	}
}

func TestLoadMissing(t *testing.T) {
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml")); !os.IsNotExist(underlying(err)) {
		t.Errorf("got %v", err)
	}
}

func underlying(err error) error {
	for {
		u, ok := err.(interface{ Unwrap() error })
		if !ok || u.Unwrap() == nil {
			return err
		}
		err = u.Unwrap()
	}
}

func compileSchema(t *testing.T) (*jsonschema.Schema, error) {
	t.Helper()
	raw, err := json.Marshal(Schema())
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("anchor", doc); err != nil {
		return nil, err
	}
	return c.Compile("anchor")
}

// The schema must be a schema, accept what the decoder accepts and refuse a
// typo.
func TestSchemaMatchesDecoder(t *testing.T) {
	s, err := compileSchema(t)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Parse("a.yaml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(l.node.Any()); err != nil {
		// integers of the tree are int64, which the validator takes as numbers
		t.Errorf("the full example: %v", err)
	}
	if err := s.Validate(map[string]any{"max_token": 1}); err == nil {
		t.Error("a typo passes the schema")
	}
}

func TestSizeAndDuration(t *testing.T) {
	for text, want := range map[string]Size{"64MiB": 64 << 20, "1KiB": 1 << 10} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want || s.String() != text {
			t.Errorf("%s: %v, %v, %s", text, int64(s), err, s)
		}
	}
}

// A bound may be a word, which the listing and the schema know.
func TestBoundsThatAreWords(t *testing.T) {
	const text = `plugins:
  instances:
    a:
      plugin: p
      limits: {queue_timeout: none, idle_timeout: unlimited, log_bytes: none, items: none, fuel: unlimited, break_after: -1, tokens: 12}
      grants: {kv: {quota: unlimited}, files: [{host: a, guest: /a, mode: rw, max_files: unlimited}]}
`
	l, err := Parse("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	i := l.Plugins.Instances["a"]
	if m := i.Limits; m.QueueTimeout != host.None || m.IdleTimeout != host.Unlimited || m.LogBytes != host.None || m.Items != host.None ||
		m.Fuel != host.Unlimited || m.BreakAfter != host.Unlimited || m.Tokens != 12 || i.Grants.KV.Quota != host.Unlimited || i.Grants.Files[0].MaxFiles != host.Unlimited {
		t.Errorf("%+v, %+v", m, i.Grants)
	}
	shown := map[string]any{}
	for _, s := range l.Settings() {
		shown[strings.TrimPrefix(s.Path, "plugins.instances.a.")] = s.Value
	}
	for path, want := range map[string]any{"limits.items": "none", "limits.break_after": "unlimited", "limits.tokens": int64(12), "limits.log_bytes": "none",
		"grants.kv.quota": "unlimited", "grants.files[0].max_files": "unlimited", "grants.files[0].quota": "64MiB"} {
		if shown[path] != want {
			t.Errorf("%s is listed as %#v, want %#v", path, shown[path], want)
		}
	}
	s, err := compileSchema(t)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(l.node.Any()); err != nil {
		t.Error(err)
	}
	if raw, err := json.Marshal(Schema()); err != nil || !strings.Contains(string(raw), `"default":10000,`) {
		t.Errorf("the default of max_files is no number, error %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(full)
	f.Add("steps: [{name: a}]")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := Parse("a.yaml", []byte(text))
		if (l == nil) == (err == nil) {
			t.Fatalf("config %v, error %v: want exactly one", l, err)
		}
		if err == nil && !reflect.DeepEqual(l.Settings(), l.Settings()) {
			t.Fatal("settings differ between two listings")
		}
	})
}

// What is shown of the server is what serve takes, also where one setting follows from another.
func TestServerSettingsAreThoseOfServe(t *testing.T) {
	l, err := Parse("anchor.yaml", []byte("server: {max_body: 200MiB, max_connections: 100, queue: {builds: 3}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for _, s := range l.Settings() {
		shown[s.Path] = s.Text + " " + s.Origin
	}
	for path, want := range map[string]string{
		"server.max_bodies": "400MiB default", "server.max_connections_per_address": "25 default", "server.max_body": "200MiB anchor.yaml:1",
		"server.queue.bytes": "256MiB default", "server.watch": "true default",
	} {
		if shown[path] != want {
			t.Errorf("%s: %q is shown, want %q", path, shown[path], want)
		}
	}
	with := l.Server.WithDefaults()
	if with.MaxBodies != 400<<20 || with.PerAddress != 25 || with.Queue.Builds != 3 || with.Queue.Bytes != 256<<20 || !*with.Watch {
		t.Errorf("serve takes %+v", with)
	}
	if Default().Server.WithDefaults().MaxConnections != 4096 || l.Server.MaxTimeout != 0 {
		t.Error("one configuration changed another")
	}
}
