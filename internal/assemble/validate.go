package assemble

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/components"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/grants"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/tokens"
)

// Validate checks a configuration against the plugin folder: that the plugins that must answer exist, that those
// that exist offer the operations that are used, that they are those of anchor.lock, that settings match their schemas,
// and that grants match the permissions that the plugins ask for. It runs nothing. The error lists all mistakes with their
// positions in the file, but those that [CheckStart] reports. Warnings report things that an operator
// should know but that make nothing fail.
//
// parts are the Go components that will be registered, each with what checks its settings.
func Validate(l *config.Loaded, pluginDir string, parts ...map[string]func(map[string]any) error) (warnings []string, err error) {
	v := &validator{loaded: l, warned: map[string]bool{}}
	v.values(func(key string) string { return key }, func(...string) bool { return true }, &l.Config)
	v.services((*components.Set)(nil).Live())
	for _, o := range l.Overlaid() {
		v.overlaid(o)
	}
	list := slices.DeleteFunc(v.places(), func(u use) bool {
		i := slices.IndexFunc(parts, func(p map[string]func(map[string]any) error) bool { return p[u.Name] != nil })
		if i < 0 {
			return false
		}
		if err := parts[i][u.Name](u.Settings); err != nil {
			v.find(strict.Join(u.path, "settings"), err)
		}
		return true
	})
	if v.read(pluginDir, list) {
		for _, note := range v.catalog.notes {
			v.warnings = append(v.warnings, "note: "+note)
		}
	}
	v.used = list
	for _, name := range slices.Sorted(maps.Keys(l.Plugins.Instances)) {
		v.instance(name, l.Plugins.Instances[name])
	}
	for _, u := range list {
		v.use(u)
		v.unguarded(u)
	}
	for i := range l.Steps {
		v.builtin(fmt.Sprintf("steps[%d]", i), &l.Steps[i])
	}
	return v.warnings, l.Place(v.findings).Err()
}

// overlaid checks a named pipeline, but for its plugins.
func (v *validator) overlaid(o config.Overlaid) {
	v.values(func(key string) string { at, _ := o.Place(key); return at }, o.States, o.Config)
	for i := range o.Own.Steps {
		at, _ := o.Place(fmt.Sprintf("steps[%d]", i))
		v.builtin(at, &o.Own.Steps[i])
	}
}

// read reads the plugins of all instances and of the given uses. It reports whether there are any.
func (v *validator) read(pluginDir string, list []use) bool {
	var names []string
	for _, i := range v.loaded.Plugins.Instances {
		names = append(names, modulesOf(i)...)
	}
	for _, u := range list {
		names = append(names, resolve(&v.loaded.Config, u.Name).Plugin)
	}
	if len(names) == 0 {
		return false
	}
	v.catalog = readCatalog(pluginDir, v.loaded.CachePath(), names, Guard(v.loaded))
	v.catalog.others = append(v.catalog.others, v.loaded.UseNames()...)
	return true
}

type validator struct {
	loaded   *config.Loaded
	catalog  *catalog
	findings []config.Finding
	warnings []string
	// used are all places that name plugins.
	used []use
	// warned holds the plugins that have been reported.
	warned map[string]bool
	// top holds the mistakes in values at the top level of the file, which pipelines inherit.
	top []string
}

func (v *validator) find(path string, err error) {
	if len(v.findings) < config.MaxFindings {
		v.findings = append(v.findings, config.Finding{Path: path, Message: strict.Message("%v", err)})
	}
}

// values checks values that must fit each other, if any of them is stated. Mistakes in inherited
// values are reported once.
func (v *validator) values(place func(key string) string, states func(keys ...string) bool, c *config.Config) {
	for _, value := range []struct {
		key   string
		check func(*config.Config) error
		of    []string
	}{
		{"window.budget", window, []string{"window.budget", "window.answer", "window.max_tokens", "window.system_prompts"}},
		{"counting.calibration", v.calibration, []string{"counting.calibration", "counting.model", "counting.tokenizer"}},
		{"counting.tokenizer.file", v.file, []string{"counting.model", "counting.tokenizer"}},
	} {
		if !states(value.of...) {
			continue
		}
		err := value.check(c)
		if err == nil {
			continue
		}
		err = unwrapInvalid(err)
		switch {
		case c == &v.loaded.Config:
			v.top = append(v.top, err.Error())
		case slices.Contains(v.top, err.Error()):
			continue
		}
		if key, text, ok := strings.Cut(err.Error(), ": "); ok && strings.HasPrefix(key, "window.") {
			value.key, err = key, errors.New(text)
		}
		v.find(place(value.key), err)
	}
}

