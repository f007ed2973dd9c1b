package tuning

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
)

// tunedWeights are the weights of a retriever that are tried.
var tunedWeights = []float64{1, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.5, 2, 3, 5}

// mergeTuning tunes the weights of a step. Each retriever is asked once for each query.
type mergeTuning struct {
	*Run
	step  *assemble.Tunable
	lists [][][]pipeline.Item // by retriever and query
}

// merge tunes the weights of the retrievers of a step.
func (t *Run) merge(ctx context.Context, step *assemble.Tunable) error {
	m := &mergeTuning{Run: t, step: step}
	if err := m.ask(ctx); err != nil {
		return &assemble.StepError{Step: step.Step.Name, Err: err}
	}
	parameters := make([]eval.Parameter, len(step.Parts))
	now := make([]float64, len(step.Parts))
	for i, p := range step.Parts {
		parameters[i] = eval.Parameter{Name: p.Name, Values: tunedWeights, Now: p.Weight}
		now[i] = p.Weight
	}
	if err := t.known(ctx, fmt.Sprintf("step %q", step.Step.Name), m.rank, now); err != nil {
		return err
	}
	values, err := t.Tuner.Tune(ctx, parameters, m.rank)
	if err != nil {
		return err
	}
	m.write(values)
	return m.report(ctx, parameters, now, values)
}

// ask collects what each retriever finds. Those of collections have their tuned values.
func (m *mergeTuning) ask(ctx context.Context) error {
	for i := range m.step.Parts {
		p := &m.step.Parts[i]
		var settings *config.Retriever
		if r, ok := m.tuned[p.Name]; ok {
			settings = &r
		}
		lists := make([][]pipeline.Item, len(m.Set.Queries))
		_, err := m.Tuner.Measure(ctx, func(ctx context.Context, query int, _ []float64) ([]string, error) {
			q := &pipeline.Query{Text: m.Set.Queries[query].Text}
			if p.Search != nil && m.vectors[p.Search.Collection] != nil {
				q.Embedding = m.vectors[p.Search.Collection][query]
			}
			var err error
			lists[query], err = p.Retrieve(ctx, q, p.TopK, settings)
			return nil, err
		}, nil)
		if err != nil {
			return err
		}
		m.lists = append(m.lists, lists)
	}
	return nil
}

// rank merges what the retrievers found.
func (m *mergeTuning) rank(_ context.Context, query int, weights []float64) ([]string, error) {
	lists := make([][]pipeline.Item, len(m.lists))
	for i := range m.lists {
		lists[i] = m.lists[i][query]
	}
	s := m.step.Step
	items, err := pipeline.Fuse(lists, pipeline.FuseOptions{
		Fusion: cmp.Or(pipeline.Fusion(s.Fusion), pipeline.FusionWeighted), Weights: weights,
	})
	return m.documents(items), err
}

// report measures each retriever alone, equal weights, the weights of the configuration, and the
// tuned ones.
func (m *mergeTuning) report(ctx context.Context, parameters []eval.Parameter, now, values []float64) error {
	result := eval.TuneResult{Kind: "step", Name: m.step.Step.Name}
	measure := func(name string, weights []float64, shown map[string]float64) (eval.Figures, error) {
		f, err := m.Tuner.Measure(ctx, m.rank, weights)
		if err == nil {
			result.Rows = append(result.Rows, m.Tuner.Row(name, shown, f))
		}
		return f, err
	}
	equal := slices.Repeat([]float64{1}, len(parameters))
	for i, p := range m.step.Parts {
		if err := m.alone(ctx, i, &result, p.Name+" alone"); err != nil {
			return err
		}
	}
	if _, err := measure(rowDefaults, equal, valuesByName(parameters, equal)); err != nil {
		return err
	}
	before, err := measure(rowNow, now, valuesByName(parameters, now))
	if err != nil {
		return err
	}
	after, err := measure(rowTuned, values, valuesByName(parameters, values))
	if err != nil {
		return err
	}
	result.Difference = m.compare(before, after)
	m.add(result, len(m.step.Parts))
	return nil
}

// alone measures one retriever.
func (m *mergeTuning) alone(ctx context.Context, part int, result *eval.TuneResult, name string) error {
	f, err := m.Tuner.Measure(ctx, func(_ context.Context, query int, _ []float64) ([]string, error) {
		return m.documents(m.lists[part][query]), nil
	}, nil)
	if err == nil {
		result.Rows = append(result.Rows, m.Tuner.Row(name, nil, f))
	}
	return err
}

// write writes the step with weights for the file. What a plugin has besides its name stays as it
// is in the configuration.
func (m *mergeTuning) write(weights []float64) {
	m.yaml = append(m.yaml, "  - name: "+strictKey(m.step.Step.Name))
	if f := m.step.Step.Fusion; f != "" {
		m.yaml = append(m.yaml, "    fusion: "+f)
	}
	m.yaml = append(m.yaml, "    retrievers: # keep the other keys of these retrievers")
	for i := range m.step.Step.Retrievers {
		r := &m.step.Step.Retrievers[i]
		m.yaml = append(m.yaml, fmt.Sprintf("      - {use: %s, weight: %s}", strictKey(r.Name), number(weights[i])))
	}
}

// plainKey matches names that YAML reads as they are.
var plainKey = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// reserved are plain words that YAML does not read as text.
var reserved = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// strictKey writes a name for a YAML file.
func strictKey(name string) string {
	if plainKey.MatchString(name) && !slices.Contains(reserved, strings.ToLower(name)) {
		return name
	}
	quoted, _ := json.Marshal(name) // a text can always be written
	return string(quoted)
}

// filterText writes a filter for a YAML file.
func filterText(list []config.Condition) string {
	var out []string
	for _, c := range list {
		values := make([]string, len(c.Values))
		for i, v := range c.Values {
			values[i] = strictKey(v)
		}
		op := ""
		if c.Op != "" {
			op = "op: " + strictKey(c.Op) + ", "
		}
		out = append(out, fmt.Sprintf("{field: %s, %svalues: [%s]}", strictKey(c.Field), op, strings.Join(values, ", ")))
	}
	return "[" + strings.Join(out, ", ") + "]"
}
