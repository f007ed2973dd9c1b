package assemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/steps"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/shadow"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// ItemsStep is the name of the step that appends the given items.
const ItemsStep = "items"

// firstPriority runs before every other step of the same priority when it is
// registered first; no step may be lower. A step that finds items, and for which neither the configuration nor a
// manifest has a priority, runs after changes of the query and before what works on items.
const firstPriority, retrievePriority = 1, 20

// steps makes the steps of the configuration.
func (p *plugins) steps() ([]pipeline.StepConfig, error) {
	var list []pipeline.StepConfig
	for i := range p.config.Steps {
		s := &p.config.Steps[i]
		step, err := p.step(fmt.Sprintf("steps[%d]", i), s)
		if err == nil {
			step, err = p.shadowed(fmt.Sprintf("steps[%d]", i), s, step)
		}
		if err != nil {
			return nil, &StepError{s.Name, err}
		}
		list = append(list, step)
	}
	return list, nil
}

// shadowed adds the second version of a step, if it has one.
func (p *plugins) shadowed(path string, s *config.Step, out pipeline.StepConfig) (pipeline.StepConfig, error) {
	if _, unready := out.Step.(failing); s.Shadow == nil || unready {
		return out, nil
	}
	made, err := p.step(path+".shadow", shadow.Second(s))
	if err == nil {
		out.Step, err = p.owner.Shadows.Wrap(out.Step, made.Step, s, shadow.JudgeOf(p.owner.Loaded, p.config), p.owner.Hold)
	}
	return out, err
}

// itemsStep appends the given items. A field that an item lacks has the default of items that a retriever finds.
func itemsStep(given []pipeline.Item) (pipeline.StepConfig, error) {
	given = core.CloneItems(given)
	for i := range given {
		it := &given[i]
		it.ID, it.Source = cmp.Or(it.ID, core.ContentID(it.Content)), cmp.Or(it.Source, pipeline.SourceRetrieval)
		it.Priority = cmp.Or(it.Priority, it.Source.DefaultPriority())
	}
	if err := core.ValidateItems(given); err != nil {
		return pipeline.StepConfig{}, fmt.Errorf("%w: %w", config.ErrInvalid, err)
	}
	return pipeline.StepConfig{Name: ItemsStep, Priority: firstPriority, Step: pipeline.StepFunc(
		func(_ context.Context, _ *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
			return slices.Concat(items, core.CloneItems(given)), nil
		})}, nil
}

func (p *plugins) step(path string, s *config.Step) (pipeline.StepConfig, error) {
	out := pipeline.StepConfig{Name: s.Name, Priority: s.Priority}
	if s.Builtin() != "" {
		out.OnError = policy(s.Must, pipeline.Raise)
		out.Timeout = time.Duration(s.Timeout)
		var err error
		out.Step, err = builtin(s)
		return out, err
	}
	out.OnError = policy(stated(p.config, &s.Use), "")
	err := p.fillStep(path, s, &out)
	if out.OnError == "" && !searches(p.config, s) {
		out.OnError = pipeline.Skip
	}
	if mistake(err) {
		return out, err
	}
	if err != nil {
		out.Step = failing{err}
	}
	if out.Priority == 0 && p.retrieves(s, out.Step) {
		out.Priority = retrievePriority
	}
	return out, nil
}

// retrieves reports whether a step finds items, and does not only work on those that are there.
func (p *plugins) retrieves(s *config.Step, made pipeline.Step) bool {
	_, appends := made.(pipeline.Appender)
	return appends || abi.Operation(s.Operation) == abi.OpRetrieve || p.config.IsSearch(s.Use.Name) || len(s.Retrievers) > 0
}

// fillStep makes the step of a configuration that calls plugins.
func (p *plugins) fillStep(path string, s *config.Step, out *pipeline.StepConfig) (err error) {
	switch {
	case s.Classifier != nil:
		out.Step, err = p.classified(pipeline.KeywordClassifier{Rules: s.Classifier.Keywords}, path, s)
		return err
	case p.kind(&s.Use) != "":
		return p.componentStep(path, s, out)
	case p.config.IsSearch(s.Use.Name):
		r, err := p.search(s, &s.Use)
		out.Step = pipeline.RetrieverStep(r, s.TopK)
		return err
	case s.Use.Name == "":
		r, err := p.hybrid(path, s)
		out.Step = pipeline.RetrieverStep(r, s.TopK)
		return err
	}
	u := use{Use: s.Use, path: path, op: abi.Operation(s.Operation), step: s}
	plugin, op, err := p.get(u)
	if err != nil && !mistake(err) && s.Default != "" { // if the classifier is not ready, the step uses the default route
		out.Step, err = p.classified(failing{err}, path, s)
		return err
	}
	if err != nil {
		return err
	}
	p.defaults(u, op, out)
	out.Step, err = p.pluginStep(plugin, op, path, s)
	return err
}

