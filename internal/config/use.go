package config

import (
	"maps"
	"reflect"
	"slices"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// Use names what does one job, in every place of a file: an instance of the configuration, or else what the
// place has built in or an entry of retrievers, or else a plugin of the plugin folder. In a file, the name alone
// may stand in the place of the map.
type Use struct {
	Name     string         `key:"use,short" doc:"An entry of plugins.instances, a plugin of the plugin folder that needs no configuration, or what the place has built in; in a step also an entry of retrievers. The instance is taken where a plugin of the folder has the same name. Any other name that stands for two of them is refused."`
	Settings map[string]any `key:"settings" doc:"Settings of this use."`
	Timeout  Duration       `key:"timeout" doc:"Time limit of one call, such as 500ms."`
	Must     *bool          `key:"must" doc:"Without its answer there is no window: if it fails, the build fails; if its plugin cannot be loaded, a start and a reload are refused. false: the build goes on without it, and the answer says so. Default: that of the instance, else that of plugins, else on_error in the plugin's manifest, else true for built-ins, formats, tokenizers and one retriever of a collection, and false for the rest."`
}

// Plain is a [Use] of a place where must says nothing: nothing waits for it, or the step that has it says it.
type Plain struct {
	Name     string         `key:"use,short" doc:"What does the job, as for use of a step."`
	Settings map[string]any `key:"settings" doc:"Settings of this use."`
	Timeout  Duration       `key:"timeout" doc:"Time limit of one call, such as 500ms."`
}

// Use returns it as a Use. It is nil for nil.
func (p *Plain) Use() *Use {
	if p == nil {
		return nil
	}
	return &Use{Name: p.Name, Settings: p.Settings, Timeout: p.Timeout}
}

// Stated reports whether a use says anything.
func (u *Use) Stated() bool { return u.Name != "" || u.details() }

// details reports whether a use says more than a name.
func (u *Use) details() bool {
	return u.Settings != nil || u.Timeout != 0 || u.Must != nil
}

// BuiltinSteps are the steps that need no plugin.
var BuiltinSteps = []string{"filter", "min_score", "rerank", "sort", "top_k", "dedupe_ids"}

// IsBuiltinStep reports whether a step of this name needs no plugin.
func IsBuiltinStep(name string) bool { return slices.Contains(BuiltinSteps, name) }

// Builtin returns the name of the built-in that a step uses. It is empty if the step uses something else.
func (s *Step) Builtin() string {
	if IsBuiltinStep(s.Use.Name) {
		return s.Use.Name
	}
	return ""
}

// IsSearch reports whether a name in a step means an entry of retrievers.
func (c *Config) IsSearch(name string) bool {
	_, ok := c.Retrievers[name]
	return ok && name != ""
}

// IsPlugin reports whether a name in a step means a plugin or an instance, if it is not built in.
func (c *Config) IsPlugin(name string) bool { return name != "" && !c.IsSearch(name) }

// UseNames returns the names of the file that a use may have.
func (c *Config) UseNames() []string {
	return slices.Concat(slices.Collect(maps.Keys(c.Plugins.Instances)), slices.Collect(maps.Keys(c.Retrievers)))
}

// CallsPlugin reports whether a step itself calls a plugin, apart from its retrievers and routes.
func (c *Config) CallsPlugin(s *Step) bool { return c.IsPlugin(s.Use.Name) && s.Builtin() == "" }

// Choice is what a configuration names where there are built-ins: one of them, a plugin or a file. A name that stands
// alone is that of a built-in or of an instance; {use: NAME} may also be a plugin of the folder.
type Choice struct {
	// Name is that of a built-in.
	Name string
	// Use is the plugin. nil: it is a built-in or a file.
	Use *Use
	// File is the path of a tokenizer.json. Only the tokenizer may be one.
	File string
	// Fallback is the built-in that replaces a skipped plugin. Empty: the default.
	Fallback string
	// bare says that the name stands alone, and so is no plugin of the folder: a mistake in the name of a
	// built-in would otherwise be one.
	bare bool
}

// builtin are the names that no place takes for those of plugins.
var builtin = slices.Concat(Formats, Tokenizers, Makes)

// Reserved are the names that mean something built in.
func Reserved() []string { return slices.Concat(builtin, BuiltinSteps) }

// UnmarshalNode decodes a name, or a map with more.
func (c *Choice) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	var p replaceable
	c.bare = n.Kind == strict.String
	d.Value(n, reflect.ValueOf(&p).Elem(), path)
	c.take(d, n, path, &p)
}

// take fills the choice from its map.
func (c *Choice) take(d *strict.Decoder, n *strict.Node, path string, p *replaceable) {
	c.File = p.File
	switch {
	case p.File != "" && (p.Stated() || p.Fallback != ""):
		d.Fail(n, path, "a file excludes use and what belongs to it (keep one)")
	case p.File != "":
	case slices.Contains(builtin, p.Name):
		if c.Name = p.Name; p.details() || p.Fallback != "" {
			d.Fail(n, path, "%s is built in, and takes no settings, timeout, must and fallback (leave them out)", p.Name)
		}
	case p.Stated() || p.Fallback != "":
		c.Use, c.Fallback = &p.Use, p.Fallback
	}
	c.bare = c.bare && c.Use != nil
}

// JSONSchema describes both forms.
func (c *Choice) JSONSchema() map[string]any { return strict.Schema(reflect.TypeFor[replaceable]()) }

// filePrefix begins the name of a tokenizer that is a file.
const filePrefix = "file:"

// String names the choice.
func (c Choice) String() string {
	switch {
	case c.File != "":
		return filePrefix + c.File
	case c.Use == nil:
		return c.Name
	}
	return c.Use.Name
}

// replaceable is a plugin that is used instead of a built-in, with a fallback, or a file.
type replaceable struct {
	Use
	File     string `key:"file" doc:"Instead of a plugin, for tokenizer only: the tokenizer.json of the model, in the format of Hugging Face."`
	Fallback string `key:"fallback" doc:"The built-in that replaces it with must: false. Default: cl100k_base for a tokenizer, generic for a format."`
}

// InGo is an entry of embedders or models that a component in Go serves.
type InGo struct {
	// Path is the key path of the entry.
	Path string
	// Use is the name of the component.
	Use      string
	Settings map[string]any
	// Model says that it is an entry of models.
	Model bool
}

// InGo returns the entries of embedders and models that components in Go serve.
func (c *Config) InGo() (list []InGo) {
	for _, name := range slices.Sorted(maps.Keys(c.Embedders)) {
		if e := c.Embedders[name]; e.Use != "" {
			list = append(list, InGo{Path: strict.Join("embedders", name), Use: e.Use, Settings: e.Settings})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Models)) {
		if m := c.Models[name]; m.Use != "" {
			list = append(list, InGo{Path: strict.Join("models", name), Use: m.Use, Settings: m.Settings, Model: true})
		}
	}
	return list
}
