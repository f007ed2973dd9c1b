package migrate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/migrate"
)

// setting is one line of what config show printed for a file with former keys.
type setting struct {
	Path  string
	Value any
}

// A file with former keys has the same settings after it is rewritten, and rewriting it again changes nothing.
func TestRewriteKeepsSettings(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := migrate.Rewrite(file, data)
			if err != nil {
				t.Fatal(err)
			}
			again, notes, err := migrate.Rewrite(file, out)
			if err != nil || len(notes) > 0 || !bytes.Equal(again, out) {
				t.Errorf("a second time: %v, %q\n%s", err, notes, again)
			}
			l, err := config.Parse(file, out)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, line := range strings.Split(string(data), "\n") {
				if _, comment, ok := strings.Cut(line, "# "); ok && !strings.Contains(string(out), comment) {
					t.Errorf("the comment %q is lost", comment)
				}
			}
			now := map[string]any{}
			for _, s := range assemble.Effective(l) {
				now[s.Path] = plain(t, s.Value)
			}
			before := former(t, strings.TrimSuffix(file, ".yaml")+".json")
			for path, value := range before {
				if got, ok := now[path]; !ok || !reflect.DeepEqual(got, value) {
					t.Errorf("%s: have %v, want %v", path, got, value)
				}
			}
			for path, value := range now {
				if _, ok := before[path]; !ok && !strings.HasSuffix(path, ".retrievers[0].weight") && !slices.Contains(later, path) {
					t.Errorf("%s: %v was not there before", path, value)
				}
			}
		})
	}
}

// later are keys that came after the files of the test were written.
var later = []string{"server.jobs.waiting", "store.pool", "store.timeout", "server.max_connections_per_address", "format_options.cite",
	"agent.hooks.timeout", "agent.hooks.tool_chars", "agent.hooks.max_chars"}

// plain returns a value as JSON has it.
func plain(t *testing.T, v any) (out any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var retriever = regexp.MustCompile(`^(steps\[\d+\]|pipelines\.\w+\.steps\[\d+\])\.retriever\.(\w+)$`)

// former reads the settings of a file with former keys, under the paths of now.
func former(t *testing.T, file string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(file)
	var list []setting
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string]bool{} // the steps with a plugin
	for _, s := range list {
		if step, ok := strings.CutSuffix(s.Path, ".plugin"); ok {
			calls[step] = true
		}
		if step, ok := strings.CutSuffix(s.Path, ".instance"); ok {
			calls[step] = true
		}
	}
	out := map[string]any{}
	for _, s := range list {
		path := s.Path
		if m := retriever.FindStringSubmatch(path); m != nil {
			key := strings.NewReplacer("plugin", "use", "instance", "use", "retriever", "use").Replace(m[2])
			path = m[1] + "." + key
			if calls[m[1]] {
				path = m[1] + ".retrievers[0]." + key
			}
		} else if to, ok := migrate.Place(path); ok {
			path = to
		}
		if text, ok := s.Value.(string); ok { // a choice said what its name is
			s.Value = strings.TrimPrefix(strings.TrimPrefix(text, "plugin "), "instance ")
		}
		if path != "" && !strings.HasSuffix(s.Path, "total_tokens") { // what the window says of its size goes before
			out[path] = s.Value
		}
	}
	return out
}

