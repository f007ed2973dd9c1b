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

const full = `plugins: {dir: ./wasm}
max_tokens: 8192
tokenizer: cl100k_base
format: anthropic
format_options: {caching: true}
budget: {preset: rag}
system_prompts:
  - {content: Be short., priority: 9}
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
conversation:
  max_tokens: 500
  turns: [{role: user, content: hi, created_at: 2026-01-01T00:00:00Z}]
enricher: {max_items: 3}
steps:
  - {name: docs, instance: docs, top_k: 20, must: true}
  - {name: fresh, plugin: recency-rerank, priority: 60, settings: {half_life: 72h}}
  - {name: best, builtin: top_k, top_k: 5}
  - name: route
    plugin: intent-classifier
    operation: classify
    routes: {code: {instance: docs}}
    default: code
providers:
  - {plugin: crm-snapshot, priority: 5}
  - {name: again, plugin: crm-snapshot, priority: 40, timeout: 1s, settings: {id_key: account}}
tenant: acme
store: {path: memory.db, synchronous: normal}
facts: {max_items: 3, min_score: 0.2, user: ann, type: semantic, tags: [a, b]}
agent:
  max_tokens: 1000
  max_messages: 50
  phase: synthesize
  frames: false
  observation: true
  compaction: {trigger_tokens: 800, keep_tokens: 300, compact: {plugin: turn-summary}, timeout: 5s}
  truncation: false
  plan: true
  timeout: 3s
`