// hybrid makes the retrievers of a step that run together. A retriever whose plugin is not ready
// is left out of each build and logged, like one whose call fails, unless the step must answer.
func (p *plugins) hybrid(path string, s *config.Step) (*pipeline.Hybrid, error) {
	must := stated(p.config, &s.Use)
	h := &pipeline.Hybrid{Fusion: pipeline.Fusion(s.Fusion), Must: must != nil && *must}
	for i := range s.Retrievers {
		m := &s.Retrievers[i]
		u := m.Use()
		r, err := p.retriever(fmt.Sprintf("%s.retrievers[%d]", path, i), s, u, m.TopK)
		if mistake(err) {
			return nil, err
		}
		if err != nil {
			r = failing{err}
		}
		part := pipeline.HybridPart{Name: m.Name, Retriever: r, Weight: m.Weight, TopK: m.TopK}
		if p.kind(u) != "" { // the host bounds calls of plugins
			part.Timeout = p.timeout(s, u)
		}
		h.Parts = append(h.Parts, part)
	}
	return h, nil
}

// defaults sets values of the manifest that the step does not state.
func (p *plugins) defaults(u use, op abi.Operation, out *pipeline.StepConfig) {
	o, err := p.loaded[u.Name].spec.Operation(op)
	if err != nil {
		return
	}
	if out.Priority == 0 {
		out.Priority = o.Defaults.Priority
	}
	if out.OnError == "" {
		out.OnError = pipeline.OnError(o.Defaults.OnError)
	}
}

// pluginStep makes a step of a plugin that is ready.
func (p *plugins) pluginStep(plugin *host.Plugin, op abi.Operation, path string, s *config.Step) (pipeline.Step, error) {
	options := steps.Options{
		Step: s.Name, TopK: s.TopK, Settings: s.Settings, Scope: sources(s.Scope),
		Source: pipeline.Source(s.Source), MaxPriority: s.MaxPriority, Reads: s.Reads,
		Timeout: time.Duration(s.Timeout),
	}
	if s.Function != "" {
		step, err := steps.Function(plugin, s.Function, steps.FunctionOptions{Options: options, Input: s.Input, Output: s.Output})
		if err != nil {
			return nil, asUnavailable(plugin.Name(), abi.Operation(s.Function), err)
		}
		return step, nil
	}
	switch op {
	case abi.OpTransformQuery:
		return p.transformStep(plugin, path, s, options)
	case abi.OpClassify:
		return p.classifyStep(plugin, path, s, options)
	}
	step, err := steps.New(plugin, op, options)
	if err != nil {
		return nil, asUnavailable(plugin.Name(), op, err)
	}
	return step, nil
}

func (p *plugins) transformStep(plugin *host.Plugin, path string, s *config.Step, options steps.Options) (pipeline.Step, error) {
	if len(s.Retrievers) == 0 {
		return nil, lacks(plugin, abi.OpTransformQuery, "needs a retriever (add retrievers: [NAME])")
	}
	transformer, err := steps.QueryTransformer(plugin, options)
	if err != nil {
		return nil, asUnavailable(plugin.Name(), abi.OpTransformQuery, err)
	}
	var retriever pipeline.Retriever
	if one := p.config.Single(s); one != nil {
		retriever, err = p.retriever(path+".retrievers[0]", s, one, s.Retrievers[0].TopK)
	} else {
		retriever, err = p.hybrid(path, s)
	}
	if err != nil {
		return nil, err
	}
	return pipeline.QueryTransformStep(transformer, retriever, s.TopK), nil
}

// lacks returns the error of a step that lacks something its operation needs.
func lacks(plugin *host.Plugin, op abi.Operation, what string) error {
	return &Unavailable{plugin.Name(), op, ReasonInvalidConfig, &renamed{what, config.ErrInvalid}}
}

func (p *plugins) classifyStep(plugin *host.Plugin, path string, s *config.Step, options steps.Options) (pipeline.Step, error) {
	if len(s.Routes) == 0 {
		return nil, lacks(plugin, abi.OpClassify, "needs routes (add routes: {LABEL: NAME})")
	}
	classifier, err := steps.Classifier(plugin, options)
	if err != nil {
		return nil, asUnavailable(plugin.Name(), abi.OpClassify, err)
	}
	return p.classified(classifier, path, s)
}

