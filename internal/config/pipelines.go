package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// pipelineKeys are the keys that a named pipeline may state.
var pipelineKeys = []string{
	"timeout", "window", "counting", "format", "format_options", "memory", "enricher", "embedder", "steps", "callbacks",
}

// noSuchKey begins what is said of a key that a pipeline cannot state.
const noSuchKey = "a pipeline has no such key"

// sections are those of these keys that a pipeline overrides key by key.
var sections = []string{"window", "counting", "memory"}

// UnmarshalNode decodes the keys of a pipeline.
func (p *Pipeline) UnmarshalNode(d *strict.Decoder, n *strict.Node, path string) {
	if n.Kind != strict.Map {
		d.Fail(n, path, "want a map of keys that override those at the top level")
		return
	}
	var known []strict.Entry
	for _, e := range n.Entries() {
		if !slices.Contains(pipelineKeys, e.Key) {
			d.Fail(&e.Value, strict.Join(path, e.Key), noSuchKey+"%s", d.Hint(e.Key, pipelineKeys))
			continue
		}
		known = append(known, e)
	}
	d.Into(strict.NewMap(n.Pos, known...), &p.values, path)
	for _, e := range known {
		if !slices.Contains(sections, e.Key) || e.Value.Kind != strict.Map {
			p.keys = append(p.keys, e.Key)
			continue
		}
		for _, below := range e.Value.Entries() {
			p.keys = append(p.keys, e.Key+"."+below.Key)
		}
	}
}

// JSONSchema states the keys of a pipeline: they are those of the top level.
func (p *Pipeline) JSONSchema() map[string]any {
	properties := map[string]any{}
	for _, key := range pipelineKeys {
		properties[key] = map[string]any{"$ref": "#/properties/" + key}
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

// with returns a copy of c with the keys that a pipeline states.
func (c *Config) with(p *Pipeline) *Config {
	merged := *c
	merged.Pipelines = nil
	for _, key := range p.keys {
		from, to := reflect.ValueOf(&p.values).Elem(), reflect.ValueOf(&merged).Elem()
		for _, name := range strings.Split(key, ".") {
			f := field(to.Type(), name)
			from, to = f.Of(from), f.Of(to)
		}
		to.Set(from)
	}
	if p.states("memory.use") { // what belongs to another plugin does not belong to this one
		merged.Memory.Use = p.values.Memory.Use
	}
	p.setTokenizer(&merged)
	return &merged
}

// states reports whether the pipeline states a key, or the section that has it as a whole.
func (p *Pipeline) states(key string) bool { return statedKey(p.keys, key) }

func statedKey(keys []string, key string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return k == key || strings.HasPrefix(key, k+".") })
}

// States reports whether the pipeline states one of the keys.
func (o *Overlaid) States(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return statedKey(o.keys, key) })
}

// setTokenizer keeps only one of tokenizer and model, since both select how tokens are counted.
// If the pipeline states one of them, the other is removed, unless the stated value is null, or the
// tokenizer is a file, which counts for the model. A
// calibration belongs to one model and is removed with it.
func (p *Pipeline) setTokenizer(merged *Config) {
	if !p.states("counting.model") && p.values.Tokenizer != (Choice{}) && p.values.Tokenizer.File == "" {
		merged.Model = ""
	}
	if !p.states("counting.tokenizer") && p.values.Model != "" {
		merged.Tokenizer = Choice{}
	}
	if merged.Model == "" || p.states("counting.model") {
		merged.Calibration = p.values.Calibration
	}
}

// Pipeline returns the configuration of a named pipeline. Flags and environment variables
// override its keys. The empty name stands for the configuration itself.
func (l *Loaded) Pipeline(name string) (*Config, error) {
	if name == "" {
		return &l.Config, nil
	}
	p, ok := l.Pipelines[name]
	if !ok && l.File == "" {
		return nil, fmt.Errorf("%w: no pipeline %q (no configuration file was read: name the one that has it with --config)", ErrInvalid, name)
	}
	if !ok {
		return nil, fmt.Errorf("%w: no pipeline %q%s", ErrInvalid, name, strict.Hint(name, l.PipelineNames()))
	}
	c := l.with(&p)
	for _, o := range l.overridden {
		if err := o.set(c, o.value); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, o.origin, err)
		}
	}
	return c, nil
}

// PipelineNames are the names of the pipelines, sorted.
func (c *Config) PipelineNames() []string { return slices.Sorted(maps.Keys(c.Pipelines)) }

// inOrder returns the stated keys in the order of the format.
func (p *Pipeline) inOrder() (keys []string) {
	for _, f := range strict.Fields(reflect.TypeFor[Config]()) {
		if !slices.Contains(sections, f.Key) || slices.Contains(p.keys, f.Key) {
			if slices.Contains(p.keys, f.Key) {
				keys = append(keys, f.Key)
			}
			continue
		}
		for _, below := range strict.Fields(f.Type(reflect.TypeFor[Config]())) {
			if key := f.Key + "." + below.Key; slices.Contains(p.keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// Overlaid is the configuration of a named pipeline as the file states it.
type Overlaid struct {
	*Config
	// Own has only what the pipeline itself states.
	Own  *Config
	path string
	keys []string
}

// Overlaid returns the configurations of all named pipelines.
func (c *Config) Overlaid() (list []Overlaid) {
	for _, name := range c.PipelineNames() {
		p := c.Pipelines[name]
		list = append(list, Overlaid{c.with(&p), &p.values, strict.Join("pipelines", name), p.keys})
	}
	return list
}

// Place returns the path in the file of a value of the configuration, and whether the pipeline
// states the value.
func (o *Overlaid) Place(path string) (string, bool) {
	for _, key := range o.keys {
		if rest, ok := strings.CutPrefix(path, key); ok && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			return o.path + "." + path, true
		}
	}
	if slices.Contains(sections, path) && slices.ContainsFunc(o.keys, func(key string) bool { return strings.HasPrefix(key, path+".") }) {
		return o.path + "." + path, true
	}
	return o.path, false
}

// pipelines checks the configurations of the named pipelines. What they inherit was checked: to look
// at all of it for each pipeline would take too long.
func (k *checker) pipelines() {
	top := slices.Clone(k.findings)
	for _, o := range k.config.Overlaid() {
		own := &checker{config: o.Config, before: len(k.findings)}
		own.window()
		if o.States("steps") {
			own.steps()
		}
		if o.States("callbacks") {
			own.callbacks()
		}
		for _, f := range own.findings {
			at, own := o.Place(f.Path)
			if own || !slices.Contains(top, f) {
				k.find(at, "%s", f.Message)
			}
		}
	}
}
