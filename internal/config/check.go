package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline/format"
	"github.com/anchor-host/anchor-host/registry/trust"
	"github.com/anchor-host/anchor-host/tokens"
)

// Finding is a mistake in the value at a path.
type Finding struct{ Path, Message string }

// Formats and Tokenizers are the built-in ones.
var (
	Formats    = format.Names()
	Tokenizers = []string{"words", "cl100k_base", "o200k_base"}
)

var digestPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^sha256:[0-9a-f]{64}(\+sha256:[0-9a-f]{64})?$`)
})

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
	k.choice("counting.tokenizer", c.Tokenizer, Tokenizers)
	k.choice("format", c.Format, Formats)
	k.fit()
	k.budget()
	if c.Memory.Stated() {
		k.use("memory", &c.Memory.Use, nil)
	}
	if c.Memory.Name != "" && c.Conversation != nil {
		k.find("memory", "use and conversation exclude each other (keep one)")
	}
	if c.Memory.Name != "" && c.Facts != nil {
		k.find("memory", "use and facts exclude each other (keep one)")
	}
	k.conversation()
	k.facts()
	k.frames()
	k.enricher()
	if used := c.Embedder; used == NoEmbedder {
		k.find("embedder", "it makes no vectors if it is left out (for those of documents: collections: {NAME: {embedder: none}})")
	} else if used != "" {
		missing(k, "embedder", "embedder", used, c.AllEmbedders())
	}
}

func (k *checker) callbacks() {
	for i := range k.config.Callbacks {
		k.use(fmt.Sprintf("callbacks[%d]", i), k.config.Callbacks[i].Use(), nil)
	}
}

func (k *checker) instances() {
	instances := k.config.Plugins.Instances
	for _, name := range slices.Sorted(maps.Keys(instances)) {
		at, of := strict.Join("plugins.instances", name), instances[name]
		k.plugin(at+".plugin", of.Plugin)
		for _, link := range slices.Sorted(maps.Keys(of.Links)) {
			k.plugin(at+".links."+link, of.Links[link])
		}
		if d := of.Digest; d != "" && !digestPattern().MatchString(d) {
			k.find(at+".digest", "want sha256: and 64 lower-case hex digits, or two of these joined by + where there is a plugin.yaml (plugin inspect shows it), got %q", d)
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
	case c.File != "" && path != "counting.tokenizer":
		k.find(path+".file", "only the tokenizer can be a file")
	case c.bare && !k.isInstance(c.Use.Name):
		k.find(path, "unknown value %q%s", c.Use.Name, strict.Hint(c.Use.Name, builtin))
	case c.Use != nil:
		k.use(path, c.Use, builtin)
		switch {
		case c.Fallback == "":
		case c.Use.Must == nil || *c.Use.Must:
			k.find(path+".fallback", "a fallback needs must: false (add it, or leave the fallback out)")
		case !slices.Contains(builtin, c.Fallback):
			k.find(path+".fallback", "unknown value %q%s", c.Fallback, strict.Hint(c.Fallback, builtin))
		}
	case c.Name != "" && !slices.Contains(builtin, c.Name):
		k.find(path, "unknown value %q%s", c.Name, strict.Hint(c.Name, builtin))
	case c.Name != "":
		k.one(path, c.Name, builtin)
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
				k.find(fmt.Sprintf("window.budget.allocations[%d]", i), "state cap_tokens, min_tokens or both")
			}
		}
		if len(b.Caps) > 0 {
			k.find("window.budget.caps", "caps need a preset (without one, state cap_tokens in allocations)")
		}
		return
	}
	if len(b.Allocations) > 0 {
		k.find("window.budget", "preset excludes allocations (keep one way)")
	}
}

// use checks that a place names what it uses, and that the name means one thing. builtin are the names of what the
// place has built in.
func (k *checker) use(path string, u *Use, builtin []string) {
	if u.Name == "" {
		k.find(path, "name a plugin or an instance (add use: NAME)")
		return
	}
	if !k.one(path, u.Name, builtin) {
		return
	}
	at := strict.Join(path, "use")
	switch {
	case k.isInstance(u.Name), slices.Contains(builtin, u.Name):
	case strings.HasPrefix(path, "steps[") && k.config.IsSearch(u.Name):
	case !strings.HasPrefix(u.Name, PluginScheme) && !validName(u.Name):
		k.find(at, "unknown name %q%s", u.Name, k.nameHint(u.Name, builtin))
	default:
		k.plugin(at, u.Name)
	}
}

func (k *checker) isInstance(name string) bool {
	_, ok := k.config.Plugins.Instances[name]
	return ok
}

// nameHint is what [hint] is for a map, for a name that may be one of a file.
func (k *checker) nameHint(name string, builtin []string) string {
	if k.before+len(k.findings) >= strict.MaxProblems {
		return ""
	}
	names := slices.Concat(builtin, k.config.UseNames())
	slices.Sort(names)
	return strict.Hint(name, names)
}

// one reports whether a name means one thing only in the place at path.
func (k *checker) one(path, name string, builtin []string) bool {
	var means []string
	if k.isInstance(name) {
		means = append(means, "an instance")
	}
	if strings.HasPrefix(path, "steps[") && k.config.IsSearch(name) {
		means = append(means, "an entry of retrievers")
	}
	if slices.Contains(builtin, name) {
		means = append(means, "built in")
	}
	if len(means) > 1 {
		k.find(strict.Join(path, "use"), "%q is %s, and also %s (rename the former)", name, means[0], means[1])
	}
	return len(means) < 2
}

// validName reports whether a plugin can have a name, which may end with a version.
func validName(name string) bool {
	base, version, versioned := strings.Cut(name, "@")
	return manifest.ValidName(base) && (!versioned || version != "" && !strings.ContainsAny(version, `@/\\`))
}

// plugin refuses names that neither a manifest nor the folder of a plugin can have.
func (k *checker) plugin(path, name string) {
	switch {
	case strings.HasPrefix(name, PluginScheme): // it is not locked: who reads the plugin folder says so
		if _, err := trust.Repository(name); err != nil {
			k.find(path, "%v", err)
		}
	case !validName(name):
		k.find(path, "%q is not a valid plugin name (want lower-case letters, digits and single hyphens, a letter first, at most 64)", name)
	}
}

func (k *checker) enricher() {
	e := k.config.Enricher
	if e == nil {
		return
	}
	if e.Name != "" && (e.Template != "" || e.MaxItems != 0) {
		k.find("enricher", "template and max_items exclude use (keep one way)")
	}
	if e.Name != "" {
		k.use("enricher", &e.Use, nil)
	} else if len(e.Settings) > 0 || e.Timeout != 0 {
		k.find("enricher", "settings and timeout need a plugin (add use: NAME)")
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
	case !k.config.CallsPlugin(s) || s.Operation != "" || len(s.Retrievers) > 0 || s.Classifier != nil || len(s.Routes) > 0:
		k.find(path, "function needs a plugin, and excludes operation, retrievers, classifier and routes (keep one way)")
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
	k.retrievers(path, s)
	for _, label := range slices.Sorted(maps.Keys(s.Routes)) {
		route := s.Routes[label]
		k.retrieverUse(strict.Join(path+".routes", label), &route)
	}
	if s.Default != "" {
		if _, ok := s.Routes[s.Default]; !ok {
			k.find(path+".default", "no route %q%s", s.Default, hint(k, s.Default, s.Routes))
		}
	}
	if s.Shadow != nil && (!k.config.CallsPlugin(s) || len(s.Retrievers)+len(s.Routes) > 0) {
		k.find(path+".shadow", "the step calls no plugin that finds or changes items (leave it out)")
	} else if s.Shadow != nil && !k.config.CallsPlugin(&Step{Use: Use{Name: s.Shadow.Use}}) {
		k.find(path+".shadow.use", "%q is no plugin (want an entry of plugins.instances, or a plugin of the plugin folder)", s.Shadow.Use)
	}
	switch {
	case s.Operation != "" && s.Operation != "transform_query" && len(s.Retrievers) > 0:
		k.find(path, "retrievers need operation: transform_query (leave them out)")
	case s.Operation != "" && s.Operation != "classify" && (len(s.Routes) > 0 || s.Default != ""):
		k.find(path, "routes and default need operation: classify (leave them out)")
	case s.Operation == "transform_query" && len(s.Retrievers) == 0:
		k.find(path, "transform_query needs a retriever (add retrievers: [NAME])")
	case s.Operation == "classify" && len(s.Routes) == 0:
		k.find(path, "classify needs routes (add routes: {LABEL: NAME})")
	}
}

// readable are the names that reads of a step may have.
var readable = strings.Split("id,score,text,metadata,source,priority,token_count,created_at,embedding,query_text,query_embedding,query_metadata,chat_history,none", ",")

// kind checks that a step has exactly one kind, such as a plugin or retrievers, and nothing that belongs to another.
func (k *checker) kind(path string, s *Step) {
	k.reads(path, s.Reads)
	if s.Use.Name != "" {
		k.use(path, &s.Use, BuiltinSteps)
	}
	merges, chooses := s.Operation != "" || len(s.Retrievers) > 0, len(s.Routes) > 0 || s.Default != ""
	switch {
	case s.Builtin() != "":
		if merges || chooses || s.Classifier != nil {
			k.find(path, "%s is built in, and excludes operation, retrievers, classifier, routes and default (leave them out)", s.Builtin())
		}
		if s.Reads != nil {
			k.find(path+".reads", "reads needs a plugin (a built-in sees whole items; leave it out)")
		}
		return
	case s.Classifier == nil && k.config.CallsPlugin(s):
		return
	case s.Classifier != nil:
		k.classifier(path, s)
	case s.Use.Name != "":
		if merges || chooses {
			k.find(path, "%q searches a collection, and excludes operation, retrievers, routes and default (leave those out)", s.Use.Name)
		}
	case len(s.Retrievers) == 0:
		k.find(path, "name what the step uses (add use: NAME, retrievers or a classifier)")
		return
	case s.Operation != "" || len(s.Routes) > 0:
		k.find(path, "retrievers without a plugin exclude operation and routes (leave those out)")
	}
	if len(s.Settings) > 0 || s.Reads != nil && len(s.Retrievers) == 0 || len(s.Scope) > 0 {
		k.find(path, "settings, reads and scope need a plugin (give settings to each retriever)")
	}
}

// reads checks the names of what a step is to read.
func (k *checker) reads(path string, names []string) {
	for i, name := range names {
		if !slices.Contains(readable, name) {
			k.find(fmt.Sprintf("%s.reads[%d]", path, i), "unknown value %q%s", name, strict.Hint(name, readable))
		}
	}
}

func (k *checker) classifier(path string, s *Step) {
	if s.Use.Name != "" || s.Operation != "" || len(s.Retrievers) > 0 {
		k.find(path, "classifier excludes use, operation and retrievers (keep one way)")
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
	if len(s.Retrievers) == 0 && s.Fusion != "" {
		k.find(path, "fusion needs retrievers (add retrievers: [NAME, NAME])")
	}
	for i := range s.Retrievers {
		at := fmt.Sprintf("%s.retrievers[%d]", path, i)
		k.retrieverUse(at, &s.Retrievers[i].Plain)
		if s.Retrievers[i].Weight != 0 && s.Fusion == "round_robin" {
			k.find(at+".weight", "weight has no effect with fusion: round_robin (leave it out)")
		}
	}
}

// fit checks the model and its calibration.
func (k *checker) fit() {
	c := k.config
	if c.Model == "" {
		if c.Calibration != "" {
			k.find("counting.calibration", "calibration needs a model (say which one its figures are for)")
		}
		return
	}
	if c.Tokenizer.File != "" { // which counts for the model
		if c.Calibration != "" {
			k.find("counting.calibration", "tokenizer.file counts exactly (leave calibration out)")
		}
		return
	}
	if c.Tokenizer != (Choice{}) {
		k.find("counting.model", "model and tokenizer exclude each other (keep one; only the tokenizer.json of the model, tokenizer.file, may stand beside it)")
	}
	if m, _ := tokens.LookupModel(c.Model); m.Exact() && c.Calibration != "" {
		k.find("counting.calibration", "the tokens of %s are counted exactly (leave calibration out)", c.Model)
	}
}
