package assemble

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/config"
)

// plugins are the plugins that one configuration calls, each loaded.
type plugins struct {
	config *config.Config
	loaded map[string]*loaded
	// owner is the generation that loaded them.
	owner *Generation
	// made are the Go components, by the path of their place.
	made map[string]made
}

// loaded is one plugin, or the error that says why it is not ready.
type loaded struct {
	spec   *spec.Spec
	plugin *host.Plugin
	err    error
	// kept is why the module of the generation before is used. nil: the module is that of now.
	kept error
	took time.Duration
}

// Load is the loading of one plugin.
type Load struct {
	Name string
	// Took is the time to compile and start it, including its init.
	Took time.Duration
	// Plugin is the plugin. It is nil if Err says why the plugin is not ready.
	Plugin *host.Plugin
	Err    error
	// Kept says why Plugin has the module of the generation before. nil: it has that of now.
	Kept error
}

// loads lists the plugins with the time each took, by name.
func (p *plugins) loads() []Load {
	list := make([]Load, 0, len(p.loaded))
	for _, name := range slices.Sorted(maps.Keys(p.loaded)) {
		l := p.loaded[name]
		list = append(list, Load{name, l.took, l.plugin, l.err, l.kept})
	}
	return list
}

// asUnavailable converts an error of the host into one that names plugin, operation and reason
// once each.
func asUnavailable(name string, op abi.Operation, err error) error {
	var typed *host.PluginError
	var unavailable *Unavailable
	if errors.As(err, &typed) || errors.As(err, &unavailable) {
		return err
	}
	text := strings.TrimPrefix(err.Error(), fmt.Sprintf("plugin %q: ", name))
	text = strings.TrimPrefix(text, string(op)+": ")
	text = strings.TrimPrefix(strings.Replace(text, host.ErrConfig.Error()+": ", "", 1), config.ErrInvalid.Error()+": ")
	return &Unavailable{Plugin: name, Operation: op, Code: reasonFor(err), Err: &renamed{text, err}}
}

// get returns the plugin of a use and the operation that the use calls.
func (p *plugins) get(u use) (*host.Plugin, abi.Operation, error) {
	l := p.loaded[u.Name]
	if l == nil { // a Go component
		return nil, u.op, fmt.Errorf("%w: %s", config.ErrInvalid, misplaced(u.Name, p.kind(&u.Use)))
	}
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
		return nil, u.op, asUnavailable(u.Name, u.op, err)
	}
	return l.plugin, op, nil
}

// stepOperations are the operations that can be a step.
var stepOperations = []abi.Operation{
	abi.OpRetrieve, abi.OpProcess, abi.OpFilter, abi.OpRerank, abi.OpTransformQuery, abi.OpClassify,
}

// errForeign is the error of using a module without the plugin contract where only plugins work.
var errForeign = fmt.Errorf("%w: the module does not implement the plugin contract (name the function a step calls, or call it with: anchor-host plugin call)", host.ErrNoOperation)

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
