package assemble

import (
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
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// ItemsStep is the name of the step that appends the given items.
const ItemsStep = "items"

// firstPriority runs before every other step of the same priority when it is
// registered first; no step may be lower.
const firstPriority = 1

// steps makes the steps of the configuration.
func (p *plugins) steps() ([]pipeline.StepConfig, error) {
	var list []pipeline.StepConfig
	for i := range p.config.Steps {
		s := &p.config.Steps[i]
		step, err := p.step(fmt.Sprintf("steps[%d]", i), s)
		if err != nil {
			return nil, &StepError{s.Name, err}
		}
		list = append(list, step)
	}
	return list, nil
}

func itemsStep(given []pipeline.Item) pipeline.StepConfig {
	return pipeline.StepConfig{Name: ItemsStep, Priority: firstPriority, Step: pipeline.StepFunc(
		func(_ context.Context, _ *pipeline.Query, items []pipeline.Item) ([]pipeline.Item, error) {
			return slices.Concat(items, core.CloneItems(given)), nil
		})}
}

func (p *plugins) step(path string, s *config.Step) (pipeline.StepConfig, error) {
	out := pipeline.StepConfig{Name: s.Name, Priority: s.Priority, OnError: pipeline.OnError(s.OnError)}
	if s.Builtin != "" {
		out.Timeout = time.Duration(s.Timeout)
		var err error
		out.Step, err = builtin(s)
		return out, err
	}
	u := use{Use: s.Use(), path: path, op: abi.Operation(s.Operation), step: s}
	plugin, op, err := p.get(u)
	if err == nil {
		p.defaults(u, op, &out)
		out.Step, err = p.pluginStep(plugin, op, path, s)
	} else if !mistake(err) && s.Default != "" { // a classifier that is not ready fails, and its step has the default route
		out.Step, err = p.classified(failing{err}, path, s)
	}
	if out.OnError == "" {
		out.OnError = pipeline.Skip
	}
	if mistake(err) {
		return out, err
	}
	if err != nil {
		out.Step = failing{err}
	}
	return out, nil
}

// defaults fills in what the manifest states for steps that state nothing.
func (p *plugins) defaults(u use, op abi.Operation, out *pipeline.StepConfig) {
	name, _ := resolve(p.config, u.Use)
	o, err := p.loaded[name].spec.Operation(op)
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
	if s.Retriever == nil {
		return nil, lacks(plugin, abi.OpTransformQuery, "needs a retriever (add retriever: {plugin: …})")
	}
	transformer, err := steps.QueryTransformer(plugin, options)
	if err != nil {
		return nil, asUnavailable(plugin.Name(), abi.OpTransformQuery, err)
	}
	retriever, err := p.retriever(path+".retriever", s, *s.Retriever)
	if err != nil {
		return nil, err
	}
	return pipeline.QueryTransformStep(transformer, retriever, s.TopK), nil
}

// lacks is the error of a step that does not state what its operation needs.
func lacks(plugin *host.Plugin, op abi.Operation, what string) error {
	return &Unavailable{plugin.Name(), op, ReasonInvalidConfig, &renamed{what, config.ErrInvalid}}
}

func (p *plugins) classifyStep(plugin *host.Plugin, path string, s *config.Step, options steps.Options) (pipeline.Step, error) {
	if len(s.Routes) == 0 {
		return nil, lacks(plugin, abi.OpClassify, "needs routes (add routes: {label: {plugin: …}})")
	}
	classifier, err := steps.Classifier(plugin, options)
	if err != nil {
		return nil, asUnavailable(plugin.Name(), abi.OpClassify, err)
	}
	return p.classified(classifier, path, s)
}

// classified makes the step of a classifier.
func (p *plugins) classified(classifier pipeline.QueryClassifier, path string, s *config.Step) (pipeline.Step, error) {
	routes := make(map[string]pipeline.Retriever, len(s.Routes))
	for _, label := range slices.Sorted(maps.Keys(s.Routes)) {
		r, err := p.retriever(path+".routes."+label, s, s.Routes[label])
		if mistake(err) {
			return nil, err
		}
		if err != nil {
			r = failing{err} // only queries that take this route fail
		}
		routes[label] = r
	}
	return pipeline.ClassifiedStep(classifier, routes, s.Default, s.TopK), nil
}

// retriever makes the retriever that another step calls.
func (p *plugins) retriever(path string, s *config.Step, u config.Use) (pipeline.Retriever, error) {
	plugin, _, err := p.get(use{Use: u, path: path, op: abi.OpRetrieve})
	if err != nil {
		return nil, err
	}
	r, err := steps.Retriever(plugin, steps.Options{
		Step: s.Name, TopK: s.TopK, Settings: u.Settings, Source: pipeline.Source(s.Source),
		MaxPriority: s.MaxPriority, Reads: u.Reads, Timeout: time.Duration(u.Timeout),
	})
	if err != nil {
		return nil, asUnavailable(plugin.Name(), abi.OpRetrieve, err)
	}
	return r, nil
}

// failing stands for a step, or another part of a build, whose plugin is not ready: it fails as
// a call of the plugin would.
type failing struct{ err error }

// unready stands for a part whose error, from [part], names its place: whoever reports the
// failure does so too.
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

// Isolated says that failing changes nothing.
func (failing) Isolated() {}
