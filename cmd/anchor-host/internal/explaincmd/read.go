package explaincmd

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/internal/request"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
)

// builtDoc is the result of a build, read from a file.
type builtDoc struct {
	name     string
	window   pipeline.Window
	overflow []pipeline.OverflowItem
	// traces is nil for a build without --explain.
	traces []explain.ItemTrace
	// output and format are the formatted output and its type; failed is set for an error
	// document.
	output json.RawMessage
	format string
	failed bool
}

// resultKeys are the keys of a result, and the keys that commands add.
var resultKeys = func() []string {
	keys := []string{"explain", "error"}
	t := reflect.TypeFor[pipeline.Result]()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		keys = append(keys, name)
	}
	return keys
}()

func readBuilt(a *cli.App, path string) (*builtDoc, error) {
	r, name, err := a.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read build: %w", err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, 4*request.MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read build %s: %w", name, err)
	}
	if len(data) > 4*request.MaxBytes {
		return nil, fmt.Errorf("%w: %s: larger than %d MiB", config.ErrInvalid, name, 4*request.MaxBytes>>20)
	}
	return decodeBuilt(name, data)
}

// decodeBuilt reads a result, or the error document of a build that failed.
func decodeBuilt(name string, data []byte) (*builtDoc, error) {
	n, err := strict.ParseJSON(name, data)
	if err != nil {
		return nil, err
	}
	if err := checkResultKeys(name, n); err != nil {
		return nil, err
	}
	var doc struct {
		Error       json.RawMessage         `json:"error"`
		Window      *pipeline.Window        `json:"window"`
		Overflow    []pipeline.OverflowItem `json:"overflow_items"`
		Output      json.RawMessage         `json:"formatted_output"`
		Format      string                  `json:"format_type"`
		Diagnostics *struct {
			Items *explain.Trace `json:"items"`
		} `json:"diagnostics"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", config.ErrInvalid, name, err)
	}
	d := &builtDoc{name: name, overflow: doc.Overflow, output: doc.Output, format: doc.Format, failed: doc.Error != nil}
	if doc.Diagnostics != nil {
		d.traces = doc.Diagnostics.Items.All()
	}
	if doc.Window != nil {
		d.window = *doc.Window
	}
	return d, d.check()
}

// checkResultKeys refuses a document that is not a result, and names the place.
func checkResultKeys(name string, n *strict.Node) error {
	fail := func(pos strict.Pos, format string, args ...any) error {
		return strict.Problems{{File: name, Pos: pos, Message: fmt.Sprintf(format, args...)}}
	}
	if n.Kind != strict.Map {
		return fail(n.Pos, "no result of a build (write one with: anchor-host build --explain -o json)")
	}
	seen := map[string]bool{}
	for _, e := range n.Entries {
		switch {
		case seen[e.Key]:
			return fail(e.Pos, "%s: repeated key", plain.Name(e.Key))
		case !slices.Contains(resultKeys, e.Key):
			return fail(e.Pos, "%s: unknown key%s", plain.Name(e.Key), strict.Hint(e.Key, resultKeys))
		}
		seen[e.Key] = true
	}
	for _, key := range []string{"window", "diagnostics"} {
		if !seen[key] && !seen["error"] {
			return fail(n.Pos, "%s: missing (a result of anchor-host build -o json has it)", key)
		}
	}
	return nil
}

// check makes sure that the traces and the window belong to one build.
func (d *builtDoc) check() error {
	fail := func(s *explain.ItemTrace, format string, args ...any) error {
		return fmt.Errorf("%w: %s: diagnostics.items: item %q: %s", config.ErrInvalid, d.name, s.ID, fmt.Sprintf(format, args...))
	}
	inWindow := 0
	for i := range d.traces {
		s := &d.traces[i]
		if s.Outcome != explain.InWindow {
			continue
		}
		inWindow++
		p := s.Last().Place
		if p == nil || p.To < 1 || p.To > len(d.window.Items) || d.window.Items[p.To-1].ID != s.ID {
			return fail(s, "its place is not in the window")
		}
	}
	if d.traces != nil && !d.failed && inWindow != len(d.window.Items) {
		return fmt.Errorf("%w: %s: diagnostics.items has %d items in the window, but the window has %d", config.ErrInvalid, d.name, inWindow, len(d.window.Items))
	}
	return nil
}

func (d *builtDoc) noTraces() error {
	return fmt.Errorf("%w: %s: no traces (build with --explain, or with \"explain\": true in the request)", config.ErrInvalid, d.name)
}

// headline summarizes the build in one line.
func (d *builtDoc) headline() string {
	if d.failed {
		return fmt.Sprintf("%s: the build failed; %d items until then", cli.OneCell(d.name), len(d.traces))
	}
	return fmt.Sprintf("%s: %d items, %d of them in the window with %d of %d tokens",
		cli.OneCell(d.name), len(d.traces), len(d.window.Items), d.window.UsedTokens, d.window.MaxTokens)
}
