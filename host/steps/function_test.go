package steps_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/pipeline"
)

// callStep runs one function as a step over two items and a system prompt, and
// returns the texts.
func callStep(t *testing.T, p *host.Plugin, function string, o steps.FunctionOptions) (string, []pipeline.Item, error) {
	t.Helper()
	o.Step = "s"
	s, err := steps.Function(p, function, o)
	if err != nil {
		t.Fatal(err)
	}
	items := []pipeline.Item{
		{ID: "sys", Content: "stay", Source: pipeline.SourceSystem, Priority: 10, TokenCount: 1},
		{ID: "a", Content: "one two", Source: pipeline.SourceRetrieval, Priority: 5, Score: 0.5, TokenCount: 2},
		{ID: "b", Content: "THREE", Source: pipeline.SourceMemory, Priority: 5, TokenCount: 1},
	}
	out, err := s.Run(t.Context(), &pipeline.Query{Text: "the query"}, items)
	var texts []string
	for _, it := range out {
		texts = append(texts, it.Content)
	}
	return strings.Join(texts, "|"), out, err
}

func TestFunctionStep(t *testing.T) {
	p := load(t, shared(t), "foreign-step", host.PluginConfig{})
	if p.State() != host.StateKeep {
		t.Errorf("state %q", p.State())
	}
	for _, tc := range []struct {
		function string
		input    host.FunctionInput
		output   host.FunctionOutput
		want     string
	}{
		{"upper", "", "", "stay|one two|THREE|THE QUERY"},
		{"upper", "query", "text", "stay|one two|THREE|THE QUERY"},
		{"upper", "text", "", "stay|ONE TWO|THREE"},
		{"items", "", "items", "stay|one two|THREE|first|second"},
		{"items", "request", "items", "stay|one two|THREE|first|second"},
		{"keep_first", "request", "changes", "stay|one two"},
		{"nothing", "", "", "stay|one two|THREE"},
		{"nothing", "text", "text", "stay|one two|THREE"},
		{"nothing", "request", "changes", "stay|one two|THREE"},
	} {
		texts, out, err := callStep(t, p, tc.function, steps.FunctionOptions{Input: tc.input, Output: tc.output})
		if err != nil || texts != tc.want {
			t.Errorf("%s of %q to %q: %s, error %v (want %s)", tc.function, tc.input, tc.output, texts, err, tc.want)
		}
		for _, it := range out {
			if it.ID == "" || it.TokenCount != len(strings.Fields(it.Content)) {
				t.Errorf("%s: item %+v is not counted", tc.function, it)
			}
		}
	}
}

// A request has the query, the granted columns of the items of the scope, and
// the settings.
func TestFunctionStepRequest(t *testing.T) {
	p := load(t, shared(t), "foreign", host.PluginConfig{})
	_, out, err := callStep(t, p, "echo", steps.FunctionOptions{Input: "request", Options: steps.Options{
		Settings: map[string]any{"b": 1, "a": "x"}, Scope: []pipeline.Source{pipeline.SourceRetrieval}, Reads: []string{"id", "score"}, TopK: 3,
	}})
	want := `{"query":{"query_str":"the query"},"columns":["id","score"],"items":[{"id":"a","score":0.5}],"top_k":3,"settings":{"a":"x","b":1}}`
	if err != nil || len(out) != 4 || out[3].Content != want || out[3].Source != pipeline.SourceRetrieval {
		t.Errorf("%+v, error %v\nwant %s", out, err, want)
	}
}

