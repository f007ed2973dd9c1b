// Package builtdoc reads the results of builds as documents, compares them, says in words what
// happened to their items, and draws them.
package builtdoc

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/internal/request"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/promptcache"
)

// MaxBytes bounds a document that is read, in bytes.
const MaxBytes = 4 * request.MaxBytes

// Doc is the result of a build, or what is known of a build that failed.
type Doc struct {
	// Name is what messages and headings call it, such as the name of its file.
	Name     string
	Window   pipeline.Window
	Overflow []pipeline.OverflowItem
	// Traces is nil for a build that was not explained.
	Traces []explain.ItemTrace
	// Steps, Failures and Times are the steps and stages, TimeMS the time of the build. Cache is the
	// comparison with the previous build. nil: there was none.
	Steps    []pipeline.StepDiagnostic
	Failures []pipeline.StepFailure
	Times    pipeline.StageTimes
	TimeMS   float64
	Cache    *promptcache.Report
	// Output and Format are the formatted output and its type. Failed is set for an error document.
	Output json.RawMessage
	Format string
	Failed bool
	// Hidden says that digests stand in the place of texts, and that excerpts are empty.
	Hidden bool
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

// Decode reads a result, or the error document of a build that failed.
func Decode(name string, data []byte) (*Doc, error) {
	n, err := strict.ParseJSON(name, data)
	if err != nil {
		return nil, err
	}
	if err := checkResultKeys(name, n); err != nil {
		return nil, err
	}
	return DecodeKept(name, data)
}

// DecodeKept is [Decode] for a document that this program has written, such as that of a record: it
// does not look for misspelt keys, which takes a third of the time.
func DecodeKept(name string, data []byte) (*Doc, error) {
	var doc struct {
		Error       json.RawMessage         `json:"error"`
		Window      *pipeline.Window        `json:"window"`
		Overflow    []pipeline.OverflowItem `json:"overflow_items"`
		Output      json.RawMessage         `json:"formatted_output"`
		Format      string                  `json:"format_type"`
		TimeMS      float64                 `json:"build_time_ms"`
		Diagnostics *struct {
			Items    *explain.Trace            `json:"items"`
			Steps    []pipeline.StepDiagnostic `json:"steps"`
			Failures []pipeline.StepFailure    `json:"step_failures"`
			Times    pipeline.StageTimes       `json:"times_ms"`
			Cache    *promptcache.Report       `json:"cache"`
		} `json:"diagnostics"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", config.ErrInvalid, name, err)
	}
	d := &Doc{Name: name, Overflow: doc.Overflow, Output: doc.Output, Format: doc.Format, TimeMS: doc.TimeMS, Failed: doc.Error != nil}
	if g := doc.Diagnostics; g != nil {
		d.Traces, d.Steps, d.Failures, d.Times, d.Cache = g.Items.All(), g.Steps, g.Failures, g.Times, g.Cache
	}
	if doc.Window != nil {
		d.Window = *doc.Window
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
	for _, e := range n.Entries() {
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
func (d *Doc) check() error {
	fail := func(s *explain.ItemTrace, format string, args ...any) error {
		return fmt.Errorf("%w: %s: diagnostics.items: item %q: %s", config.ErrInvalid, d.Name, s.ID, fmt.Sprintf(format, args...))
	}
	inWindow := 0
	for i := range d.Traces {
		s := &d.Traces[i]
		if s.Outcome != explain.InWindow {
			continue
		}
		inWindow++
		p := s.Last().Place
		if p == nil || p.To < 1 || p.To > len(d.Window.Items) || d.Window.Items[p.To-1].ID != s.ID {
			return fail(s, "its place is not in the window")
		}
	}
	if d.Traces != nil && !d.Failed && inWindow != len(d.Window.Items) {
		return fmt.Errorf("%w: %s: diagnostics.items has %d items in the window, but the window has %d", config.ErrInvalid, d.Name, inWindow, len(d.Window.Items))
	}
	return nil
}

// NoTraces is the error for a build that has no traces.
func (d *Doc) NoTraces() error {
	return fmt.Errorf("%w: %s: no traces (build with --explain, or with \"explain\": true in the request)", config.ErrInvalid, d.Name)
}

// Headline summarizes the build in one line.
func (d *Doc) Headline() string {
	if d.Failed {
		return fmt.Sprintf("%s: the build failed; %d items until then", plain.Cell(d.Name), len(d.Traces))
	}
	return fmt.Sprintf("%s: %d items, %d of them in the window with %d of %d tokens",
		plain.Cell(d.Name), len(d.Traces), len(d.Window.Items), d.Window.UsedTokens, d.Window.MaxTokens)
}
