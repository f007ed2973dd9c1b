package anchor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/anchor-host/anchor-host/anchor/component"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
	"github.com/anchor-host/anchor-host/store"
)

// shelf is a retriever that finds the same texts for every query.
type shelf struct {
	texts  []string
	closed func()
}

func (s *shelf) Retrieve(context.Context, *pipeline.Query, int) ([]pipeline.Item, error) {
	var items []pipeline.Item
	for i, text := range s.texts {
		items = append(items, pipeline.Item{ID: fmt.Sprint("shelf-", i), Content: text, Score: 1})
	}
	return items, nil
}

func (s *shelf) Close() error { s.closed(); return nil }

const shelfSchema = `{"type": "object", "properties": {
	"texts": {"type": "array", "items": {"type": "string"}},
	"most": {"type": "integer", "minimum": 1, "default": 9}
}, "required": ["texts"]}`

// counter counts what was made and closed.
type counter struct {
	sync.Mutex
	made, closed int
}

func (c *counter) shelves() map[string]component.Maker[pipeline.Retriever] {
	return map[string]component.Maker[pipeline.Retriever]{"shelf": {
		Schema: shelfSchema,
		New: func(_ context.Context, s component.Settings) (pipeline.Retriever, error) {
			var own struct {
				Texts []string
				Most  int
			}
			if err := s.Decode(&own); err != nil {
				return nil, err
			}
			c.Lock()
			defer c.Unlock()
			c.made++
			return &shelf{own.Texts[:min(own.Most, len(own.Texts))], func() { c.Lock(); defer c.Unlock(); c.closed++ }}, nil
		},
	}}
}

type notes struct{}

func (notes) Items(context.Context, *pipeline.Query) ([]pipeline.Item, error) {
	return []pipeline.Item{{ID: "note", Content: "from memory", Source: pipeline.SourceMemory, Score: 1, Priority: 5}}, nil
}

type lines struct{}

func (lines) FormatType() string { return "lines" }
func (lines) Format(_ context.Context, w *pipeline.Window) (any, error) {
	var texts []string
	for _, it := range w.Items {
		texts = append(texts, it.Content)
	}
	return strings.Join(texts, "|"), nil
}

// always makes the same component.
func always[T any](name string, t T) map[string]component.Maker[T] {
	return map[string]component.Maker[T]{name: {New: func(context.Context, component.Settings) (T, error) { return t, nil }}}
}

// stepsOf registers a step for each function.
func stepsOf(list map[string]pipeline.StepFunc) Components {
	out := Components{Steps: map[string]component.Maker[pipeline.Step]{}}
	for name, f := range list {
		out.Steps[name] = component.Maker[pipeline.Step]{New: func(context.Context, component.Settings) (pipeline.Step, error) { return f, nil }}
	}
	return out
}

// upper writes the items that it sees in capitals.
func upper(_ context.Context, _ *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
	for i := range items {
		items[i].Content = strings.ToUpper(items[i].Content)
	}
	return items, nil
}

// opened opens a configuration in bytes.
func opened(t *testing.T, yaml string, c Components) *App {
	t.Helper()
	app, err := LoadBytes([]byte(yaml), t.TempDir(), Options{Components: c, Store: store.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = app.Close(context.Background()) })
	return app
}

