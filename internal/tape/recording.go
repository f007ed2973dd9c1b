package tape

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// FileName is the name of a recording in its folder.
const FileName = "build.recording"

// version is that of the form of a recording.
const version = 2

// maxFile bounds a recording that is read, in bytes.
const maxFile = 4 * MaxBytes

// Recording is everything that went into a build, and what came out.
type Recording struct {
	Version int `json:"version"`
	// Program and Platform are the version of the program and its system.
	Program  string `json:"program"`
	Platform string `json:"platform"`
	// Began is the first reading of the clock, and Clock has all readings as the time since then, in
	// nanoseconds. A replay reads the same.
	Began time.Time       `json:"began"`
	Clock []time.Duration `json:"clock"`
	// Document is the request. nil: the build was asked with Query and Options, whose form is that
	// of anchor.BuildOptions.
	Document json.RawMessage `json:"document,omitempty"`
	Query    json.RawMessage `json:"query,omitempty"`
	Options  json.RawMessage `json:"options,omitempty"`
	// NoFile says that there was no configuration file.
	NoFile bool `json:"no_configuration_file,omitempty"`
	// Settings are the effective settings, Modules the digests of the modules of plugins.
	Settings []Setting         `json:"settings"`
	Modules  map[string]string `json:"modules"`
	// Answers and HTTP are what came from outside. HTTP has no secrets.
	Answers []Answer      `json:"answers"`
	HTTP    []record.HTTP `json:"http"`
	// Steps are the items after each step. Result is the result or the failure, without times.
	Steps  []StepMark      `json:"steps"`
	Result json.RawMessage `json:"result"`
	// Notes say what a replay cannot repeat.
	Notes []string `json:"notes,omitempty"`
}

// Setting is an effective value. Values that plugins define are digests, because they may be
// secrets.
type Setting struct {
	Path  string `json:"path"`
	Value string `json:"value"`
	// Given is set for a flag or a variable of the environment, which a replay sets again.
	Given bool `json:"given,omitempty"`
}

// SettingsOf returns the settings of a configuration.
func SettingsOf(loaded *config.Loaded) []Setting {
	list := []Setting{}
	for _, s := range loaded.Settings() {
		if ofMachine(s.Path) {
			continue
		}
		out := Setting{Path: s.Path, Value: s.Text, Given: strings.HasPrefix(s.Origin, "flag ") || strings.HasPrefix(s.Origin, "environment ") || s.Origin == "recording"}
		if strings.Contains(s.Path, ".settings.") || strings.Contains(s.Path, ".config.") {
			sum := sha256.Sum256([]byte(s.Text))
			out.Value, out.Given = "sha256:"+hex.EncodeToString(sum[:4]), false
		}
		list = append(list, out)
	}
	return list
}

// ofMachine says that a setting does not belong to a build but to the machine that it runs on.
func ofMachine(path string) bool {
	own := []string{"plugins.dir", "plugins.cache_dir", "plugins.total_memory", "plugins.must", "plugins.max_instances", "store", "telemetry.log_level", "builds.records", "server", "timeout"}
	return slices.ContainsFunc(own, func(p string) bool { return path == p || strings.HasPrefix(path, p+".") })
}

// StepMark are the items after a step.
type StepMark struct {
	Step  string     `json:"step"`
	Items []ItemMark `json:"items"`
	// Error is why the step failed.
	Error string `json:"error,omitempty"`
}

// ItemMark is an item with the digest of everything that it has.
type ItemMark struct {
	ID     string `json:"id"`
	Digest string `json:"digest"`
}

// Marks collects the items after each step.
type Marks struct {
	// Hide takes secrets out of an item before its digest is made.
	Hide func(string) string

	mu   sync.Mutex
	list []StepMark
}

// Callback is for the options of the build.
func (m *Marks) Callback() pipeline.Callback {
	return pipeline.Callback{
		OnStepEnd: func(_ context.Context, step string, items pipeline.ItemsView, _ time.Duration) error {
			mark := StepMark{Step: step, Items: make([]ItemMark, items.Len())}
			for i := range mark.Items {
				it := items.At(i)
				doc, err := json.Marshal(it)
				if err != nil {
					return err
				}
				sum := sha256.Sum256([]byte(m.Hide(string(doc))))
				mark.Items[i] = ItemMark{it.ID, hex.EncodeToString(sum[:8])}
			}
			m.add(mark)
			return nil
		},
		OnStepError: func(_ context.Context, step string, err error) error {
			m.add(StepMark{Step: step, Items: []ItemMark{}, Error: m.Hide(err.Error())})
			return nil
		},
	}
}

