package config

import (
	"reflect"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// Use names a plugin for one job: an instance of the configuration, or a plugin of the plugin
// folder without configuration.
type Use struct {
	Plugin   string         `key:"plugin" doc:"Name of a plugin in the plugin folder that needs no configuration."`
	Instance string         `key:"instance" doc:"Name of an entry of instances."`
	Settings map[string]any `key:"settings" doc:"Settings of this use."`
	Timeout  Duration       `key:"timeout" doc:"Time limit of one call."`
	Reads    []string       `key:"reads" doc:"The plugin receives only these columns and parts of the request, of those that it reads. An empty list allows nothing."`
}

// Choice is a built-in named by a string, or a plugin or a file named by a map. Must and
// Fallback apply to plugins only.
type Choice struct {
	Name string
	Use  *Use
	// File is the path of a tokenizer.json. Only the tokenizer may be one.
	File string
	// Must says that its answer is needed. nil means true.
	Must *bool
	// Fallback is the built-in that replaces a skipped plugin. Empty: the default.
	Fallback string
}

// UnmarshalNode decodes either form.
func (c *Choice) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	if n.Kind == strict.Map {
		var p replaceable
		d.Value(n, reflect.ValueOf(&p).Elem(), path)
		if c.File = p.File; c.File != "" {
			if len(n.Entries()) > 1 {
				d.Fail(n, path, "a file excludes the keys of a plugin (keep one)")
			}
			return
		}
		c.Use = &Use{Plugin: p.Plugin, Instance: p.Instance, Settings: p.Settings, Timeout: p.Timeout, Reads: p.Reads}
		c.Must, c.Fallback = p.Must, p.Fallback
		return
	}
	d.Value(n, reflect.ValueOf(&c.Name).Elem(), path)
}

// JSONSchema describes both forms.
func (c *Choice) JSONSchema() map[string]any {
	return map[string]any{"oneOf": []any{
		map[string]any{"type": "string"},
		strict.Schema(reflect.TypeFor[replaceable]()),
	}}
}

// filePrefix begins the name of a tokenizer that is a file.
const filePrefix = "file:"

// String names the choice.
func (c Choice) String() string {
	switch {
	case c.File != "":
		return filePrefix + c.File
	case c.Use == nil:
		return c.Name
	case c.Use.Instance != "":
		return "instance " + c.Use.Instance
	}
	return "plugin " + c.Use.Plugin
}

// replaceable is a plugin that is used instead of a built-in, with a fallback, or a file.
type replaceable struct {
	File     string         `key:"file" doc:"Instead of a plugin, for tokenizer only: the tokenizer.json of the model, in the format of Hugging Face."`
	Plugin   string         `key:"plugin" doc:"Name of a plugin in the plugin folder that needs no configuration."`
	Instance string         `key:"instance" doc:"Name of an entry of instances."`
	Settings map[string]any `key:"settings" doc:"Settings of this use."`
	Timeout  Duration       `key:"timeout" doc:"Time limit of one call."`
	Reads    []string       `key:"reads" doc:"The plugin receives only these columns and parts of the request, of those that it reads. An empty list allows nothing."`
	Must     *bool          `key:"must" default:"true" doc:"Without its answer there is no window. false: its fallback replaces it when it fails, and the answer says so."`
	Fallback string         `key:"fallback" doc:"The built-in that replaces it with must: false. Default: cl100k_base for a tokenizer, generic for a format."`
}