func window(t *testing.T, app *App, o BuildOptions) *pipeline.Result {
	t.Helper()
	r, err := app.Build(t.Context(), pipeline.Query{Text: "q"}, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const allKinds = `
counting: {tokenizer: words}
window: {include_query: false, system_prompts: [{content: be brief}]}
memory: {use: notes}
format: {use: lines}
steps:
  - {name: find, use: shelf, settings: {texts: [one, two, three], most: 2}, source: tool, max_priority: 3}
  - {name: shout, use: upper}
pipelines:
  several: {steps: [{name: find, retrievers: [{use: shelf, settings: {texts: [four]}}, {use: gone}], must: false}]}
  routed: {steps: [{name: find, classifier: {keywords: {any: [zz]}}, routes: {any: {use: shelf, settings: {texts: [five]}}}, default: any}]}
`

// A retriever, a step, memory and a formatter in Go make one window.
func TestComponents(t *testing.T) {
	var c counter
	registered := stepsOf(map[string]pipeline.StepFunc{"upper": upper})
	registered.Retrievers = c.shelves()
	registered.Memory, registered.Formatters = always[pipeline.MemoryProvider]("notes", notes{}), always[pipeline.Formatter]("lines", lines{})
	app := opened(t, allKinds, registered)
	for pipeline, want := range map[string]string{"": "be brief|FROM MEMORY|ONE|TWO", "several": "be brief|from memory|four", "routed": "be brief|from memory|five"} {
		r := window(t, app, BuildOptions{Pipeline: pipeline, Explain: true})
		if r.Output != want || r.FormatType != "lines" || len(r.Diagnostics.SkippedSteps) > 0 {
			t.Errorf("%q: output %q of type %q, want %q; skipped %v", pipeline, r.Output, r.FormatType, want, r.Diagnostics.SkippedSteps)
		}
	}
	r := window(t, app, BuildOptions{Explain: true})
	for _, it := range r.Window.Items {
		if strings.HasPrefix(it.ID, "shelf") && (it.Source != "tool" || it.Priority > 3) {
			t.Errorf("item %s has source %s and priority %d", it.ID, it.Source, it.Priority)
		}
	}
	if plugin := r.Diagnostics.Steps[0].Plugin; plugin != "shelf" {
		t.Errorf("the diagnostics of the step name %q", plugin)
	}
	// What the options of a build replace is not called.
	if r := window(t, app, BuildOptions{Format: "generic"}); r.FormatType != "generic" {
		t.Errorf("format %q", r.FormatType)
	}
	if c.made != 3 {
		t.Errorf("%d retrievers made, want one for each settings", c.made)
	}
}

// A component that fails follows the policy of its place, and the error names it.
func TestFailingComponents(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	steps := map[string]pipeline.StepFunc{
		"fails": func(context.Context, *pipeline.Query, []pipeline.Item) ([]pipeline.Item, error) {
			return nil, errors.New("no luck")
		},
		"panics": func(context.Context, *pipeline.Query, []pipeline.Item) ([]pipeline.Item, error) { panic("boom") },
		"hangs": func(context.Context, *pipeline.Query, []pipeline.Item) ([]pipeline.Item, error) {
			<-never
			return nil, nil
		},
	}
	reasons := map[string]string{"fails": "", "panics": "panic", "hangs": "timeout"}
	for name, reason := range reasons {
		limit := "1h"
		if reason == "timeout" {
			limit = "20ms"
		}
		yaml := "counting: {tokenizer: words}\nsteps: [{name: s, use: " + name + ", timeout: " + limit + ", must: %t}]\n"
		r := window(t, opened(t, fmt.Sprintf(yaml, false), stepsOf(steps)), BuildOptions{})
		if len(r.Diagnostics.SkippedSteps) != 1 {
			t.Errorf("%s: skipped %v", name, r.Diagnostics.SkippedSteps)
		}
		_, err := opened(t, fmt.Sprintf(yaml, true), stepsOf(steps)).Build(t.Context(), pipeline.Query{Text: "q"}, BuildOptions{})
		if err == nil || pipeline.ReasonOf(err) != reason || !strings.Contains(err.Error(), `step "s"`) {
			t.Errorf("%s: error %v with reason %q, want %q", name, err, pipeline.ReasonOf(err), reason)
		}
		if name != "hangs" && pipeline.PluginOf(err) != name {
			t.Errorf("%s: the error names %q", name, pipeline.PluginOf(err))
		}
	}
}

// A component that is not made fails its step, or the start if it must answer.
func TestComponentNotMade(t *testing.T) {
	c := Components{Steps: map[string]component.Maker[pipeline.Step]{
		"broken": {New: func(context.Context, component.Settings) (pipeline.Step, error) { return nil, errors.New("no server") }},
		"panics": {New: func(context.Context, component.Settings) (pipeline.Step, error) { panic("boom") }},
		"empty":  {New: func(context.Context, component.Settings) (pipeline.Step, error) { return nil, nil }},
	}}
	for name, want := range map[string]string{"broken": "no server", "panics": "boom", "empty": "returned nil"} {
		yaml := "counting: {tokenizer: words}\nsteps: [{name: s, use: " + name + ", must: %t}]\n"
		if r := window(t, opened(t, fmt.Sprintf(yaml, false), c), BuildOptions{}); len(r.Diagnostics.SkippedSteps) != 1 {
			t.Errorf("%s: skipped %v", name, r.Diagnostics.SkippedSteps)
		}
		_, err := LoadBytes([]byte(fmt.Sprintf(yaml, true)), "", Options{Components: c})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `component "`+name+`"`) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// What the file says wrongly about a component is refused with its place.
func TestComponentMistakes(t *testing.T) {
	var c counter
	registered := stepsOf(map[string]pipeline.StepFunc{"upper": upper})
	registered.Retrievers = c.shelves()
	registered.Formatters = always[pipeline.Formatter]("lines", lines{})
	for yaml, want := range map[string][]string{
		"steps:\n  - name: s\n    use: shelf\n    settings: {texts: one}\n":                            {"anchor.yaml:4", "steps[0].settings", `component "shelf"`, "texts"},
		"steps:\n  - name: s\n    use: shelf\n    settings: {texts: [a], mots: 1}\n":                   {"anchor.yaml:4", "mots"},
		"pipelines:\n  p:\n    steps:\n      - {name: s, use: shelf}\n":                                {"anchor.yaml:4", "pipelines.p.steps[0]", "texts"},
		"steps:\n  - name: s\n    use: upper\n    reads: [text]\n":                                     {"anchor.yaml:4", "steps[0].reads", "Go step"},
		"steps:\n  - name: s\n    use: upper\n    top_k: 3\n":                                          {"steps[0].top_k", "Go step"},
		"steps:\n  - name: s\n    use: lines\n":                                                        {"steps[0]", "Go formatter"},
		"format: {use: upper}\n":                                                                       {"format", "Go step"},
		"callbacks: [upper]\n":                                                                         {"callbacks[0]", "Go step"},
		"plugins: {instances: {upper: {plugin: other}}}\n":                                             {"plugins.instances.upper", "an instance", "Go step"},
		"retrievers: {shelf: {collection: docs}}\nsteps: [{name: s, use: shelf}]\n":                    {"retrievers.shelf", "an entry of retrievers", "Go retriever"},
		"plugins: {dir: ../testdata/wasm}\nsteps:\n  - {name: s, use: shelf, settings: {texts: []}}\n": nil,
	} {
		_, err := LoadBytes([]byte(yaml), ".", Options{Components: registered, Store: store.NewMemory()})
		if want == nil && err == nil {
			continue
		}
		if want == nil || err == nil || !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: error %v", yaml, err)
			continue
		}
		for _, part := range want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: error %v, want %q in it", yaml, err, part)
			}
		}
	}
	if c.closed != 0 {
		t.Errorf("%d closed", c.closed)
	}
}

