package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/tokens"
)

// EnvPrefix begins every environment variable that overrides a value.
const EnvPrefix = "ANCHOR_HOST_"

// Override is a value that an environment variable can set, and perhaps a flag.
type Override struct {
	// Path is the key path in anchor.yaml.
	Path string
	// Flag is the name of the command line flag, empty for none. A flag of this name
	// belongs to the first override that has it, unless the command says otherwise.
	Flag string
	set  func(*Config, string) error
}

// Overrides are the values that flags and environment variables can set: every key of
// anchor.yaml that holds one value and is in no list and no map of names of your choice.
var Overrides = overrides()

// flags are the flags that set a value.
var flags = map[string]string{
	"plugins.dir": "plugins", "plugins.cache_dir": "cache-dir", "timeout": "timeout", "telemetry.log_level": "log-level",
	"window.max_tokens": "max-tokens", "counting.model": "model", "format": "format", "tenant": "tenant",
	"store.path": "store", "store.synchronous": "synchronous", "memory.conversation.id": "conversation",
	"server.listen": "listen", "server.admin_listen": "admin-listen", "server.follow": "follow",
	"agent.max_tokens": "max-tokens", "agent.max_messages": "max-messages",
}

// setters set values that replace other values as well.
var setters = map[string]func(*Config, string) error{
	"counting.tokenizer":     setTokenizer,
	"counting.model":         setModel,
	"format":                 func(c *Config, s string) error { return setChoice(&c.Format, s, Formats) },
	"window.budget.preset":   setPreset,
	"tenant":                 setTenant,
	"memory.conversation.id": setConversation,
	"agent.observation.make": func(c *Config, s string) error {
		return setChoice(&c.Agent.Observation.Make.Choice, s, Makes)
	},
	"agent.observation.reflect": func(c *Config, s string) error {
		return setChoice(&c.Agent.Observation.Reflect.Choice, s, Reflects)
	},
}

func overrides() (list []Override) {
	for _, path := range scalars(reflect.TypeFor[Config](), "") {
		set := setters[path]
		if set == nil {
			set = func(c *Config, s string) error { return setScalar(c, path, s) }
		}
		list = append(list, Override{path, flags[path], set})
	}
	return list
}

// scalars lists the paths of the keys of a struct that hold one value.
func scalars(t reflect.Type, prefix string) (paths []string) {
	for _, f := range strict.Fields(t) {
		path, of := strict.Join(prefix, f.Key), f.Type(t)
		switch {
		case setters[path] != nil && of.Kind() == reflect.Struct:
			paths = append(append(paths, path), scalars(of, path)...)
		case setters[path] != nil || strict.IsScalar(of):
			paths = append(paths, path)
		case of.Kind() == reflect.Struct:
			paths = append(paths, scalars(of, path)...)
		case of.Kind() == reflect.Pointer && of.Elem().Kind() == reflect.Struct:
			paths = append(paths, scalars(of.Elem(), path)...)
		}
	}
	return paths
}

// setScalar sets the value at a key path as if the file had it. It copies the sections along the
// path, because other configurations share them.
func setScalar(c *Config, path, text string) error {
	at := reflect.ValueOf(c).Elem()
	keys := strings.Split(path, ".")
	last := len(keys) - 1
	t := at.Type()
	for _, key := range keys[:last] {
		if t = field(t, key).Type(t); t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
	}
	f := field(t, keys[last])
	value := reflect.New(f.Type(t)).Elem()
	if err := strict.DecodeText(text, value, f); err != nil {
		return err
	}
	for _, key := range keys[:last] {
		at = field(at.Type(), key).Of(at)
		if at.Kind() == reflect.Pointer {
			section := reflect.New(at.Type().Elem())
			if !at.IsNil() {
				section.Elem().Set(at.Elem())
			}
			at.Set(section)
			at = section.Elem()
		}
	}
	f.Of(at).Set(value)
	return nil
}

func field(t reflect.Type, key string) strict.Field {
	fields := strict.Fields(t)
	return fields[slices.IndexFunc(fields, func(f strict.Field) bool { return f.Key == key })]
}

