package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/strict"
)

// sample returns a text that the field at a path takes.
func sample(t *testing.T, path string) string {
	t.Helper()
	switch path {
	case "counting.tokenizer":
		return "words"
	case "counting.model":
		return "claude-sonnet-4-5"
	case "agent.observation.make", "agent.observation.reflect":
		return "builtin"
	case "window.tools":
		return `[{"name":"f"}]`
	case "format":
		return "openai"
	}
	typ := reflect.TypeFor[Config]()
	keys := strings.Split(path, ".")
	var f strict.Field
	for _, key := range keys {
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		f = field(typ, key)
		typ = f.Type(typ)
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case len(f.Enum) > 0:
		return f.Enum[len(f.Enum)-1]
	case typ == reflect.TypeFor[Duration](), typ == reflect.TypeFor[Span]():
		return "7s"
	case typ == reflect.TypeFor[Age]():
		return "3d"
	case typ == reflect.TypeFor[Size]():
		return "3MiB"
	case typ.Kind() == reflect.Bool:
		return "false"
	case typ.Kind() == reflect.Float64:
		return "0.25"
	case typ.Kind() == reflect.Int:
		return "7"
	}
	return "some-name"
}

// Each value that can be overridden takes what the file takes, and the listing shows it
// with its origin.
func TestEachOverrideIsListed(t *testing.T) {
	names := map[string]string{}
	if len(Overrides) == 0 {
		t.Fatal("nothing can be overridden")
	}
	for _, o := range Overrides {
		if other, taken := names[o.Env()]; taken {
			t.Errorf("%s and %s have the same variable %s", o.Path, other, o.Env())
		}
		names[o.Env()] = o.Path
		l := Default()
		value := sample(t, o.Path)
		if err := l.Override(o, value, "environment "+o.Env()); err != nil {
			t.Errorf("%s=%s: %v", o.Env(), value, err)
			continue
		}
		settings := l.Settings()
		i := slices.IndexFunc(settings, func(s Setting) bool { return s.Path == o.Path })
		if i < 0 || settings[i].Text != value || settings[i].Origin != "environment "+o.Env() {
			t.Errorf("%s=%s is not listed: %+v", o.Env(), value, settings)
		}
	}
}

// The paths of the file's keys that hold one value are all there.
func TestOverridesAreComplete(t *testing.T) {
	l, err := Parse("a.yaml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, s := range l.Settings() {
		key, _, _ := strings.Cut(s.Path, ".")
		if _, list := s.Value.([]any); list || strings.Contains(s.Path, "[") || strings.HasPrefix(s.Path, "plugins.instances.") || key == "pipelines" ||
			strings.Contains(s.Path, ".settings.") || reflect.TypeOf(s.Value).Kind() == reflect.Slice {
			continue
		}
		looked++
		if !slices.ContainsFunc(Overrides, func(o Override) bool { return o.Path == s.Path }) {
			t.Errorf("%s cannot be overridden", s.Path)
		}
	}
	if looked < 50 {
		t.Errorf("%d values of the full file were looked at, want 50 or more", looked)
	}
}

func TestOverrideErrors(t *testing.T) {
	for path, want := range map[string]string{
		"window.max_tokens":         `want a whole number, got the string "many"`,
		"plugins.max_instances":     `want a whole number, got the string "many"`,
		"agent.compaction.enabled":  `want true or false, got the string "many"`,
		"agent.observation.enabled": `want true or false, got the string "many"`,
		"memory.facts.min_score":    `want a number, got the string "many"`,
		"timeout":                   `want a time span such as "2s", got "many"`,
		"plugins.total_memory":      `want a size such as "64MiB", got "many"`,
		"telemetry.log_level":       `unknown value "many" (want one of debug, info, warn, error)`,
		"format":                    `unknown value "many" (want one of anthropic, openai, openai-responses, gemini, generic)`,
		"window.budget.preset":      `unknown value "many" (want one of chat, rag, agent)`,
	} {
		l := Default()
		i := slices.IndexFunc(Overrides, func(o Override) bool { return o.Path == path })
		if err := l.Override(Overrides[i], "many", "x"); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
		if len(l.overridden) > 0 || !reflect.DeepEqual(l.Config, Config{}) {
			t.Errorf("%s: a refused value is set: %+v", path, l.Config)
		}
	}
	for path, text := range map[string]string{
		"window.max_tokens": "0", "plugins.max_instances": "-1", "tenant": "a\nb", "memory.conversation.id": "", "format": strings.Repeat("x", 1000),
	} {
		l := Default()
		i := slices.IndexFunc(Overrides, func(o Override) bool { return o.Path == path })
		if err := l.Override(Overrides[i], text, "x"); err == nil || len(err.Error()) > 300 || !reflect.DeepEqual(l.Config, Config{}) {
			t.Errorf("%s: %.20s: error %v; %+v", path, text, err, l.Config)
		}
	}
}

// Configurations share their sections. One that is overridden changes no other.
func TestOverridesCopySections(t *testing.T) {
	l, err := Parse("a.yaml", []byte("memory: {conversation: {id: c, tokens: 50}}"))
	if err != nil {
		t.Fatal(err)
	}
	c := l.Config
	if err := setScalar(&c, "memory.conversation.tokens", "7"); err != nil {
		t.Fatal(err)
	}
	if c.Conversation.MaxTokens != 7 || c.Conversation.ID != "c" || l.Conversation.MaxTokens != 50 {
		t.Errorf("%+v, %+v", c.Conversation, l.Conversation)
	}
}

// A value that contradicts another is refused with where it came from.
func TestOverridesAreChecked(t *testing.T) {
	for _, tt := range []struct{ file, path, value, want string }{
		{"", "memory.conversation.high_water", "2", "invalid: environment ANCHOR_HOST_MEMORY_CONVERSATION_HIGH_WATER: high_water needs compact"},
		{"memory: {use: p}", "memory.facts.max_items", "2", "invalid: memory: use and facts exclude each other (keep one) (with environment ANCHOR_HOST_MEMORY_FACTS_MAX_ITEMS)"},
		{"", "memory.frames.max_frames", "2", "invalid: memory.frames.run: the name is empty (with environment ANCHOR_HOST_MEMORY_FRAMES_MAX_FRAMES)"},
		{"memory: {conversation: {compact: p}}", "memory.conversation.high_water", "2", ""},
		{"agent: {compaction: false}", "agent.compaction.low_water", "2", ""},
		{"counting: {model: claude-sonnet-4-5, calibration: usage.jsonl}", "counting.tokenizer", "words", ""},
		{"counting: {model: claude-sonnet-4-5, calibration: usage.jsonl}", "counting.model", "gpt-4o", ""},
	} {
		l, err := Parse("a.yaml", []byte(tt.file))
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(Overrides, func(o Override) bool { return o.Path == tt.path })
		if err := l.Override(Overrides[i], tt.value, "environment "+Overrides[i].Env()); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := l.CheckOverrides(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %s\nwant %s", tt.path, got, tt.want)
		}
	}
}

// A section that is its switch alone.
func TestCompactionSwitch(t *testing.T) {
	for text, want := range map[string]bool{"agent: {compaction: false}": false, "agent: {compaction: true}": true, "agent: {compaction: {low_water: 5}}": true} {
		l, err := Parse("a.yaml", []byte(text))
		if err != nil || On(l.Agent.Compaction.Enabled) != want {
			t.Errorf("%s: %v, %v", text, l, err)
		}
	}
	_, err := Parse("a.yaml", []byte("agent: {compaction: off}"))
	if want := "a.yaml:1:21: agent.compaction: want true, false or a map"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