// What a function may not do, and what makes no sense.
func TestFunctionStepFailures(t *testing.T) {
	p := load(t, shared(t), "foreign-step", host.PluginConfig{})
	for _, tc := range []struct {
		function string
		input    host.FunctionInput
		output   host.FunctionOutput
		code     abi.Reason
		want     string
	}{
		{"fails", "", "", abi.ReasonGuestError, `plugin "foreign-step": fails: guest_error: status 7 without a message`},
		{"smuggle", "", "items", abi.ReasonInvalidOutput, `plugin "foreign-step": smuggle: invalid_output: changes is not usable: data follows the JSON value (want one value only)`},
		{"not_utf8", "", "", abi.ReasonInvalidOutput, `plugin "foreign-step": not_utf8: invalid_output: the output is not valid UTF-8`},
		{"not_utf8", "text", "", abi.ReasonInvalidOutput, `plugin "foreign-step": not_utf8: invalid_output: the output for row 0 is not valid UTF-8`},
		{"upper", "", "items", abi.ReasonInvalidOutput, `plugin "foreign-step": upper: invalid_output: changes is not a JSON array of items`},
		{"upper", "", "changes", abi.ReasonInvalidOutput, `plugin "foreign-step": upper: invalid_output: changes is not a JSON object`},
		{"highest", "", "items", abi.ReasonDenied, `plugin "foreign-step": highest: denied: items[0]: priority 10 is not granted`},
	} {
		_, _, err := callStep(t, p, tc.function, steps.FunctionOptions{Input: tc.input, Output: tc.output})
		perr := checkReason(t, err, tc.code)
		if perr.Step != "s" || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("step %q, error %v\nwant  %s", perr.Step, err, tc.want)
		}
	}
	limited := load(t, shared(t), "foreign-step", host.PluginConfig{Limits: host.Limits{Items: 1}})
	_, _, err := callStep(t, limited, "items", steps.FunctionOptions{Output: "items"})
	checkReason(t, err, abi.ReasonOutputTooLarge)
	texts, _, err := callStep(t, p, "items", steps.FunctionOptions{Output: "items", Options: steps.Options{TopK: 1}})
	if err != nil || texts != "stay|one two|THREE|first" {
		t.Errorf("top_k 1: %s, error %v", texts, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s, err := steps.Function(p, "upper", steps.FunctionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Run(ctx, &pipeline.Query{Text: "q"}, nil)
	checkReason(t, err, abi.ReasonCancelled)
}

func TestBadFunctionSteps(t *testing.T) {
	foreign, own := load(t, shared(t), "foreign-step", host.PluginConfig{}), load(t, shared(t), "no-change", host.PluginConfig{})
	for _, tc := range []struct {
		p        *host.Plugin
		function string
		o        steps.FunctionOptions
		kind     error
	}{
		{own, "anchor_filter", steps.FunctionOptions{}, host.ErrNoOperation},
		{foreign, "uper", steps.FunctionOptions{}, host.ErrNoExport},
		{foreign, "upper", steps.FunctionOptions{Input: "file"}, host.ErrConfig},
		{foreign, "upper", steps.FunctionOptions{Output: "file"}, host.ErrConfig},
		{foreign, "upper", steps.FunctionOptions{Input: "text", Output: "items"}, host.ErrConfig},
		{foreign, "upper", steps.FunctionOptions{Options: steps.Options{Settings: map[string]any{"a": 1}}}, host.ErrConfig},
		{foreign, "upper", steps.FunctionOptions{Input: "request", Options: steps.Options{Reads: []string{"colour"}}}, host.ErrConfig},
		{foreign, "upper", steps.FunctionOptions{Input: "text", Options: steps.Options{Reads: []string{"text"}}}, host.ErrConfig},
		{foreign, "upper", steps.FunctionOptions{Input: "text", Options: steps.Options{Reads: []string{}}}, host.ErrConfig},
		{foreign, "upper", steps.FunctionOptions{Options: steps.Options{Reads: []string{"query_text"}}}, host.ErrConfig},
		{foreign, "upper", steps.FunctionOptions{Options: steps.Options{Scope: []pipeline.Source{pipeline.SourceSystem}}}, host.ErrConfig},
		{foreign, "upper", steps.FunctionOptions{Options: steps.Options{Timeout: -1}}, host.ErrConfig},
	} {
		if _, err := steps.Function(tc.p, tc.function, tc.o); !errors.Is(err, tc.kind) {
			t.Errorf("%s %+v: error %v (want %v)", tc.function, tc.o, err, tc.kind)
		}
	}
}

// All items of a step that is called once for each have the time of one call together.
func TestTextsShareATimeout(t *testing.T) {
	calls := 0
	h, err := host.New(config(t, host.Config{Functions: []host.Function{host.NewFunction(host.UserModule, "greet",
		func(context.Context, []byte) ([]byte, error) {
			calls++
			time.Sleep(30 * time.Millisecond)
			return nil, nil
		})}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	p := load(t, h, "calls-in-start", host.PluginConfig{Grants: host.Grants{Functions: []string{"greet"}}})
	step, err := steps.Function(p, "again", steps.FunctionOptions{Input: host.InputText, Options: steps.Options{Timeout: 200 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	calls = 0
	_, err = step.Run(t.Context(), &pipeline.Query{Text: "q"}, slices.Repeat(twoItems(), 25))
	perr := checkReason(t, err, abi.ReasonTimeout)
	if calls > 8 || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(perr.Error(), "of 50 items within 200ms") {
		t.Errorf("%d calls, error %v", calls, err)
	}
}