func (m *Marks) add(s StepMark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, s)
}

// Steps returns what was collected.
func (m *Marks) Steps() []StepMark {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list)
}

// timeKeys are members of a result that differ from run to run, and services, whose numbers the
// asked models count.
var timeKeys = []string{"build_time_ms", "time_ms", "start_ms", "wait_ms", "guest_ms", "times_ms", "services"}

// Timeless returns a result, or the error of a build, as a document without times.
func Timeless(result *pipeline.Result, failed error) (json.RawMessage, error) {
	var value any = result
	if result == nil {
		value = map[string]any{"error": failed.Error()}
	}
	doc, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var members map[string]any
	if err := d.Decode(&members); err != nil {
		return nil, err
	}
	delete(members, "build_time_ms")
	if diag, ok := members["diagnostics"].(map[string]any); ok {
		for _, list := range []any{[]any{diag}, diag["steps"], diag["step_failures"]} {
			entries, _ := list.([]any)
			for _, e := range entries {
				if m, ok := e.(map[string]any); ok {
					maps.DeleteFunc(m, func(key string, _ any) bool { return slices.Contains(timeKeys, key) })
				}
			}
		}
	}
	return json.Marshal(members)
}

// Secrets returns a note for each server whose answer to a plugin had a secret. The plugin gets
// asterisks in its place when the build is repeated.
func Secrets(exchanges []record.HTTP) (notes []string) {
	for i := range exchanges {
		h := &exchanges[i]
		has := strings.Contains(string(h.ResponseBody), record.Hidden)
		for _, value := range h.ResponseHeaders {
			has = has || strings.Contains(value, record.Hidden)
		}
		if place, _, _ := strings.Cut(h.URL, "?"); has {
			notes = append(notes, fmt.Sprintf("the answer of %s %s had a secret; in a replay the plugin gets %s in its place", h.Method, place, record.Hidden))
		}
	}
	return slices.Compact(notes)
}

// Write writes a recording into a folder, which it makes.
func (r *Recording) Write(dir string) error {
	r.Version = version
	doc, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, FileName), append(doc, '\n'), 0o600)
}

// Read reads the recording of a folder.
func Read(dir string) (*Recording, error) {
	f, err := os.Open(filepath.Join(dir, FileName))
	if err != nil {
		return nil, fmt.Errorf("read recording: %w (make one with: anchor-host build --record %s)", err, dir)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%w: %s: larger than %d MiB", config.ErrInvalid, f.Name(), maxFile>>20)
	}
	return Decode(f.Name(), data)
}

// Decode reads a recording. name is that of the document.
func Decode(name string, data []byte) (*Recording, error) {
	var r Recording
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%w: %s: no recording of a build: %w", config.ErrInvalid, name, err)
	}
	switch {
	case r.Version != version:
		return nil, fmt.Errorf("%w: %s: version %d of recordings (this program reads %d)", config.ErrInvalid, name, r.Version, version)
	case r.Document == nil && (r.Query == nil || r.Options == nil), r.Result == nil:
		return nil, fmt.Errorf("%w: %s: it lacks the request or the result (record the build again)", config.ErrInvalid, name)
	}
	return &r, nil
}

// findModule is what to do about a plugin with another module.
const findModule = "give the folder that has the recorded module with --plugins"