// FlagPath returns the path of the first override that a flag sets.
func FlagPath(flag string) string {
	for _, o := range Overrides {
		if o.Flag == flag {
			return o.Path
		}
	}
	return ""
}

// Env returns the name of the environment variable: the path in capitals, with an
// underscore for each dot. The variable of a switch is named after its section.
func (o Override) Env() string {
	path := strings.TrimSuffix(o.Path, ".enabled")
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// Set sets the value at one of the key paths that replace other values as well, such as counting.model. An empty text sets
// nothing. c may be a shallow copy of another configuration, which does not change; so it is for the other methods that
// set something. Errors wrap [ErrInvalid] and begin with the path.
func (c *Config) Set(path, text string) error {
	if text == "" {
		return nil
	}
	return at(path, setters[path](c, text))
}

// SetConversation sets a conversation of the store, and removes turns that the configuration states.
func (c *Config) SetConversation(id string) error {
	return at("memory.conversation.id", setConversation(c, id))
}

// Talk names a conversation of the store, or states the turns of another one. Either replaces the other.
func (c *Config) Talk(id string, turns []Turn) {
	var own Conversation // others may share that of c
	if c.Conversation != nil {
		own = *c.Conversation
	}
	own.ID, own.Turns = id, turns
	c.Conversation = &own
}

// Take sets what another window states. Its budget replaces the answer too, which belongs to the budget.
func (w *Window) Take(of *Window) {
	if of.Budget != nil {
		w.Answer = 0
	}
	strict.Overlay(w, of)
}

// CheckShape checks the numbers and words of window and format_options.
func (c *Config) CheckShape() error {
	if err := cmp.Or(strict.Bounds(&c.Window, "window"), strict.Bounds(&c.FormatOptions, "format_options")); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}

// at names the key of an error.
func at(path string, err error) error {
	if err != nil {
		err = fmt.Errorf("%w: %s: %w", ErrInvalid, path, err)
	}
	return err
}

func setTenant(c *Config, s string) error {
	if err := CheckTenant(s); err != nil {
		return err
	}
	c.Tenant = s
	return nil
}

func setConversation(c *Config, s string) error {
	if err := CheckName(s); err != nil {
		return err
	}
	c.Talk(s, nil)
	return nil
}

// setPreset replaces the whole budget, because a preset and allocations exclude each other.
func setPreset(c *Config, s string) error {
	var b Budget
	if err := oneOf(&b.Preset, s, "chat", "rag", "agent"); err != nil {
		return err
	}
	c.Budget = &b
	return nil
}

func setChoice(to *Choice, s string, names []string) error {
	var c Choice
	if err := oneOf(&c.Name, s, names...); err != nil {
		return err
	}
	*to = c
	return nil
}

func oneOf(to *string, s string, names ...string) error {
	if !slices.Contains(names, s) {
		return fmt.Errorf("unknown value %.100q%s", s, strict.Hint(s, names))
	}
	*to = s
	return nil
}

// setModel sets the model, and removes a named tokenizer and a calibration that the model cannot
// use.
func setModel(c *Config, s string) error {
	m, err := tokens.LookupModel(s)
	if m.Family == "" {
		return err
	}
	c.Model, c.Tokenizer = s, Choice{}
	if m.Exact() {
		c.Calibration = ""
	}
	return nil
}

// setTokenizer sets the tokenizer, and removes the model and its calibration. A file counts for the
// model, which stays. Its path is relative to the current folder, not to that of the configuration.
func setTokenizer(c *Config, s string) error {
	var choice Choice
	if file, ok := strings.CutPrefix(s, filePrefix); ok {
		path, err := filepath.Abs(file)
		if err != nil || file == "" {
			return fmt.Errorf("%.100q: want file: and the path of a tokenizer.json", s)
		}
		choice.File = path
	} else if err := setChoice(&choice, s, Tokenizers); err != nil {
		return err
	}
	if c.Tokenizer, c.Calibration = choice, ""; choice.File == "" {
		c.Model = ""
	}
	return nil
}