// calibration reads the figures of a calibration.
func (v *validator) calibration(c *config.Config) error {
	if c.Calibration == "" || c.Tokenizer.File != "" {
		return nil
	}
	t, err := pipeline.ModelTokenizer(c.Model)
	if err != nil && !errors.Is(err, tokens.ErrUnknownModel) {
		return err
	}
	e, ok := t.(*tokens.Estimator)
	if !ok {
		return nil // Check has already reported it
	}
	_, _, err = observe(e, v.loaded.Path(c.Calibration), c.Model)
	return err
}

// file reads the file of a tokenizer, and warns of a model that is not known.
func (v *validator) file(c *config.Config) error {
	if c.Tokenizer.File != "" {
		_, err := pipeline.FileTokenizer(v.loaded.Path(c.Tokenizer.File))
		return err
	}
	if _, err := tokens.LookupModel(c.Model); c.Model != "" && err != nil && !v.warned["model "+c.Model] {
		v.warned["model "+c.Model] = true
		v.warnings = append(v.warnings, "warning: "+err.Error())
	}
	return nil
}

// window checks the budget against the size of the window.
func window(c *config.Config) error {
	b, err := BudgetOf(c)
	if err == nil {
		_, err = answerTokens(c, b)
	}
	if err == nil {
		_, err = pipeline.New(pipeline.Config{
			MaxTokens: c.MaxTokens, Budget: b, SystemPrompts: systemPrompts(c.SystemPrompts),
			Tokenizer: pipeline.WordTokenizer(),
		})
	}
	return err
}

// unwrapInvalid removes ErrInvalid from an error that gets a position in the file anyway.
func unwrapInvalid(err error) error {
	return errors.New(strings.TrimPrefix(err.Error(), config.ErrInvalid.Error()+": "))
}

// instance checks an instance against its plugin.
func (v *validator) instance(name string, i config.Instance) {
	at := "plugins.instances." + name
	spec, missing := v.catalog.spec(i.Plugin)
	if missing != nil {
		v.absent(at+".plugin", name, missing)
		return
	}
	if i.Digest != "" {
		if err := spec.CheckPin(i.Digest); err != nil {
			v.find(at+".digest", err)
		}
	}
	if links, link, missing := v.catalog.links(i); missing != nil {
		v.absent(at+".links."+link, name, missing)
	} else if err := host.CheckLinks(spec, links, i.WASI); err != nil {
		v.find(atLinks(at, i), err)
	}
	if err := Limits(i.Limits).Check(); err != nil {
		v.find(at+".limits", err)
	}
	v.grants(at, name, i.Grants)
	if spec.Foreign {
		return
	}
	if err := checkSettings(spec, abi.OpInit, i.Settings); err != nil {
		v.find(at+".settings", err)
	}
	for _, note := range grants.Compare(spec.Manifest.Permissions, i.Grants) {
		v.warnings = append(v.warnings, fmt.Sprintf("warning: instance %q %s", name, note))
	}
	if g := i.Grants.HTTP; g != nil && slices.ContainsFunc(spec.Manifest.Permissions, func(p manifest.Permission) bool { return p.Hosts.FromGrant() }) {
		v.warnings = append(v.warnings, fmt.Sprintf("note: instance %q: its plugin leaves the hosts to the grant (%s): %s", name, manifest.FromGrant, strings.Join(g.Hosts, ", ")))
	}
}

// absent reports a plugin that cannot be read. One that is not there is a warning if a service starts without
// it; anything else is a mistake.
func (v *validator) absent(path, name string, missing *Unavailable) {
	c := &v.loaded.Config
	needed := c.Plugins.Instances[name].Must || missing.Code != ReasonNotFound
	for _, u := range v.used {
		if u.Name != name {
			continue
		}
		must := stated(c, &u.Use)
		needed = needed || must != nil && *must || must == nil && (u.op == abi.OpCountTokens || u.op == abi.OpFormat)
	}
	if needed {
		v.find(path, missing)
		return
	}
	there := v.loaded.Place([]config.Finding{{Path: path, Message: strict.Message("%v", missing)}})
	v.warnings = append(v.warnings, fmt.Sprintf("warning: %v; it is skipped (add must: true to refuse a start without it)", there.Err()))
}

// grants checks grants. A problem with a folder is only a warning, because the folder may exist
// when a build starts.
func (v *validator) grants(at, name string, g config.Grants) {
	for _, err := range CheckGrants(g, v.loaded.Path) {
		if errors.Is(err, host.ErrFolder) {
			v.warnings = append(v.warnings, fmt.Sprintf("warning: instance %q: %v", name, err))
			continue
		}
		if _, there := unresolved(err); !there { // CheckStart reports those
			v.find(at, err)
		}
	}
}

