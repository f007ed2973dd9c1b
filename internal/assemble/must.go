package assemble

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
)

// mustAll is the value of plugins.must with which every plugin must answer.
const mustAll = "all"

// stated returns what a configuration says of whether the plugin of a place must answer. The
// nearest statement counts: that of the place, of the instance, of all plugins. nil: nothing says it.
func stated(c *config.Config, u *config.Use) *bool {
	yes := true
	switch {
	case u.Must != nil:
		return u.Must
	case c.Plugins.Instances[u.Name].Must, c.Plugins.Must == mustAll:
		return &yes
	}
	return nil
}

// mustRun reports whether a step must answer, as the configuration says, or else the manifest of its plugin.
func (p *plugins) mustRun(step string) bool {
	c := p.config
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Name != step {
			continue
		}
		if s.Builtin() != "" {
			return s.Must != nil && *s.Must
		}
		if must := stated(c, &s.Use); must != nil {
			return *must
		}
		return c.CallsPlugin(s) && p.raises(use{Use: s.Use, op: abi.Operation(s.Operation), step: s})
	}
	return false
}

// Keep returns the configuration c of a request with steps of its own, with those steps of p that must
// answer added. They stay at their priority, after the steps of the request that have the same. A request may
// state such a step as it is.
func (p *Pipeline) Keep(c *config.Config) (*config.Config, error) {
	out := *c
	for _, s := range p.config.Steps {
		if !p.plugins.mustRun(s.Name) {
			continue
		}
		i := slices.IndexFunc(c.Steps, func(own config.Step) bool { return own.Name == s.Name })
		if i >= 0 && same(c.Steps[i], s) {
			out.Steps = slices.Clone(out.Steps)
			out.Steps[i] = s
			continue
		}
		if i >= 0 {
			return nil, fmt.Errorf("%w: steps[%d]: step %q must answer, so no request may replace it (leave it out: it runs in any case; or choose another name)", config.ErrInvalid, i, s.Name)
		}
		out.Steps = append(slices.Clip(out.Steps), s)
	}
	return &out, nil
}

// same reports whether a step of a request is a step of the configuration, whatever it says of must.
func same(own, s config.Step) bool {
	own.Must = s.Must
	return reflect.DeepEqual(own, s)
}

// GoRound returns an error if a step of a request adds items after a step of p that must answer has
// checked the others. own is compiled from what [Pipeline.Keep] returned.
func (p *Pipeline) GoRound(own *Pipeline) error {
	for i := range own.config.Steps {
		late := &own.config.Steps[i]
		if p.plugins.mustRun(late.Name) || !own.plugins.adds(late) {
			continue
		}
		for j := range p.config.Steps {
			kept := &p.config.Steps[j]
			if last := priority(p.parts.Steps[j]); p.plugins.mustRun(kept.Name) && p.plugins.checks(kept) && priority(own.parts.Steps[i]) > last {
				return fmt.Errorf("%w: steps[%d]: step %q may add items after step %q, which must answer, has run (give it a priority of at most %d)", config.ErrInvalid, i, late.Name, kept.Name, last)
			}
		}
	}
	return nil
}

func priority(s pipeline.StepConfig) int { return cmp.Or(s.Priority, pipeline.DefaultStepPriority) }

// adds reports whether a step may add items: it searches, or its operation may do anything.
func (p *plugins) adds(s *config.Step) bool {
	op := p.operation(s)
	return s.Builtin() == "" && op != abi.OpFilter && op != abi.OpRerank
}

// checks reports whether a step may change items or take them away.
func (p *plugins) checks(s *config.Step) bool {
	switch p.operation(s) {
	case abi.OpFilter, abi.OpRerank, abi.OpProcess:
		return true
	case "": // a function, or a plugin that is not ready; but no search
		return s.Builtin() != "" || p.config.CallsPlugin(s)
	}
	return false
}

// operation returns the operation of a step whose plugin is ready, or "".
func (p *plugins) operation(s *config.Step) abi.Operation {
	l := p.loaded[s.Use.Name]
	if !p.config.CallsPlugin(s) || s.Function != "" || l == nil || l.spec == nil {
		return ""
	}
	op, err := operation(l.spec, abi.Operation(s.Operation))
	if err != nil {
		return ""
	}
	return op
}

