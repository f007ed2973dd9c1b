package assemble

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/anchor/component"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/components"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/llm"
)

// made is the Go component of a place, or why there is none.
type made struct {
	*components.Made
	err error
}

// kind returns the kind of the Go component that a use names. It is empty if it names none.
func (p *plugins) kind(u *config.Use) components.Kind {
	if p.owner == nil {
		return ""
	}
	return p.owner.live.Kind(u.Name)
}

// make makes the Go components that a job of the configuration uses. It fails if one refuses its
// settings, or stands where none of its kind can. Other errors are those of the places.
func (p *plugins) make(ctx context.Context, j job) error {
	for _, u := range uses(p.config) {
		k := p.kind(&u.Use)
		if k == "" || u.job&j == 0 {
			continue
		}
		if found := misfits(u, k); len(found) > 0 {
			return u.placed(fmt.Errorf("%w: component %q: %s", config.ErrInvalid, u.Name, found[0].Message))
		}
		own, err := p.owner.live.Get(ctx, u.Name, u.Settings)
		switch {
		case ctx.Err() != nil && err != nil:
			return fmt.Errorf("make components: %w", ctx.Err())
		case errors.Is(err, component.ErrSettings):
			return u.placed(fmt.Errorf("%w: %w", config.ErrInvalid, err))
		}
		if p.made == nil {
			p.made = map[string]made{}
		}
		p.made[u.path] = made{own, err}
	}
	return p.services(ctx)
}

// services makes the Go embedders and models of the configuration. It fails if one refuses its settings. Other errors are
// logged, and are those of the calls.
func (p *plugins) services(ctx context.Context) error {
	for _, s := range p.config.InGo() {
		switch _, err := p.owner.live.Get(ctx, s.Use, s.Settings); {
		case errors.Is(err, component.ErrSettings):
			return fmt.Errorf("%s: %w: %w", s.Path, config.ErrInvalid, err)
		case err != nil:
			p.owner.options.Logger.Warn("component is not made, and is tried again when it is needed", "key", s.Path, "error", err)
		}
	}
	return nil
}

// asker returns a model in Go.
func (g *Generation) asker(name string, settings map[string]any) (llm.Asker, error) {
	made, err := g.live.Get(context.Background(), name, settings)
	if err != nil {
		return nil, err
	}
	return made.Asker(), nil
}

// placed names the place of a use in an error.
func (u *use) placed(err error) error {
	if u.stepName != "" {
		return &StepError{u.stepName, err}
	}
	return fmt.Errorf("%s: %w", u.path, err)
}

// unmade returns the error of the first Go component of a job that must answer and was not made.
func (p *plugins) unmade(j job) error {
	for _, u := range uses(p.config) {
		m, ok := p.made[u.path]
		if must := stated(p.config, &u.Use); ok && m.err != nil && u.job&j != 0 && must != nil && *must {
			return u.placed(m.err)
		}
	}
	return nil
}