// CheckGrants returns the mistakes in grants and the problems with their folders. Errors about
// folders wrap host.ErrFolder. path resolves paths of the configuration.
func CheckGrants(g config.Grants, path func(string) string) []error {
	var errs []error
	r := resolver{path: path}
	out := r.grants(g)
	if r.err != nil {
		errs = append(errs, r.err)
	} else if err := out.Check(); err != nil {
		errs = append(errs, err)
	}
	return append(errs, out.CheckFolders()...)
}

// atLinks returns the path for an error about the imports of an instance: its links if it has
// any, otherwise the instance.
func atLinks(at string, i config.Instance) string {
	if len(i.Links) == 0 {
		return at
	}
	return strict.Join(at, "links")
}

// use checks that the plugin at a place offers what the place needs.
func (v *validator) use(u use) {
	instance := resolve(&v.loaded.Config, u.Name)
	_, instanced := v.loaded.Plugins.Instances[u.Name]
	spec, missing := v.catalog.spec(instance.Plugin)
	if missing != nil {
		if !instanced && !v.warned[u.Name] {
			v.absent(u.path, u.Name, missing)
			v.warned[u.Name] = true
		}
		return // mistakes in an instance are reported at the instance
	}
	if !instanced {
		if err := host.CheckLinks(spec, nil, false); err != nil {
			v.find(u.path, fmt.Errorf("plugin %q: %w", instance.Plugin, err))
			return
		}
		v.ungranted(spec, instance.Plugin)
	}
	if u.step != nil && u.step.Function != "" {
		if err := host.CheckFunction(spec, u.step.Function, u.step.Input, u.step.Output); err != nil {
			v.find(strict.Join(u.path, "function"), fmt.Errorf("plugin %q: %q: %w", instance.Plugin, u.step.Function, err))
		}
		return
	}
	op, err := operation(spec, u.op)
	if err != nil {
		v.find(u.path, fmt.Errorf("plugin %q: %w", instance.Plugin, unwrapInvalid(err)))
		return
	}
	if err := checkSettings(spec, op, u.Settings); err != nil {
		v.find(strict.Join(u.path, "settings"), err)
	}
	if u.step != nil {
		if err := checkReads(spec, op, u.step.Reads); err != nil {
			v.find(strict.Join(u.path, "reads"), err)
		}
	}
	v.relation(u, op)
}

// checkReads checks the reads that an operator allows an operation, as the host does when it
// prepares the operation.
func checkReads(spec *spec.Spec, op abi.Operation, names []string) error {
	_, parts, err := abi.NarrowedReads(op, names)
	if err != nil {
		return err
	}
	if o, err := spec.Operation(op); err == nil {
		if missing := o.Parts.And(parts).Missing(op); len(missing) > 0 {
			return fmt.Errorf("name %s: the answer replaces what it stands for", missing[0])
		}
	}
	return nil
}

// ungranted warns once about the permissions that a plugin without an instance asks for.
func (v *validator) ungranted(spec *spec.Spec, plugin string) {
	if spec.Foreign || v.warned[plugin] {
		return
	}
	v.warned[plugin] = true
	for _, note := range grants.Compare(spec.Manifest.Permissions, config.Grants{}) {
		v.warnings = append(v.warnings, fmt.Sprintf("warning: plugin %q %s (name an instance of it, with grants)", plugin, note))
	}
}

// relation checks that transform_query and classify steps have a retriever or routes, if the step
// does not state its operation.
func (v *validator) relation(u use, op abi.Operation) {
	switch {
	case u.step == nil:
	case op == abi.OpTransformQuery && len(u.step.Retrievers) == 0:
		v.find(u.path, errors.New("transform_query needs a retriever (add retrievers: [NAME])"))
	case op == abi.OpClassify && len(u.step.Routes) == 0:
		v.find(u.path, errors.New("classify needs routes (add routes: {LABEL: NAME})"))
	case op != abi.OpTransformQuery && len(u.step.Retrievers) > 0:
		v.find(u.path, fmt.Errorf("retrievers excludes a plugin with %s (leave out the plugin, or name it in retrievers)", op))
	}
}

func (v *validator) builtin(path string, s *config.Step) {
	if s.Builtin() == "" {
		return
	}
	if _, err := builtinChange(s); err != nil {
		v.find(strict.Join(path, "settings"), errors.New(strings.TrimPrefix(err.Error(), "settings: ")))
	}
}

// checkSettings checks settings against a schema of a manifest, as the host does when it loads
// the plugin. The error does not name the place in the file; the caller adds it.
func checkSettings(spec *spec.Spec, op abi.Operation, settings map[string]any) error {
	_, err := spec.CheckSettings(op, settings)
	if err == nil {
		return nil
	}
	_, text, found := strings.Cut(err.Error(), "settings: "+host.ErrConfig.Error()+": ")
	if !found {
		return err
	}
	return errors.New(text)
}