// A name means one thing.
func TestComponentNames(t *testing.T) {
	both := stepsOf(map[string]pipeline.StepFunc{"twice": upper})
	both.Memory = always[pipeline.MemoryProvider]("twice", notes{})
	schema := Components{Steps: map[string]component.Maker[pipeline.Step]{"s": {Schema: "[]", New: func(context.Context, component.Settings) (pipeline.Step, error) { return nil, nil }}}}
	for want, c := range map[string]Components{
		"a step has the same name": both,
		"add-item":                 stepsOf(map[string]pipeline.StepFunc{"add-item": upper}), // the plugin
		"built in":                 stepsOf(map[string]pipeline.StepFunc{"sort": upper}),
		"not a valid name":         stepsOf(map[string]pipeline.StepFunc{"No Name": upper}),
		"has no New":               {Steps: map[string]component.Maker[pipeline.Step]{"s": {}}},
		"settings schema":          schema,
	} {
		_, err := LoadBytes(nil, "", Options{Components: c, PluginDir: "../testdata/wasm"})
		if err == nil || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// A reload makes new components, and closes the old ones when their last build has ended. A request
// cannot make any.
func TestComponentsAreClosed(t *testing.T) {
	const yaml = "counting: {tokenizer: words}\nsteps: [{name: s, use: shelf, settings: {texts: [%s]}}]\n"
	files := fstest.MapFS{"etc/anchor.yaml": {Data: []byte(fmt.Sprintf(yaml, "one"))}}
	var c counter
	app, err := LoadFS(files, "etc/anchor.yaml", Options{Components: Components{Retrievers: c.shelves()}, Store: store.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	text := func() string { return window(t, app, BuildOptions{}).Window.Items[0].Content }
	if got := text(); got != "one" {
		t.Errorf("found %q", got)
	}
	for name, want := range map[string]bool{"one": true, "other": false} {
		document := fmt.Sprintf(`{"query": "q", "counting": {"tokenizer": "cl100k_base"}, "steps": [{"name": "own", "use": "shelf", "settings": {"texts": [%q]}}]}`, name)
		_, err := app.BuildRequest(t.Context(), "request", strings.NewReader(document), BuildOptions{})
		if (err == nil) != want || err != nil && (!errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "a request cannot")) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if c.made != 1 {
		t.Errorf("%d made, want 1", c.made)
	}
	files["etc/anchor.yaml"].Data = []byte(fmt.Sprintf(yaml, "two"))
	if err := app.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := text(); got != "two" {
		t.Errorf("found %q after the reload", got)
	}
	files["etc/anchor.yaml"].Data = []byte("steps: [{name: s, use: shelf}]\n")
	if err := app.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "etc/anchor.yaml:1") {
		t.Errorf("error %v", err)
	}
	if file := app.Status().File; file != "" {
		t.Errorf("the status names the file %s", file)
	}
	if err := app.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if c.made != 2 || c.closed != 2 {
		t.Errorf("%d made, %d closed, want 2", c.made, c.closed)
	}
}

type adding struct{ agent.Provider }

func (adding) EstimateTokens(context.Context, *agent.State) (int, error) { return 0, nil }
func (adding) Apply(_ context.Context, s *agent.State, list []pipeline.Message, _ agent.Budget) ([]pipeline.Message, error) {
	if s.RunID == "none" {
		panic("boom")
	}
	return append([]pipeline.Message{message.New(pipeline.RoleSystem, "added")}, list...), nil
}

// A provider in Go has the name and the priority of the configuration.
func TestProviderComponent(t *testing.T) {
	app := opened(t, "counting: {tokenizer: words}\nagent: {providers: [{name: mine, priority: 6, use: adding, must: true}]}\n",
		Components{Providers: always[agent.Provider]("adding", adding{})})
	messages := []pipeline.Message{message.New(pipeline.RoleUser, "hello")}
	got, err := app.Assemble(t.Context(), messages, AssembleOptions{})
	if err != nil || len(got.Messages) != 2 || message.TextOf(got.Messages[0].Parts) != "added" {
		t.Errorf("messages %+v, error %v", got, err)
	}
	if _, err := app.Assemble(t.Context(), messages, AssembleOptions{State: &agent.State{RunID: "none"}}); err == nil || !strings.Contains(err.Error(), "mine") || pipeline.PluginOf(err) != "adding" {
		t.Errorf("error %v", err)
	}
}

// A configuration in bytes has the folder that the caller names.
func TestLoadBytes(t *testing.T) {
	app, err := LoadBytes([]byte(guests), "../testdata", Options{Overrides: map[string]string{"plugins.cache_dir": "off"}, PluginDir: "../testdata/wasm", Store: store.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	defer app.Close(context.Background())
	if r := window(t, app, BuildOptions{}); len(r.Window.Items) != 1 {
		t.Errorf("%d items", len(r.Window.Items))
	}
	if err := app.Reload(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := LoadBytes([]byte("stesp: []"), "", Options{}); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "anchor.yaml:1") {
		t.Errorf("error %v", err)
	}
	if _, err := LoadFS(fstest.MapFS{}, "anchor.yaml", Options{}); err == nil {
		t.Error("a file that is not there is read")
	}
}