// Ready returns why a plugin that must answer is not ready.
func (p *Pipeline) Ready() error { return p.plugins.missing(jobBuild) }

// Ready returns why a plugin that must answer is not ready.
func (a *Agent) Ready() error { return a.plugins.missing(jobAgent) }

// missing returns the error of the first plugin of a job that must answer and is not ready.
func (p *plugins) missing(j job) error {
	for _, l := range p.loads() {
		if err := cmp.Or(l.Err, l.Kept); err != nil && p.needs(j, l.Name) {
			return placed(p.config, j, l.Name, err)
		}
	}
	return p.unmade(j)
}

// needs reports whether a job cannot be done without a plugin.
func (p *plugins) needs(j job, name string) bool {
	if p.config.Plugins.Instances[name].Must {
		return true
	}
	for _, u := range uses(p.config) {
		if u.Name != name || u.job&j == 0 {
			continue
		}
		if must := stated(p.config, &u.Use); must != nil && *must || must == nil && p.raises(u) {
			return true
		}
	}
	return false
}

// raises reports whether the manifest of the plugin of a step says that builds fail with it.
func (p *plugins) raises(u use) bool {
	l := p.loaded[u.Name]
	if u.step == nil || u.step.Function != "" || l == nil || l.spec == nil || l.spec.Foreign {
		return false
	}
	op, err := operation(l.spec, u.op)
	if err != nil {
		return false
	}
	o, err := l.spec.Operation(op)
	return err == nil && o.Defaults.OnError == string(pipeline.Raise)
}

// policy is what builds do when a part fails. usual holds if the configuration does not say it.
func policy(must *bool, usual pipeline.OnError) pipeline.OnError {
	switch {
	case must == nil:
		return usual
	case *must:
		return pipeline.Raise
	}
	return pipeline.Skip
}

// replaceable reports whether a tokenizer or a format may be replaced when it fails.
func replaceable(c *config.Choice) bool { return c.Use != nil && c.Use.Must != nil && !*c.Use.Must }

// Unguarded returns a warning for each step whose plugin screens, filters or redacts and may be
// skipped, so that what it should take away stays in the window: its operation is filter, or its
// manifest says that builds fail with it. A step that accepts this by must: false is not warned of,
// unless the manifest says otherwise.
func Unguarded(l *config.Loaded, pluginDir string) []string {
	v := &validator{loaded: l, warned: map[string]bool{}}
	list := v.places()
	if v.read(pluginDir, list) {
		for _, u := range list {
			v.unguarded(u)
		}
	}
	return v.warnings
}

// places lists the places that name plugins, those of pipelines included.
func (v *validator) places() []use {
	list := uses(&v.loaded.Config)
	for _, o := range v.loaded.Overlaid() {
		for _, u := range uses(o.Own) {
			u.path, _ = o.Place(u.path)
			list = append(list, u)
		}
	}
	return list
}

// unguarded warns of a step whose plugin screens, filters or redacts and may be skipped.
func (v *validator) unguarded(u use) {
	must := stated(&v.loaded.Config, &u.Use)
	if u.step == nil || u.step.Function != "" || must != nil && *must {
		return
	}
	instance := resolve(&v.loaded.Config, u.Name)
	found, missing := v.catalog.spec(instance.Plugin)
	if missing != nil || found.Foreign {
		return
	}
	op, err := operation(found, u.op)
	if err != nil {
		return
	}
	o, err := found.Operation(op)
	needed := err == nil && o.Defaults.OnError == string(pipeline.Raise)
	why := "filters items"
	switch {
	case needed:
		why = "should not be skipped, as its manifest says"
	case op != abi.OpFilter, must != nil:
		return
	}
	when := "fails or cannot be loaded"
	if needed && must == nil {
		when = "cannot be loaded"
	}
	v.warnings = append(v.warnings, fmt.Sprintf("warning: %s: plugin %q %s, and is skipped when it %s (add must: true to the step, or plugins: {must: all})", u.path, instance.Plugin, why, when))
}