func TestRewrite(t *testing.T) {
	for _, c := range []struct{ name, text, want, notes string }{
		{"nothing to do", "window: {max_tokens: 5}  # as it is\n", "window: {max_tokens: 5}  # as it is\n", ""},
		{"no map", "- a\n", "- a\n", ""},
		{"empty", "", "", ""},
		{"comments and blank lines", "# Mine\n\nmax_tokens: 5 # small\n\n# Steps.\nsteps:\n  # one\n  - {name: a, plugin: p} # p\n", "# Mine\n\nwindow:\n  max_tokens: 5 # small\n\n# Steps.\nsteps:\n  # one\n  - {name: a, use: p} # p\n", ""},
		{"lists at the column of their key", "steps:\n- {name: a, builtin: sort}\n", "steps:\n- {name: a, use: sort}\n", ""},
		{"a text of several lines", "system_prompts:\n  - content: |\n      one\n\n      two\nfit: exact\n", "window:\n  fit: exact\n  system_prompts:\n    - content: |\n        one\n\n        two\n", ""},
		{"one line", "{max_tokens: 5, model: m}", "{window: {max_tokens: 5}, counting: {model: m}}\n", ""},
		{"gone", "agent: {phase: llm, plan: true}\n", "agent: {plan: true}\n", "agent.phase was removed, and is left out"},
		{"must where it said nothing", "steps: [{name: a, retrievers: [{use: p, must: true}]}]\ncollections: {c: {context: {use: p, must: true}}}\nmemory: {conversation: {compact: {use: p, must: true}}}\n",
			"steps: [{name: a, retrievers: [{use: p}]}]\ncollections: {c: {context: {use: p}}}\nmemory: {conversation: {compact: {use: p}}}\n",
			"steps[0].retrievers[0].must was removed, and is left out\ncollections.c.context.must was removed, and is left out\nmemory.conversation.compact.must was removed, and is left out"},
		{"both", "max_tokens: 5\nwindow: {max_tokens: 6}\n", "max_tokens: 5\nwindow: {max_tokens: 6}\n", "max_tokens stays: window.max_tokens is there, too (keep one)"},
		{"a total", "budget: {total_tokens: 9, reserve_tokens: 2}\n", "window: {max_tokens: 9, answer: 2}\n", ""},
		{"only a total", "window:\n  budget:\n    # of all\n    total_tokens: 9\n", "window:\n  # of all\n  max_tokens: 9\n", ""},
		{"a total of a pipeline", "pipelines: {p: {budget: {total_tokens: 9}}}\n", "pipelines: {p: {window: {max_tokens: 9}}}\n", ""},
		{"a total in a window", "max_tokens: 5\nbudget: {total_tokens: 4}\npipelines: {p: {budget: {total_tokens: 9}}}\n", "window: {max_tokens: 5}\npipelines: {p: {}}\n",
			"budget.total_tokens was removed, and is left out: window.max_tokens is the size of the window\npipelines.p.budget.total_tokens was removed, and is left out: window.max_tokens is the size of the window"},
		{"unknown", "max_token: 5\nmodel: m\n", "max_token: 5\ncounting: {model: m}\n", ""},
		{"empty value", "instances:\nfacts:\n", "plugins: {instances: null}\nmemory: {facts: null}\n", ""},
		{"no plugin in a pipeline", "pipelines: {p: {memory: null, facts: {}}}\n", "pipelines: {p: {memory: {use: null, facts: {}}}}\n", ""},
		{"alias", "a: &x {plugin: p}\nmemory: *x\nfit: exact\n", "a: &x {plugin: p}\nmemory: *x\nwindow: {fit: exact}\n", ""},
		{"name with marks", "conversation: {max_tokens: 5, compact: {plugin: p}}\nagent: {observation: {reflect: builtin, reflect_high_water: 9}}\n",
			"memory: {conversation: {tokens: 5, compact: {use: p}}}\nagent: {observation: {reflect: {use: builtin, high_water: 9}}}\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, notes, err := migrate.Rewrite("f", []byte(c.text))
			if err != nil || string(out) != c.want || strings.Join(notes, "\n") != c.notes {
				t.Errorf("%v\n%s\nwant\n%s\nnotes %q", err, out, c.want, notes)
			}
		})
	}
	if _, _, err := migrate.Rewrite("f", []byte("max_tokens: [")); err == nil || !strings.HasPrefix(err.Error(), "f:1") {
		t.Errorf("no YAML: %v", err)
	}
	if _, _, err := migrate.Rewrite("f", []byte("memory: {plugin: p}\nx: *a\nfit: &a exact\n")); err == nil {
		t.Error("an alias before its anchor is accepted")
	}
}

func TestMoved(t *testing.T) {
	for path, want := range map[string]string{
		"max_tokens": "window.max_tokens", "steps[2].plugin": "steps[2].use", "steps[0].retriever": "steps[0].use",
		"pipelines.p.conversation": "pipelines.p.memory.conversation", "instances": "plugins.instances", "agent.phase": "",
	} {
		if to, ok := migrate.Moved(path); !ok || to != want {
			t.Errorf("%s: %q, %v, want %q", path, to, ok, want)
		}
	}
	for _, path := range []string{"window", "steps[0].use", "conversation[0].text", "nothing", "", "pipelines.p"} {
		if to, ok := migrate.Moved(path); ok {
			t.Errorf("%s: %q", path, to)
		}
	}
}

// Nothing that a file may have makes the rewriter panic, and what it writes is YAML with the same values.
func FuzzRewrite(f *testing.F) {
	for _, text := range []string{"max_tokens: 5\n", "steps: [{name: a, retriever: {plugin: p}}]", "a: &a [*a]", "fit_options: {priming: 1}\nwindow: 3\n", "memory: null\nfacts: {}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out, _, err := migrate.Rewrite("f", []byte(text))
		if err != nil {
			return
		}
		if again, _, err := migrate.Rewrite("f", out); err != nil || !bytes.Equal(again, out) {
			t.Error(fmt.Sprintf("%q: %q, then %q", text, out, again), err)
		}
	})
}
