package assemble

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/pipeline"
)

// plugins are the plugins of one configuration, each loaded once.
type plugins struct {
	config  *config.Config
	job     job
	options Options
	catalog *catalog
	host    *host.Host
	loaded  map[string]*loaded
	// tokenizer is the built-in tokenizer, nil when a plugin counts.
	tokenizer pipeline.Tokenizer
}

// loaded is one plugin: ready, or not and why.
type loaded struct {
	spec   *spec.Spec
	plugin *host.Plugin
	err    error
	took   time.Duration
}

// load makes every plugin ready that the job may call. It
// fails for required instances and for configurations that the plugin or the
// host refuses; other plugins that fail, those whose granted folder is missing
// among them, are remembered as such.
func (p *plugins) load(ctx context.Context) error {
	wanted := p.wanted()
	if len(wanted) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(wanted))
	var modules []string
	for _, name := range names {
		modules = append(modules, modulesOf(wanted[name])...)
	}
	p.catalog = readCatalog(p.options.PluginDir, p.options.CacheDir, modules)
	var wg sync.WaitGroup
	for _, name := range names {
		l := &loaded{}
		p.loaded[name] = l
		wg.Go(func() {
			start := time.Now()
			l.spec, l.plugin, l.err = p.open(ctx, name, wanted[name])
			l.took = time.Since(start)
		})
	}
	wg.Go(func() { p.warm(ctx) })
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("load plugins: %w", err)
	}
	for _, name := range names {
		err := p.loaded[name].err
		switch {
		case err == nil:
		case p.config.Instances[name].Required:
			return fmt.Errorf("required instance %q: %w", name, err)
		case mistake(err):
			return p.placed(name, err)
		}
	}
	return nil
}

// placed names the first place that uses an instance.
func (p *plugins) placed(instance string, err error) error {
	for _, u := range uses(p.config) {
		name, _ := resolve(p.config, u.Use)
		switch {
		case name != instance || u.job&p.job == 0:
		case u.stepName != "":
			return &StepError{u.stepName, err}
		default:
			return fmt.Errorf("%s: %w", u.path, err)
		}
	}
	return err
}

// warm has the tokenizer load its vocabulary while plugins start. A failure
// shows when something is counted.
func (p *plugins) warm(ctx context.Context) {
	if p.tokenizer != nil {
		_, _ = p.tokenizer.Count(ctx, "a")
	}
}

// loads lists the plugins with the time each took, by name.
func (p *plugins) loads() []Load {
	list := make([]Load, 0, len(p.loaded))
	for _, name := range slices.Sorted(maps.Keys(p.loaded)) {
		list = append(list, Load{name, p.loaded[name].took})
	}
	return list
}

// wanted returns the instances that the job uses or requires, by name.
func (p *plugins) wanted() map[string]config.Instance {
	wanted := map[string]config.Instance{}
	for _, u := range uses(p.config) {
		if name, instance := resolve(p.config, u.Use); u.job&p.job != 0 {
			wanted[name] = instance
		}
	}
	for name, instance := range p.config.Instances {
		if instance.Required {
			wanted[name] = instance
		}
	}
	return wanted
}

func (p *plugins) open(ctx context.Context, name string, instance config.Instance) (*spec.Spec, *host.Plugin, error) {
	spec, missing := p.catalog.spec(instance.Plugin)
	if missing != nil {
		missing.Plugin = name
		return nil, nil, missing
	}
	err := checkDigest(instance, spec)
	if spec.Foreign && !p.hasFunctions(name) {
		err = errForeign
	}
	if err != nil {
		return nil, nil, &Unavailable{Plugin: name, Code: ReasonInvalidPlugin, Err: err}
	}
	cfg := pluginConfig(name, instance, p.options.Path)
	if cfg.Links, _, missing = p.catalog.links(instance); missing != nil {
		missing.Plugin = name
		return spec, nil, missing
	}
	plugin, err := p.host.Load(ctx, spec, cfg)
	if err != nil {
		return spec, nil, asUnavailable(name, "", err)
	}
	return spec, plugin, nil
}