// Compare returns the differences of a replay, the cause first: plugins, settings, then the first
// step and the first part of the result. It returns nil if both are the same.
func (r *Recording) Compare(again *Recording) (list []explain.Difference) {
	for _, name := range slices.Sorted(maps.Keys(r.Modules)) {
		if now, ok := again.Modules[name]; !ok {
			list = append(list, explain.Difference{Where: "plugin", Name: name, What: "it was not loaded, recorded was " + r.Modules[name], Remedy: findModule})
		} else if now != r.Modules[name] {
			list = append(list, explain.Difference{Where: "plugin", Name: name, What: fmt.Sprintf("its module is %s, recorded was %s", now, r.Modules[name]), Remedy: findModule})
		}
	}
	list = append(list, compareSettings(r.Settings, again.Settings)...)
	if d := compareSteps(r.Steps, again.Steps); d != nil {
		list = append(list, *d)
	}
	if !bytes.Equal(r.Result, again.Result) {
		list = append(list, compareResults(r.Result, again.Result))
	}
	return list
}

func compareSettings(before, after []Setting) (list []explain.Difference) {
	values := map[string]string{}
	for _, s := range after {
		values[s.Path] = s.Value
	}
	for _, s := range before {
		now, ok := values[s.Path]
		delete(values, s.Path)
		switch {
		case !ok:
			list = append(list, explain.Difference{Where: "setting", Name: s.Path, What: fmt.Sprintf("it is not set, recorded was %.100q", s.Value)})
		case now != s.Value:
			list = append(list, explain.Difference{Where: "setting", Name: s.Path, What: fmt.Sprintf("it is %.100q, recorded was %.100q", now, s.Value)})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(values)) {
		list = append(list, explain.Difference{Where: "setting", Name: path, What: fmt.Sprintf("it is %.100q, and was not set", values[path])})
	}
	return list
}

// compareSteps returns the first step that differs.
func compareSteps(before, after []StepMark) *explain.Difference {
	for i := range before {
		a := &before[i]
		if i >= len(after) {
			return &explain.Difference{Where: "step", Name: a.Step, What: "it did not run"}
		}
		b := &after[i]
		switch {
		case a.Step != b.Step:
			return &explain.Difference{Where: "step", Name: a.Step, What: fmt.Sprintf("step %q ran in its place", b.Step)}
		case a.Error != b.Error:
			return &explain.Difference{Where: "step", Name: a.Step, What: fmt.Sprintf("its error is %.300q, recorded was %.300q", b.Error, a.Error)}
		}
		if what := compareItems(a.Items, b.Items); what != "" {
			return &explain.Difference{Where: "step", Name: a.Step, What: what}
		}
	}
	if len(after) > len(before) {
		return &explain.Difference{Where: "step", Name: after[len(before)].Step, What: "it ran, and did not before"}
	}
	return nil
}

func compareItems(a, b []ItemMark) string {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i].ID != b[i].ID:
			return fmt.Sprintf("place %d of the list has item %.100q, recorded was %.100q", i+1, b[i].ID, a[i].ID)
		case a[i].Digest != b[i].Digest:
			return fmt.Sprintf("item %.100q at place %d has other values", a[i].ID, i+1)
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("the list has %d items, recorded were %d", len(b), len(a))
	}
	return ""
}

// compareResults names the first part of the result that differs.
func compareResults(before, after json.RawMessage) explain.Difference {
	var a, b any
	if json.Unmarshal(before, &a) != nil || json.Unmarshal(after, &b) != nil {
		return explain.Difference{Where: "result", What: "it is no JSON"}
	}
	path, x, y := firstDifference("", a, b)
	return explain.Difference{Where: "result", Name: strings.TrimPrefix(path, "."), What: fmt.Sprintf("it is %.200s, recorded was %.200s", y, x)}
}

// firstDifference returns the path of the first difference of two values, with both.
func firstDifference(path string, a, b any) (string, string, string) {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok {
			break
		}
		keys := slices.Sorted(maps.Keys(x))
		for key := range y {
			if _, both := x[key]; !both {
				keys = append(keys, key)
			}
		}
		for _, key := range keys {
			if p, u, v := firstDifference(path+"."+key, x[key], y[key]); p != "" {
				return p, u, v
			}
		}
		return "", "", ""
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			break
		}
		for i := range x {
			if p, u, v := firstDifference(fmt.Sprintf("%s[%d]", path, i), x[i], y[i]); p != "" {
				return p, u, v
			}
		}
		return "", "", ""
	}
	u, _ := json.Marshal(a)
	v, _ := json.Marshal(b)
	if bytes.Equal(u, v) {
		return "", "", ""
	}
	return path, string(u), string(v)
}
