package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/anchor-host/anchor-host/pipeline/tokens"
	"github.com/anchor-host/anchor-host/registry/trust"
)

// Finding is a mistake in the value at a path.
type Finding struct{ Path, Message string }

// Formats and Tokenizers are the built-in ones.
var (
	Formats    = format.Names()
	Tokenizers = []string{"words", "cl100k_base", "o200k_base", "p50k_base", "r50k_base"}
)

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}(\+sha256:[0-9a-f]{64})?$`)

// Check returns mistakes that decoding cannot detect: references to missing names, names that are
// used twice, and keys that contradict each other. It opens no file.
func (c *Config) Check() []Finding {
	k := &checker{config: c}
	k.window()
	k.steps()
	k.callbacks()
	k.instances()
	k.trust()
	k.registries()
	k.service()
	k.telemetry()
	k.searches()
	k.tenant()
	k.embedders()
	k.models()
	k.agent()
	k.providers()
	k.pipelines()
	return k.findings
}

// window checks what a pipeline can state about the window.
func (k *checker) window() {
	c := k.config
	k.choice("tokenizer", c.Tokenizer, Tokenizers)
	k.choice("format", c.Format, Formats)
	k.fit()
	k.budget()
	if c.Memory != nil {
		k.use("memory", c.Memory.Use())
	}
	if c.Memory != nil && c.Conversation != nil {
		k.find("memory", "memory and conversation exclude each other (keep one)")
	}
	if c.Memory != nil && c.Facts != nil {
		k.find("memory", "memory and facts exclude each other (keep one)")
	}
	k.conversation()
	k.facts()
	k.frames()
	k.enricher()
	if used := c.Embedder; used != "" {
		if _, ok := c.Embedders[used]; !ok {
			k.find("embedder", "no embedder %q%s", used, hint(k, used, c.Embedders))
		}
	}
}

func (k *checker) callbacks() {
	for i, u := range k.config.Callbacks {
		k.use(fmt.Sprintf("callbacks[%d]", i), u)
	}
}

func (k *checker) instances() {
	c := k.config
	for _, name := range slices.Sorted(maps.Keys(c.Instances)) {
		k.plugin("instances."+name+".plugin", c.Instances[name].Plugin)
		for _, link := range slices.Sorted(maps.Keys(c.Instances[name].Links)) {
			k.plugin("instances."+name+".links."+link, c.Instances[name].Links[link])
		}
		if d := c.Instances[name].Digest; d != "" && !digestPattern.MatchString(d) {
			k.find("instances."+name+".digest", "want sha256: and 64 lower-case hex digits, or two of these joined by + where there is a plugin.yaml (plugin inspect shows it), got %q", d)
		}
	}
}

// MaxFindings is how many mistakes a check looks for. An error lists fewer of them.
const MaxFindings = 5 * strict.MaxProblems

type checker struct {
	config   *Config
	findings []Finding
	// before is the number of mistakes that others have found.
	before int
}

func (k *checker) find(path, format string, args ...any) {
	if len(k.findings) < MaxFindings {
		k.findings = append(k.findings, Finding{path, strict.Message(format, args...)})
	}
}

// hint is [strict.Hint] for the keys of a map, for a mistake that is listed. It is empty for others.
func hint[V any](k *checker, name string, valid map[string]V) string {
	if k.before+len(k.findings) >= strict.MaxProblems {
		return ""
	}
	return strict.Hint(name, slices.Sorted(maps.Keys(valid)))
}

func (k *checker) choice(path string, c Choice, builtin []string) {
	switch {
	case c.File != "" && path != "tokenizer":
		k.find(path+".file", "only the tokenizer can be a file")
	case c.Use != nil:
		k.use(path, *c.Use)
		switch {
		case c.Fallback == "":
		case c.Must == nil || *c.Must:
			k.find(path+".fallback", "a fallback needs must: false (add it, or leave the fallback out)")
		case !slices.Contains(builtin, c.Fallback):
			k.find(path+".fallback", "unknown value %q%s", c.Fallback, strict.Hint(c.Fallback, builtin))
		}
	case c.Name != "" && !slices.Contains(builtin, c.Name):
		k.find(path, "unknown value %q%s", c.Name, strict.Hint(c.Name, builtin))
	}
}

func (k *checker) budget() {
	b := k.config.Budget
	switch {
	case b == nil:
		return
	case b.Preset == "":
		for i, a := range b.Allocations {
			if a.MaxTokens == 0 && a.MinTokens == 0 {
				k.find(fmt.Sprintf("budget.allocations[%d]", i), "state max_tokens, min_tokens or both")
			}
		}
		if len(b.Caps) > 0 {
			k.find("budget.caps", "caps need a preset (without one, state max_tokens in allocations)")
		}
		return
	}
	if b.ReserveTokens != 0 || len(b.Allocations) > 0 {
		k.find("budget", "preset excludes reserve_tokens and allocations (keep one way)")
	}
}

// use checks that a plugin is named in exactly one way, and that the instance
// exists.
func (k *checker) use(path string, u Use) {
	switch {
	case u.Plugin == "" && u.Instance == "":
		k.find(path, "name a plugin or an instance")
	case u.Plugin != "" && u.Instance != "":
		k.find(path, "plugin and instance exclude each other (the instance names its plugin)")
	default:
		k.reference(path, u)
	}
}

func (k *checker) reference(path string, u Use) {
	instances := k.config.Instances
	if u.Plugin != "" {
		k.plugin(strict.Join(path, "plugin"), u.Plugin)
		if _, ok := instances[u.Plugin]; ok {
			k.find(strict.Join(path, "plugin"), "an instance has the same name (write instance: %s, or rename the instance)", u.Plugin)
		}
		return
	}
	if _, ok := instances[u.Instance]; !ok {
		k.find(strict.Join(path, "instance"), "no instance %q%s", u.Instance, hint(k, u.Instance, instances))
	}
}

// plugin refuses names that neither a manifest nor the folder of a plugin can have.
func (k *checker) plugin(path, name string) {
	base, version, versioned := strings.Cut(name, "@")
	switch {
	case strings.HasPrefix(name, PluginScheme): // it is not locked: who reads the plugin folder says so
		if _, err := trust.Repository(name); err != nil {
			k.find(path, "%v", err)
		}
	case !manifest.ValidName(base) || versioned && (version == "" || strings.ContainsAny(version, `@/\\`)):
		k.find(path, "%q is not a valid plugin name (want lower-case letters, digits and single hyphens, a letter first, at most 64)", name)
	}
}

func (k *checker) enricher() {
	e := k.config.Enricher
	if e == nil {
		return
	}
	named := e.Plugin != "" || e.Instance != ""
	if named && (e.Template != "" || e.MaxItems != 0) {
		k.find("enricher", "template and max_items exclude a plugin (keep one way)")
	}
	if named {
		k.use("enricher", e.Use())
	} else if len(e.Settings) > 0 || e.Timeout != 0 || e.Reads != nil {
		k.find("enricher", "settings, timeout and reads need a plugin or an instance")
	}
}

func (k *checker) steps() {
	first := map[string]int{}
	for i := range k.config.Steps {
		s, path := &k.config.Steps[i], fmt.Sprintf("steps[%d]", i)
		if j, ok := first[s.Name]; ok {
			k.find(path+".name", "the name %q is already used by steps[%d] (give each step its own)", s.Name, j)
		} else {
			first[s.Name] = i
		}
		if s.Name == "" {
			k.find(path+".name", "the name is empty")
		}
		k.step(path, s)
	}
}

// function checks a step that calls a function of a foreign module.
func (k *checker) function(path string, s *Step) {
	switch {
	case s.Function == "" && (s.Input != "" || s.Output != ""):
		k.find(path, "input and output need a function (add function: NAME)")
	case s.Function == "":
	case s.Builtin != "" || s.Operation != "" || s.Retriever != nil || len(s.Retrievers) > 0 || s.Classifier != nil || len(s.Routes) > 0:
		k.find(path, "function excludes builtin, operation, retriever, retrievers, classifier and routes (keep one way)")
	case s.Input == host.InputText && (s.Output == host.OutputItems || s.Output == host.OutputChanges):
		k.find(path+".output", "input text has one text per item (for more use input: request)")
	case len(s.Settings) > 0 && s.Input != host.InputRequest:
		k.find(path+".settings", "settings are sent with input: request only")
	case s.Reads != nil && s.Input != host.InputRequest:
		k.find(path+".reads", "reads choose what is sent with input: request only (leave them out)")
	}
}

func (k *checker) step(path string, s *Step) {
	k.kind(path, s)
	k.function(path, s)
	if s.Retriever != nil {
		k.retrieverUse(path+".retriever", *s.Retriever)
	}
	k.retrievers(path, s)
	for _, label := range slices.Sorted(maps.Keys(s.Routes)) {
		k.retrieverUse(strict.Join(path+".routes", label), s.Routes[label])
	}
	if s.Default != "" {
		if _, ok := s.Routes[s.Default]; !ok {
			k.find(path+".default", "no route %q%s", s.Default, hint(k, s.Default, s.Routes))
		}
	}
	switch {
	case s.Operation != "" && s.Operation != "transform_query" && (s.Retriever != nil || len(s.Retrievers) > 0):
		k.find(path, "retriever and retrievers need operation: transform_query (leave them out)")
	case s.Operation != "" && s.Operation != "classify" && (len(s.Routes) > 0 || s.Default != ""):
		k.find(path, "routes and default need operation: classify (leave them out)")
	case s.Operation == "transform_query" && s.Retriever == nil && len(s.Retrievers) == 0:
		k.find(path, "transform_query needs a retriever (add retriever: {plugin: …})")
	case s.Operation == "classify" && len(s.Routes) == 0:
		k.find(path, "classify needs routes (add routes: {label: {plugin: …}})")
	}
}

// kind checks that a step has exactly one kind, such as plugin or builtin.
func (k *checker) kind(path string, s *Step) {
	plugin := s.Plugin != "" || s.Instance != ""
	switch {
	case s.Builtin != "":
		if plugin || s.Operation != "" || len(s.Retrievers) > 0 || s.Classifier != nil {
			k.find(path, "builtin excludes plugin, instance, operation, retrievers and classifier (keep one way)")
		}
		if s.Retriever != nil || len(s.Routes) > 0 || s.Default != "" {
			k.find(path, "builtin excludes retriever, routes and default (leave them out)")
		}
		if s.Reads != nil {
			k.find(path+".reads", "reads needs a plugin or an instance (a builtin sees whole items; leave it out)")
		}
		return
	case s.Classifier != nil:
		k.classifier(path, s)
	case plugin:
		k.use(path, s.Use())
		return
	case s.Retriever != nil:
		k.retrieverStep(path, s)
	case len(s.Retrievers) == 0:
		k.find(path, "name a plugin, an instance, a builtin, a retriever, retrievers or a classifier")
		return
	case s.Operation != "" || s.Retriever != nil || len(s.Routes) > 0:
		k.find(path, "retrievers without a plugin exclude operation, retriever and routes (leave those out)")
	}
	if len(s.Settings) > 0 || s.Reads != nil || len(s.Scope) > 0 {
		k.find(path, "settings, reads and scope need a plugin (give settings and reads to each retriever)")
	}
}

func (k *checker) classifier(path string, s *Step) {
	if s.Plugin != "" || s.Instance != "" || s.Operation != "" || s.Retriever != nil || len(s.Retrievers) > 0 {
		k.find(path, "classifier excludes plugin, instance, operation, retriever and retrievers (keep one way)")
	}
	at := path + ".classifier.keywords"
	if len(s.Classifier.Keywords) == 0 {
		k.find(at, "name at least one label with its keywords")
	}
	for _, rule := range s.Classifier.Keywords {
		at := strict.Join(at, rule.Label)
		if _, ok := s.Routes[rule.Label]; !ok && s.Default == "" {
			k.find(at, "no route %q%s (add it to routes, or give a default)", rule.Label, hint(k, rule.Label, s.Routes))
		}
		if len(rule.Keywords) == 0 || slices.Contains(rule.Keywords, "") {
			k.find(at, "want keywords that are not empty")
		}
	}
}

// retrievers checks the retrievers whose results are merged.
func (k *checker) retrievers(path string, s *Step) {
	switch {
	case len(s.Retrievers) == 0 && (s.Fusion != "" || s.RRFK != 0):
		k.find(path, "fusion and rrf_k need retrievers (add retrievers: [{plugin: …}, {plugin: …}])")
	case s.RRFK != 0 && s.Fusion != "rrf":
		k.find(path+".rrf_k", "rrf_k needs fusion: rrf")
	case len(s.Retrievers) > 0 && s.Retriever != nil:
		k.find(path, "retriever and retrievers exclude each other (keep one)")
	}
	for i := range s.Retrievers {
		at := fmt.Sprintf("%s.retrievers[%d]", path, i)
		k.retrieverUse(at, s.Retrievers[i].Use())
		if s.Retrievers[i].Weight != 0 && s.Fusion == "round_robin" {
			k.find(at+".weight", "weight has no effect with fusion: round_robin (leave it out)")
		}
	}
}

// fit checks the model and its calibration.
func (k *checker) fit() {
	c := k.config
	if c.Tools != "" && c.FitOptions.Tools != "" {
		k.find("tools", "tools and fit_options.tools exclude each other (keep tools)")
	}
	if c.Model == "" {
		if c.Calibration != "" {
			k.find("calibration", "calibration needs a model (say which one its figures are for)")
		}
		return
	}
	if c.Tokenizer.File != "" { // which counts for the model
		if c.Calibration != "" {
			k.find("calibration", "tokenizer.file counts exactly (leave calibration out)")
		}
		return
	}
	if c.Tokenizer != (Choice{}) {
		k.find("model", "model and tokenizer exclude each other (keep one; only the tokenizer.json of the model, tokenizer.file, may stand beside it)")
	}
	if m, _ := tokens.LookupModel(c.Model); m.Exact() && c.Calibration != "" {
		k.find("calibration", "the tokens of %s are counted exactly (leave calibration out)", c.Model)
	}
}