// modulesOf are the modules of an instance: its plugin, and what that links to.
func modulesOf(i config.Instance) []string {
	return append([]string{i.Plugin}, slices.Sorted(maps.Values(i.Links))...)
}

// hasFunctions reports whether a step calls a function of an instance by name.
func (p *plugins) hasFunctions(instance string) bool {
	return slices.ContainsFunc(p.config.Steps, func(s config.Step) bool {
		name, _ := resolve(p.config, s.Use())
		return s.Function != "" && name == instance
	})
}

// checkDigest refuses a module and a plugin.yaml that are not the pinned ones.
func checkDigest(instance config.Instance, spec *spec.Spec) error {
	if instance.Digest == "" {
		return nil
	}
	return spec.CheckPin(instance.Digest)
}

// asUnavailable makes every error of the host one that names plugin, operation and
// reason, each once.
func asUnavailable(name string, op abi.Operation, err error) error {
	var typed *host.PluginError
	var unavailable *Unavailable
	if errors.As(err, &typed) || errors.As(err, &unavailable) {
		return err
	}
	text := strings.TrimPrefix(err.Error(), fmt.Sprintf("plugin %q: ", name))
	text = strings.TrimPrefix(text, string(op)+": ")
	text = strings.Replace(text, host.ErrConfig.Error()+": ", "", 1)
	return &Unavailable{Plugin: name, Operation: op, Code: reasonFor(err), Err: &renamed{text, err}}
}

// get returns the plugin of a use, and the operation the use means.
func (p *plugins) get(u use) (*host.Plugin, abi.Operation, error) {
	name, _ := resolve(p.config, u.Use)
	l := p.loaded[name]
	if l.err != nil {
		var unavailable *Unavailable
		if errors.As(l.err, &unavailable) && unavailable.Operation == "" {
			named := *unavailable
			named.Operation = u.op
			return nil, u.op, &named
		}
		return nil, u.op, l.err
	}
	if u.step != nil && u.step.Function != "" {
		return l.plugin, "", nil
	}
	op, err := operation(l.spec, u.op)
	if err != nil {
		return nil, u.op, asUnavailable(name, u.op, err)
	}
	return l.plugin, op, nil
}

// stepOperations are the operations that can be a step.
var stepOperations = []abi.Operation{
	abi.OpRetrieve, abi.OpProcess, abi.OpFilter, abi.OpRerank, abi.OpTransformQuery, abi.OpClassify,
}

// errForeign is the error of a module that can be called, but has no place in a
// build.
var errForeign = fmt.Errorf("%w: the module does not speak the plugin contract (name the function a step calls, or call it with: anchor-host plugin call)", host.ErrNoOperation)

// errAmbiguous marks a step that must name its operation.
var errAmbiguous = errors.New("several operations")

// operation returns the wanted operation, or the only one of the plugin that
// can be a step.
func operation(plugin *spec.Spec, wanted abi.Operation) (abi.Operation, error) {
	if plugin.Foreign {
		return "", errForeign
	}
	if wanted != "" {
		if _, err := plugin.Operation(wanted); err != nil {
			return "", fmt.Errorf("%w (the plugin offers %s)", host.ErrNoOperation, operationNames(plugin.Operations))
		}
		return wanted, nil
	}
	var found []spec.Operation
	for _, o := range plugin.Operations {
		if slices.Contains(stepOperations, o.Operation) {
			found = append(found, o)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%w that can be a step (the plugin offers %s)", host.ErrNoOperation, operationNames(plugin.Operations))
	case 1:
		return found[0].Operation, nil
	}
	return "", fmt.Errorf("%w: %w (add operation: %s)", config.ErrInvalid, errAmbiguous, strings.ReplaceAll(operationNames(found), ", ", " or "))
}

func operationNames(ops []spec.Operation) string {
	names := make([]string, len(ops))
	for i, o := range ops {
		names[i] = string(o.Operation)
	}
	return strings.Join(names, ", ")
}