// componentPart makes a part of the pipeline from the Go component of a path.
func componentPart[T any](b *builder, path string, get func(made) (T, error)) (t T, err error) {
	m := b.made[path]
	if err = m.err; err == nil {
		t, err = get(m)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return t, err
}

// componentStep makes the step of a Go component.
func (p *plugins) componentStep(path string, s *config.Step, out *pipeline.StepConfig) error {
	out.Timeout = time.Duration(s.Timeout)
	if p.kind(&s.Use) == components.Retriever {
		r, err := p.componentRetriever(path, s, &s.Use)
		out.Step = pipeline.RetrieverStep(r, s.TopK)
		return err
	}
	m := p.made[path]
	if m.err != nil {
		return m.err
	}
	out.Step = m.Step(len(s.Scope) == 0)
	if _, adds := out.Step.(pipeline.Appender); !adds {
		out.Step = pipeline.Scope(out.Step, seen(s.Scope)...)
	}
	return nil
}

// seen returns the sources whose items a Go step sees: all but those of the system by default, as
// for a plugin with process.
func seen(stated []string) []pipeline.Source {
	if len(stated) > 0 {
		return sources(stated)
	}
	return slices.DeleteFunc(slices.Clone(pipeline.Sources), func(s pipeline.Source) bool { return s == pipeline.SourceSystem })
}

// componentRetriever makes a retriever of a step that is a Go component.
func (p *plugins) componentRetriever(path string, s *config.Step, u *config.Use) (pipeline.Retriever, error) {
	m := p.made[path]
	if m.err != nil {
		return nil, m.err
	}
	return m.Retriever(components.Placement{Source: pipeline.Source(s.Source), Highest: s.MaxPriority, Timeout: p.timeout(s, u)}), nil
}

// componentProvider makes a provider that is a Go component.
func (b *builder) componentProvider(path string, p *config.Provider) agent.Provider {
	m := b.made[path]
	if m.err != nil {
		return failingProvider{failing{m.err}, p.Title(), p.Priority}
	}
	out := m.Provider(p.Title(), p.Priority)
	if must := stated(b.config, &p.Use); must != nil && *must {
		out = agent.RequireProvider(out)
	}
	if p.Timeout > 0 {
		out = agent.LimitProvider(out, time.Duration(p.Timeout))
	}
	return out
}

// timeout is the time limit of a call of a retriever that a step names. If the step itself calls a plugin, its own
// limit bounds only calls of that.
func (p *plugins) timeout(s *config.Step, u *config.Use) time.Duration {
	if p.config.CallsPlugin(s) {
		return time.Duration(u.Timeout)
	}
	return time.Duration(cmp.Or(u.Timeout, s.Timeout))
}

// misplaced is the error of a Go component where only a plugin can be.
func misplaced(name string, k components.Kind) string {
	return fmt.Sprintf("%q is a Go %s, which cannot be used here (name a plugin)", name, k)
}

// misfits returns what is wrong with a use of a Go component of a kind, settings aside.
func misfits(u use, k components.Kind) (found []config.Finding) {
	find := func(key, format string, args ...any) {
		at := u.path
		if key != "" {
			at = strict.Join(at, key)
		}
		found = append(found, config.Finding{Path: at, Message: fmt.Sprintf(format, args...)})
	}
	if !slices.Contains(kindsAt(u), k) {
		find("", "%s", misplaced(u.Name, k))
		return found
	}
	if u.step != nil && u.step.Reads != nil {
		find("reads", "reads needs a plugin (a Go %s sees everything; leave it out)", k)
	}
	if s := u.step; s != nil {
		for _, key := range []struct {
			name   string
			stated bool
		}{
			{"operation", s.Operation != ""}, {"function", s.Function != ""}, {"retrievers", len(s.Retrievers) > 0},
			{"routes", len(s.Routes) > 0}, {"default", s.Default != ""}, {"fusion", s.Fusion != ""},
			{"top_k", s.TopK != 0 && k == components.Step}, {"source", s.Source != "" && k == components.Step},
			{"max_priority", s.MaxPriority != 0 && k == components.Step}, {"scope", len(s.Scope) > 0 && k == components.Retriever},
		} {
			if key.stated {
				find(key.name, "has no meaning for %q, which is a Go %s (leave it out)", u.Name, k)
			}
		}
	}
	return found
}

// kindsAt returns the kinds of Go components that a place can use.
func kindsAt(u use) []components.Kind {
	switch {
	case u.step != nil:
		return []components.Kind{components.Step, components.Retriever}
	case u.op == abi.OpRetrieve:
		return []components.Kind{components.Retriever}
	case u.op == abi.OpMemory:
		return []components.Kind{components.Memory}
	case u.op == abi.OpFormat:
		return []components.Kind{components.Formatter}
	case u.op == abi.OpProvide:
		return []components.Kind{components.Provider}
	}
	return nil
}

// liveComponents returns the Go components of a generation with the configuration. The error lists what is wrong with
// their names, their places and their settings, with the positions in the file. set may be nil.
func liveComponents(l *config.Loaded, set *components.Set) (*components.Live, error) {
	live, v := set.Live(), &validator{loaded: l}
	v.services(live)
	if len(set.Names()) == 0 {
		return live, l.Place(v.findings).Err()
	}
	list := v.places()
	v.clashes(set, list)
	for _, u := range list {
		k := set.Kind(u.Name)
		if k == "" {
			continue
		}
		for _, f := range misfits(u, k) {
			v.find(f.Path, errors.New(f.Message))
		}
		if err := live.Allow(u.Name, u.Settings); err != nil {
			v.find(strict.Join(u.path, "settings"), fmt.Errorf("component %q: %w", u.Name, err))
		}
	}
	return live, l.Place(v.findings).Err()
}

// services finds embedders and models in Go that no program registers, and lets the others be made.
func (v *validator) services(live *components.Live) {
	for _, s := range v.loaded.InGo() {
		kind := components.Embedder
		if s.Model {
			kind = components.Model
		}
		if live.Kind(s.Use) != kind {
			v.find(s.Path+".use", fmt.Errorf("there is no Go %s %q (the program that opens the configuration must register it; the command has none)", kind, s.Use))
		} else if err := live.Allow(s.Use, s.Settings); err != nil {
			v.find(s.Path+".settings", fmt.Errorf("component %q: %w", s.Use, err))
		}
	}
}

// clashes finds Go components whose name means something else, too.
func (v *validator) clashes(set *components.Set, list []use) {
	entries, _, _ := spec.ReadNamed(v.loaded.PluginDir(), set.Names()...) // without a folder there is no plugin
	folder := map[string]string{}
	for i := range entries {
		folder[entries[i].Name] = entries[i].Path
	}
	for _, name := range set.Names() {
		at, other := "", ""
		if i := slices.IndexFunc(list, func(u use) bool { return u.Name == name }); i >= 0 {
			at = list[i].path
		}
		switch _, instance := v.loaded.Plugins.Instances[name]; {
		case instance:
			at, other = strict.Join("plugins.instances", name), "an instance"
		case v.loaded.IsSearch(name):
			at, other = strict.Join("retrievers", name), "an entry of retrievers"
		case slices.Contains(config.Reserved(), name):
			other = "built in"
		case folder[name] != "":
			other = "the plugin " + folder[name]
		default:
			continue
		}
		v.find(at, fmt.Errorf("%q is %s, and also a Go %s that the program registers (rename one of them)", name, other, set.Kind(name)))
	}
}