// classified makes the step of a classifier.
func (p *plugins) classified(classifier pipeline.QueryClassifier, path string, s *config.Step) (pipeline.Step, error) {
	routes, err := p.routes(path, s)
	if err != nil {
		return nil, err
	}
	return pipeline.ClassifiedStep(classifier, routes, s.Default, s.TopK), nil
}

// routes makes the retrievers of the labels. If the plugin of a route is not ready, queries that
// take this route fail.
func (p *plugins) routes(path string, s *config.Step) (map[string]pipeline.Retriever, error) {
	routes := make(map[string]pipeline.Retriever, len(s.Routes))
	for _, label := range slices.Sorted(maps.Keys(s.Routes)) {
		route := s.Routes[label]
		r, err := p.retriever(strict.Join(path+".routes", label), s, route.Use(), 0)
		if mistake(err) {
			return nil, err
		}
		if err != nil {
			r = failing{err}
		}
		routes[label] = r
	}
	return routes, nil
}

// retriever makes a retriever that a step calls. topK is the maximum number of its results; 0
// means top_k of the step.
func (p *plugins) retriever(path string, s *config.Step, u *config.Use, topK int) (pipeline.Retriever, error) {
	switch {
	case p.config.IsSearch(u.Name):
		return p.search(s, u)
	case p.kind(u) != "":
		return p.componentRetriever(path, s, u)
	}
	plugin, _, err := p.get(use{Use: *u, path: path, op: abi.OpRetrieve})
	if err != nil {
		return nil, err
	}
	reads := s.Reads
	if p.config.CallsPlugin(s) {
		reads = nil // they are those of the plugin of the step itself
	}
	options := steps.Options{
		Step: s.Name, Reads: reads, TopK: cmp.Or(topK, s.TopK), Settings: u.Settings, Source: pipeline.Source(s.Source),
		MaxPriority: s.MaxPriority, Timeout: p.timeout(s, u),
	}
	if len(s.Retrievers) > 0 && p.config.Single(s) == nil {
		options.IDs = s.Name
	}
	r, err := steps.Retriever(plugin, options)
	if err != nil {
		return nil, asUnavailable(plugin.Name(), abi.OpRetrieve, err)
	}
	return r, nil
}

// failing replaces a step, or another part of a build, whose plugin is not ready. It fails as a
// call of the plugin would.
type failing struct{ err error }

// unready returns a part that always fails. It removes the place from an error of [part], because
// the code that reports the failure adds the place.
func unready(err error) failing {
	if cause := errors.Unwrap(err); cause != nil {
		err = cause
	}
	return failing{err}
}

// Run fails.
func (f failing) Run(context.Context, *pipeline.Query, []pipeline.Item) ([]pipeline.Item, error) {
	return nil, f.err
}

// Retrieve fails.
func (f failing) Retrieve(context.Context, *pipeline.Query, int) ([]pipeline.Item, error) {
	return nil, f.err
}

// Classify fails.
func (f failing) Classify(context.Context, *pipeline.Query) (string, error) {
	return "", f.err
}

// Format fails.
func (f failing) Format(context.Context, *pipeline.Window) (any, error) {
	return nil, f.err
}

// FormatType is the name of the plugin.
func (f failing) FormatType() string { return pipeline.PluginOf(f.err) }

// Name is the name of the plugin.
func (f failing) Name() string { return pipeline.PluginOf(f.err) }

// Count fails.
func (f failing) Count(context.Context, ...string) ([]int, error) {
	return nil, f.err
}

// Truncate fails.
func (f failing) Truncate(context.Context, string, int) (string, error) {
	return "", f.err
}

// Items fails.
func (f failing) Items(context.Context, *pipeline.Query) ([]pipeline.Item, error) {
	return nil, f.err
}

// Enrich fails.
func (f failing) Enrich(context.Context, string, []pipeline.Item) (string, error) {
	return "", f.err
}

// Observe fails.
func (f failing) Observe(context.Context, agent.Observing) (*agent.Observed, error) {
	return nil, f.err
}

// Reflect fails.
func (f failing) Reflect(context.Context, agent.Reflecting) (string, error) { return "", f.err }

// Compact fails.
func (f failing) Compact(context.Context, []pipeline.Turn, string) (string, error) {
	return "", f.err
}

// Isolated declares that failing does not change its input.
func (failing) Isolated() {}