func TestParse(t *testing.T) {
	l, err := Parse("conf/anchor.yaml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	docs := l.Instances["docs"]
	want := Limits{Timeout: Duration(2 * time.Second), Memory: 256 << 20, Fuel: 1_000_000}
	if docs.Limits != want || !docs.Must || docs.Settings["k1"] != 0.9 || docs.Grants.KV.Quota != 1<<20 {
		t.Errorf("docs = %+v", docs)
	}
	if got := l.Path(docs.Grants.Files[0].Host); got != filepath.Join("conf", "docs") {
		t.Errorf("path = %q", got)
	}
	if s := l.Steps[3]; s.Routes["code"].Instance != "docs" || s.Default != "code" {
		t.Errorf("route = %+v", s)
	}
	if !l.Conversation.Turns[0].CreatedAt.Equal(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("turns = %+v", l.Conversation.Turns)
	}
}

func TestMistakes(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"typo at the top", "max_token: 3", `a.yaml:1:1: max_token: unknown key (did you mean "max_tokens"?)`},
		{"typo in a step", "steps:\n  - {name: a, builtin: sort, prioritty: 3}", `a.yaml:2:30: steps[0].prioritty: unknown key (did you mean "priority"?)`},
		{"typo in a grant", "instances: {d: {plugin: p, grants: {file: []}}}", `a.yaml:1:37: instances.d.grants.file: unknown key (did you mean "files"?)`},
		{"size", "instances: {d: {plugin: p, limits: {memory: much}}}", `a.yaml:1:45: instances.d.limits.memory: want a size such as "64MiB", got "much"`},
		{"bound that is not lifted", "instances: {d: {plugin: p, limits: {timeout: unlimited}}}", `a.yaml:1:46: instances.d.limits.timeout: want a time span such as "2s", got "unlimited"`},
		{"bound without a word", "instances: {d: {plugin: p, limits: {items: all}}}", `a.yaml:1:44: instances.d.limits.items: want a whole number, unlimited or none, got "all"`},
		{"bound of zero", "instances: {d: {plugin: p, limits: {fuel: 0}}}", `a.yaml:1:43: instances.d.limits.fuel: want 1 or more, got 0`},
		{"duration", "timeout: 5", `a.yaml:1:10: timeout: want a time span such as "2s", got "5"`},
		{"tokenizer", "tokenizer: cl100k", `a.yaml:1:12: tokenizer: unknown value "cl100k" (want one of words, cl100k_base, o200k_base, p50k_base, r50k_base)`},
		{"fallback of a plugin that is not skipped", "format: {plugin: p, fallback: openai}",
			`a.yaml:1:31: format.fallback: a fallback needs must: false (add it, or leave the fallback out)`},
		{"unknown fallback", "tokenizer: {plugin: p, must: false, fallback: word}",
			`a.yaml:1:47: tokenizer.fallback: unknown value "word" (did you mean "words"?)`},
		{"policy of a retriever", "steps: [{name: a, plugin: p, retriever: {plugin: q, must: false}}]",
			`a.yaml:1:53: steps[0].retriever.must: unknown key (want one of retriever, plugin, instance, settings, timeout, reads)`},
		{"format", "format: antropic", `a.yaml:1:9: format: unknown value "antropic" (did you mean "anthropic"?)`},
		{"name that is a path", "steps: [{name: a, plugin: ../x}]",
			`a.yaml:1:27: steps[0].plugin: "../x" is not a valid plugin name (want lower-case letters, digits and single hyphens, a letter first, at most 64)`},
		{"path of a retriever", "steps: [{name: a, plugin: p, retriever: {plugin: x/y}}]",
			`a.yaml:1:50: steps[0].retriever.plugin: "x/y" is not a valid plugin name (want lower-case letters, digits and single hyphens, a letter first, at most 64)`},
		{"path of an instance", "instances: {i: {plugin: ..}}",
			`a.yaml:1:25: instances.i.plugin: ".." is not a valid plugin name (want lower-case letters, digits and single hyphens, a letter first, at most 64)`},
		{"no plugin", "steps: [{name: a}]", `a.yaml:1:9: steps[0]: name a plugin, an instance, a builtin, a retriever, retrievers or a classifier`},
		{"two plugins", "instances: {i: {plugin: p}}\nsteps: [{name: a, plugin: p, instance: i}]",
			`a.yaml:2:9: steps[0]: plugin and instance exclude each other (the instance names its plugin)`},
		{"builtin and plugin", "steps: [{name: a, plugin: p, builtin: sort}]",
			`a.yaml:1:9: steps[0]: builtin excludes plugin, instance, operation, retrievers and classifier (keep one way)`},
		{"input without function", "steps: [{name: a, plugin: p, input: text}]",
			`a.yaml:1:9: steps[0]: input and output need a function (add function: NAME)`},
		{"function and operation", "steps: [{name: a, plugin: p, function: f, operation: filter}]",
			`a.yaml:1:9: steps[0]: function excludes builtin, operation, retriever, retrievers, classifier and routes (keep one way)`},
		{"input of a function", "steps: [{name: a, plugin: p, function: f, input: txt}]",
			`a.yaml:1:50: steps[0].input: unknown value "txt" (did you mean "text"?)`},
		{"items of one text", "steps: [{name: a, plugin: p, function: f, input: text, output: items}]",
			`a.yaml:1:64: steps[0].output: input text has one text per item (for more use input: request)`},
		{"reads of a builtin", "steps: [{name: a, builtin: sort, reads: [text]}]",
			`a.yaml:1:41: steps[0].reads: reads needs a plugin or an instance (a builtin sees whole items; leave it out)`},
		{"reads of a function", "steps: [{name: a, plugin: p, function: f, input: text, reads: [text]}]",
			`a.yaml:1:63: steps[0].reads: reads choose what is sent with input: request only (leave them out)`},
		{"settings of a function", "steps: [{name: a, plugin: p, function: f, settings: {a: 1}}]",
			`a.yaml:1:53: steps[0].settings: settings are sent with input: request only`},
		{"frames of no run", "frames: {run: ''}", `a.yaml:1:15: frames.run: the name is empty`},
		{"run of frames missing", "frames: {max_frames: 2}", `a.yaml:1:9: frames: missing key "run"`},
		{"number for offered frames", "agent: {frames: 3}", `a.yaml:1:17: agent.frames: want true, false or a map`},
		{"unknown key of offered frames", "agent: {frames: {max: 3}}", `a.yaml:1:18: agent.frames.max: unknown key (want one of enabled, max_frames, max_tokens)`},
		{"bound of offered frames", "agent: {frames: {max_frames: 0}}", `a.yaml:1:30: agent.frames.max_frames: want 1 to 4294967295, got 0`},
		{"number for observation", "agent: {observation: 3}", `a.yaml:1:22: agent.observation: want true, false or a map`},
		{"maker of observations", "agent: {observation: {make: on}}", `a.yaml:1:29: agent.observation.make: unknown value "on" (want one of off, builtin)`},
		{"plugin that makes observations", "agent: {observation: {make: {instance: d}}}", `a.yaml:1:40: agent.observation.make.instance: no instance "d"`},
		{"low water", "agent: {observation: {make: builtin, high_water: 5, low_water: 5}}", `a.yaml:1:64: agent.observation.low_water: want less than high_water 5, got 5`},
		{"lowest of what is not linear", "conversation: {recency: exponential, recency_lowest: 0.1}",
			`a.yaml:1:54: conversation.recency_lowest: recency_lowest needs recency: linear`},
		{"marks of what has no compactor", "conversation: {high_water: 9, summary_tokens: 9, low_water: 5000}",
			"a.yaml:1:28: conversation.high_water: high_water needs compact\n" +
				"a.yaml:1:47: conversation.summary_tokens: summary_tokens needs compact\n" +
				"a.yaml:1:61: conversation.low_water: want at most max_tokens 4096, got 5000"},
		{"marks in the wrong order", "conversation: {max_tokens: 100, high_water: 101, low_water: 102, compact: {plugin: x}}",
			"a.yaml:1:45: conversation.high_water: want at most max_tokens 100, got 101\n" +
				"a.yaml:1:61: conversation.low_water: want at most high_water 101, got 102"},
		{"mark above a default", "conversation: {max_tokens: 100, low_water: 76, compact: {plugin: x}}",
			`a.yaml:1:44: conversation.low_water: want at most high_water 75, got 76`},
		{"rate of what is not exponential", "conversation: {recency_rate: 1}",
			`a.yaml:1:30: conversation.recency_rate: recency_rate needs recency: exponential`},
		{"eviction", "conversation: {eviction: pared}", `a.yaml:1:26: conversation.eviction: unknown value "pared" (did you mean "paired"?)`},
		{"no such instance", "instances: {docs: {plugin: p}}\nsteps: [{name: a, instance: dosc}]",
			`a.yaml:2:29: steps[0].instance: no instance "dosc" (did you mean "docs"?)`},
		{"plugin named like an instance", "instances: {p: {plugin: p}}\nsteps: [{name: a, plugin: p}]",
			`a.yaml:2:27: steps[0].plugin: an instance has the same name (write instance: p, or rename the instance)`},
		{"name twice", "steps: [{name: a, builtin: sort}, {name: a, builtin: sort}]",
			`a.yaml:1:42: steps[1].name: the name "a" is already used by steps[0] (give each step its own)`},
		{"digest", "instances: {d: {plugin: p, digest: abc}}", `a.yaml:1:36: instances.d.digest: want sha256: and 64 lower-case hex digits, or two of these joined by + where there is a plugin.yaml (plugin inspect shows it), got "abc"`},
		{"preset and numbers", "budget: {preset: rag, reserve_tokens: 1}", `a.yaml:1:9: budget: preset excludes reserve_tokens and allocations (keep one way)`},
		{"system in scope", "steps: [{name: a, builtin: sort, scope: [system]}]",
			`a.yaml:1:42: steps[0].scope[0]: unknown value "system" (want one of retrieval, memory, user, tool, conversation)`},
		{"memory twice", "memory: {plugin: p}\nconversation: {}", `a.yaml:1:9: memory: memory and conversation exclude each other (keep one)`},
		{"enricher both ways", "enricher: {template: x, plugin: p}", `a.yaml:1:11: enricher: template and max_items exclude a plugin (keep one way)`},
		{"transform without retriever", "steps: [{name: a, plugin: p, operation: transform_query}]",
			`a.yaml:1:9: steps[0]: transform_query needs a retriever (add retriever: {plugin: …})`},
		{"default without route", "steps: [{name: a, plugin: p, routes: {x: {plugin: q}}, default: y}]",
			`a.yaml:1:65: steps[0].default: no route "y" (want one of x)`},
		{"fusion of nothing", "steps: [{name: a, plugin: p, fusion: rrf}]",
			`a.yaml:1:9: steps[0]: fusion and rrf_k need retrievers (add retrievers: [{plugin: …}, {plugin: …}])`},
		{"rrf_k of another fusion", "steps: [{name: a, retrievers: [{plugin: p}], rrf_k: 3}]", `a.yaml:1:53: steps[0].rrf_k: rrf_k needs fusion: rrf`},
		{"retriever without a name", "steps: [{name: a, retrievers: [{weight: 2}]}]", `a.yaml:1:32: steps[0].retrievers[0]: name a retriever, a plugin or an instance`},
		{"weight in turn", "steps: [{name: a, retrievers: [{plugin: p, weight: 2}], fusion: round_robin}]",
			`a.yaml:1:52: steps[0].retrievers[0].weight: weight has no effect with fusion: round_robin (leave it out)`},
		{"builtin with routes", "steps: [{name: a, builtin: sort, routes: {x: {plugin: q}}, default: x}]",
			`a.yaml:1:9: steps[0]: builtin excludes retriever, routes and default (leave them out)`},
		{"retrieve with a retriever", "steps: [{name: a, plugin: p, operation: retrieve, retriever: {plugin: q}}]",
			`a.yaml:1:9: steps[0]: retriever and retrievers need operation: transform_query (leave them out)`},
		{"retrieve with routes", "steps: [{name: a, plugin: p, operation: retrieve, routes: {x: {plugin: q}}}]",
			`a.yaml:1:9: steps[0]: routes and default need operation: classify (leave them out)`},
		{"no weight", "steps: [{name: a, retrievers: [{plugin: p, weight: 0}]}]", `a.yaml:1:52: steps[0].retrievers[0].weight: want 0.001 to 1000, got 0`},
		{"both ways to retrieve", "steps: [{name: a, plugin: t, retriever: {plugin: p}, retrievers: [{plugin: p}]}]",
			`a.yaml:1:9: steps[0]: retriever and retrievers exclude each other (keep one)`},
		{"settings of no plugin", "steps: [{name: a, retrievers: [{plugin: p}], settings: {a: 1}}]",
			`a.yaml:1:9: steps[0]: settings, reads and scope need a plugin (give settings and reads to each retriever)`},
		{"retrievers with routes", "steps: [{name: a, retrievers: [{plugin: p}], routes: {x: {plugin: q}}}]",
			`a.yaml:1:9: steps[0]: retrievers without a plugin exclude operation, retriever and routes (leave those out)`},
		{"classifier and plugin", "steps: [{name: a, plugin: p, classifier: {keywords: {x: [y]}}, routes: {x: {plugin: q}}}]",
			`a.yaml:1:9: steps[0]: classifier excludes plugin, instance, operation, retriever and retrievers (keep one way)`},
		{"keywords without a route", "steps: [{name: a, classifier: {keywords: {cod: [y]}}, routes: {code: {plugin: q}}}]",
			`a.yaml:1:48: steps[0].classifier.keywords.cod: no route "cod" (did you mean "code"?) (add it to routes, or give a default)`},
		{"label without keywords", "steps: [{name: a, classifier: {keywords: {x: []}}, routes: {x: {plugin: q}}}]",
			`a.yaml:1:46: steps[0].classifier.keywords.x: want keywords that are not empty`},
		{"keywords as a list", "steps: [{name: a, classifier: {keywords: [x]}, routes: {x: {plugin: q}}}]",
			`a.yaml:1:42: steps[0].classifier.keywords: want a map from labels to lists of keywords`},
		{"empty instance", "instances:\n  docs:\n", `a.yaml:2:8: instances.docs: missing key "plugin"`},
		{"two mistakes", "steps:\n  - {name: a, builtin: srt}\n  - {nam: b, builtin: sort}",
			"a.yaml:2:24: steps[0].builtin: unknown value \"srt\" (did you mean \"sort\"?)\n" +
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
		if o.Path == "max_tokens" {
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
		{"max_tokens", int64(100), "100", "flag --max-tokens"},
		{"tokenizer", "cl100k_base", "cl100k_base", "a.yaml:3"},
		{"log_level", "warn", "warn", "default"},
		{"plugins.dir", "./wasm", "./wasm", "a.yaml:1"},
		{"instances.docs.settings.k1", 0.9, "0.9", "a.yaml:13"},
		{"instances.docs.settings.api_key", "(hidden)", "(hidden)", "a.yaml:13"},
		{"instances.docs.limits.memory", "256MiB", "256MiB", "a.yaml:19"},
		{"instances.docs.must", true, "true", "a.yaml:20"},
		{"steps[0].must", true, "true", "a.yaml:26"},
		{"steps[1].priority", int64(60), "60", "a.yaml:27"},
		{"conversation.max_tokens", int64(500), "500", "a.yaml:22"},
		{"enricher.max_items", int64(3), "3", "a.yaml:24"},
		{"store.synchronous", "normal", "normal", "a.yaml:38"},
		{"facts.min_score", 0.2, "0.2", "a.yaml:39"},
		{"facts.tags", []string{"a", "b"}, "a, b", "a.yaml:39"},
		{"agent.frames.enabled", false, "false", "a.yaml:44"},
		{"agent.frames.max_frames", int64(50), "50", "default"},
		{"agent.observation.enabled", true, "true", "a.yaml:45"},
		{"agent.compaction.enabled", true, "true", "default"},
		{"agent.compaction.keep_tokens", int64(300), "300", "a.yaml:46"},
		{"agent.truncation", false, "false", "a.yaml:47"},
	} {
		if !reflect.DeepEqual(got[want.Path], want) {
			t.Errorf("got %+v, want %+v", got[want.Path], want)
		}
	}
	for _, path := range []string{"timeout", "budget.reserve_tokens", "steps[1].top_k"} {
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
	if On(a.Frames.Enabled) || !On(a.Observation.Enabled) || !On(a.Compaction.Enabled) || On(a.Truncation) || a.Enforced() {
		t.Errorf("switches of %+v", a)
	}
	a.Truncation, a.Enforce = nil, nil
	if !a.Enforced() {
		t.Error("the budget is not enforced where nothing is switched off")
	}
	if l.TenantName() != "acme" || Default().TenantName() != "default" {
		t.Errorf("tenants %q, %q", l.TenantName(), Default().TenantName())
	}
	if got := []string{l.Providers[0].Title(), l.Providers[1].Title(), l.StorePath()}; !reflect.DeepEqual(got, []string{"crm-snapshot", "again", "memory.db"}) {
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
	const text = `instances:
  a:
    plugin: p
    limits: {queue_timeout: none, idle_timeout: unlimited, log_bytes: none, items: none, fuel: unlimited, rest_after: -1, tokens: 12}
    grants: {kv: {quota: unlimited}, files: [{host: a, guest: /a, mode: rw, max_files: unlimited}]}
`
	l, err := Parse("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	i := l.Instances["a"]
	if m := i.Limits; m.QueueTimeout != host.None || m.IdleTimeout != host.Unlimited || m.LogBytes != host.None || m.Items != host.None ||
		m.Fuel != host.Unlimited || m.RestAfter != host.Unlimited || m.Tokens != 12 || i.Grants.KV.Quota != host.Unlimited || i.Grants.Files[0].MaxFiles != host.Unlimited {
		t.Errorf("%+v, %+v", m, i.Grants)
	}
	shown := map[string]any{}
	for _, s := range l.Settings() {
		shown[strings.TrimPrefix(s.Path, "instances.a.")] = s.Value
	}
	for path, want := range map[string]any{"limits.items": "none", "limits.rest_after": "unlimited", "limits.tokens": int64(12), "limits.log_bytes": "none",
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

// A part, an enricher, a step and a provider are used as they say.
func TestUseIsComplete(t *testing.T) {
	want := Use{Plugin: "p", Instance: "i", Settings: map[string]any{"k": 1}, Timeout: 3, Reads: []string{"data"}}
	for _, got := range []Use{
		(&Part{Plugin: "p", Instance: "i", Settings: want.Settings, Timeout: 3, Reads: want.Reads}).Use(),
		(&Enricher{Plugin: "p", Instance: "i", Settings: want.Settings, Timeout: 3, Reads: want.Reads}).Use(),
		(&Step{Plugin: "p", Instance: "i", Settings: want.Settings, Timeout: 3, Reads: want.Reads}).Use(),
		(&Provider{Plugin: "p", Instance: "i", Settings: want.Settings, Timeout: 3, Reads: want.Reads}).Use(),
	} {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
