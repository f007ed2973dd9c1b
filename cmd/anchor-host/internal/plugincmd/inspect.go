package plugincmd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/assemble"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/grants"
	"github.com/anchor-host/anchor-host/internal/strict"
)

func inspectCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect [flags] PLUGIN",
		Short: "Show everything that is known of a plugin",
		Long: `Describe a plugin without running it: operations, lanes, reads and writes,
permissions with the reasons for them, limits, imports, exports, the parts of the
module, warnings, and advice for the author. A portable module can run on any
Extism host. PLUGIN is a plugin of the plugin folder, an instance of the
configuration, a .wasm file, or the path of a folder with a module. For an
instance the grants are also shown. --readme and --changelog show the texts that
the author has put into the module. For a plugin of the plugin folder, it is also
said what anchor.lock says of it.`,
		Example: `  anchor-host plugin inspect bm25-retriever
  anchor-host plugin inspect ./my-plugin
  anchor-host plugin inspect ./plugin.wasm -o json`,
		Args: cli.Exactly("PLUGIN"),
	}
	var readme, changelog bool
	cmd.Flags().BoolVar(&readme, "readme", false, "show only the README that the module holds")
	cmd.Flags().BoolVar(&changelog, "changelog", false, "show only the changelog that the module holds")
	cli.ConfigFlag(cmd)
	cli.PluginsFlag(cmd)
	format := cli.FormatFlag(cmd, "text", "json", "yaml")
	cmd.MarkFlagsMutuallyExclusive("readme", "changelog", "output")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		loaded, err := a.Load(cmd)
		if err != nil {
			return err
		}
		spec, instance, err := findPlugin(loaded, args[0])
		if err != nil {
			return err
		}
		if readme || changelog {
			return printText(a, spec, readme)
		}
		report, err := inspect(spec, instance)
		if err == nil && !isPath(args[0]) {
			name := args[0]
			if instance != nil {
				name = instance.Plugin
			}
			err = report.addLock(loaded, spec, name)
		}
		if err != nil {
			return err
		}
		if *format != "text" {
			return a.Print(*format, cli.Listing{Data: report})
		}
		var b bytes.Buffer
		report.write(&b)
		return a.EmitText(&b)
	})
	return cmd
}

// printText prints the README of a module, or its changelog.
func printText(a *cli.App, s *spec.Spec, readme bool) error {
	texts, err := s.Texts()
	if err != nil {
		return fmt.Errorf("plugin %q: %w", s.Name, err)
	}
	what, text := "changelog", texts.Changelog
	if readme {
		what, text = "README", texts.Readme
	}
	if text == "" {
		return fmt.Errorf("plugin %q: %s: %w (its author can put one beside plugin.yaml and build again)", s.Name, what, fs.ErrNotExist)
	}
	return a.EmitText(bytes.NewBufferString(strings.TrimSuffix(text, "\n") + "\n"))
}

// findPlugin finds the plugin that the user named: by a path, by the name of an instance, or
// by its name in the plugin folder. instance is nil unless the name is that of an instance.
func findPlugin(loaded *config.Loaded, name string) (*spec.Spec, *config.Instance, error) {
	reader := spec.Reader{CacheDir: loaded.CachePath()}
	var found *config.Instance
	plugin := name
	if i, ok := loaded.Plugins.Instances[name]; ok {
		found, plugin = &i, i.Plugin
	} else if isPath(name) {
		file, err := moduleFile(name)
		if err != nil {
			return nil, nil, err
		}
		spec, err := reader.ReadFile(file)
		return spec, nil, err
	}
	entries, others, err := reader.ReadNamed(loaded.PluginDir(), plugin)
	if len(entries) > 0 { // two of one name have the same error
		return entries[0].Spec, found, entries[0].Err
	}
	hint := strict.Hint(plugin, others)
	if _, here := os.Stat(plugin); here == nil && found == nil {
		hint = fmt.Sprintf(" (what is in this folder has a path: ./%s)", plugin)
	} else if err != nil {
		return nil, nil, assemble.FolderError(loaded.PluginDir(), assemble.Guard(loaded), err)
	}
	return nil, nil, fmt.Errorf("plugin %q in %s: %w%s", plugin, loaded.PluginDir(), fs.ErrNotExist, cmp.Or(hint, elsewhere))
}

// elsewhere is the remedy in the error when no plugin has that name.
const elsewhere = " (build or copy it there, or give the path of a module, such as ./plugin.wasm)"

// isPath reports whether a text is a path, as opposed to the name of a plugin.
func isPath(name string) bool {
	return strings.HasSuffix(name, ".wasm") || name == "." || name == ".." || strings.ContainsRune(filepath.ToSlash(name), '/')
}

// inspection is the output of "plugin inspect".
type inspection struct {
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`
	Description string `json:"description,omitempty"`
	License     string `json:"license,omitempty"`
	Homepage    string `json:"homepage,omitempty"`
	// Deprecated says what to use instead of a plugin that is deprecated.
	Deprecated string `json:"deprecated,omitempty"`
	Digest     string `json:"digest"`
	// Pin is the digest to write into a configuration.
	Pin          string `json:"pin"`
	Size         int64  `json:"size"`
	ABI          int    `json:"abi"`
	Foreign      bool   `json:"foreign"`
	ManifestFrom string `json:"manifest_from,omitempty"`
	Portable     bool   `json:"portable"`
	WASI         bool   `json:"wasi"`
	MemoryPages  uint64 `json:"memory_pages"`
	// Anatomy describes the parts of the module.
	Anatomy spec.Anatomy `json:"anatomy"`
	// Load is the cost of loading the module with the engine of the instance.
	Load loadReport `json:"load"`
	// State is how the host treats instances between calls. Uncaptured is why it cannot
	// reset them.
	State       host.State        `json:"state"`
	Uncaptured  string            `json:"uncaptured,omitempty"`
	Operations  []operationReport `json:"operations,omitempty"`
	Permissions []permissionLine  `json:"permissions,omitempty"`
	Limits      []limitLine       `json:"limits"`
	// NotGiven says which limits the plugin asks for and does not get.
	NotGiven  []string `json:"limits_not_given,omitempty"`
	Imports   []string `json:"imports"`
	Functions []string `json:"functions"`
	// Warnings are for all users, and Advice is for the plugin's author.
	Warnings []string `json:"warnings,omitempty"`
	Advice   []string `json:"advice,omitempty"`
	// Texts are README and changelog.
	spec.Texts
	// Lock is what anchor.lock says of a plugin of the plugin folder. It is nil without an entry.
	Lock *lockReport `json:"lock,omitempty"`
}

// lockReport is an entry of anchor.lock.
type lockReport struct {
	Reference string `json:"reference,omitempty"`
	// Artifact is the digest of the artifact in the registry, Signer the id of the key that signed it.
	Artifact string `json:"artifact,omitempty"`
	Signer   string `json:"signer,omitempty"`
	// Differs says what is not as the lock lists it, and what to do about it.
	Differs string `json:"differs,omitempty"`
}

// addLock adds what anchor.lock says, and a warning if the plugin may not run.
func (r *inspection) addLock(loaded *config.Loaded, s *spec.Spec, name string) error {
	guard := assemble.Guard(loaded)
	f, err := guard.File()
	if err != nil {
		return err
	}
	if e := f.Find(name); e != nil {
		r.Lock = &lockReport{Reference: e.Reference, Artifact: e.Manifest, Signer: e.Signer}
	}
	for _, d := range f.Check([]spec.Entry{{Name: name, Spec: s}}, guard.Policy) {
		if d.Plugin != name || d.Allowed && f.Plugins == nil {
			continue
		}
		r.Warnings = append(slices.Clone(r.Warnings), d.Error())
		if r.Lock != nil {
			r.Lock.Differs = d.Error()
		}
	}
	return nil
}

// text says in a line where the plugin comes from.
func (l *lockReport) text() string {
	switch {
	case l == nil:
		return "-"
	case l.Reference == "":
		return "a file of the plugin folder"
	}
	return fmt.Sprintf("%s, signed by %s", l.Reference, cmp.Or(l.Signer, "nobody"))
}

// loadReport is an estimated cost with its limits.
type loadReport struct {
	Engine     host.Engine `json:"engine"`
	Memory     int64       `json:"memory_bytes"`
	MaxMemory  int64       `json:"max_memory_bytes"`
	MemoryFor  string      `json:"memory_for"`
	Millis     int64       `json:"milliseconds"`
	MaxMillis  int64       `json:"max_milliseconds"`
	TimeFor    string      `json:"time_for"`
	NearLimits bool        `json:"near_limits"`
}

type operationReport struct {
	Operation   abi.Operation         `json:"operation"`
	Lanes       []host.Lane           `json:"lanes"`
	Reads       string                `json:"reads"`
	Whole       string                `json:"reads_all_of,omitempty"`
	Writes      string                `json:"writes"`
	MaxPriority int                   `json:"max_priority,omitempty"`
	Defaults    manifest.StepDefaults `json:"defaults,omitzero"`
}

// readsText lists what the guest receives: columns, parts of the request, and "all of the"
// query or request if the manifest names no part of it.
func (o *operationReport) readsText() string {
	if o.Whole == "" {
		return cli.Dash(o.Reads)
	}
	if o.Reads == "" {
		return "all of the " + o.Whole
	}
	return o.Reads + " and all of the " + o.Whole
}

type permissionLine struct {
	manifest.Permission
	// Granted is "yes" or "no", and "" without an instance.
	Granted string `json:"granted,omitempty"`
}

type limitLine struct {
	Limit   string `json:"limit"`
	Default string `json:"default"`
	Asked   string `json:"asked,omitempty"`
	Set     string `json:"set,omitempty"`
	// InForce is what a call has: what is set, else what is asked, as far as it is given, else the
	// default.
	InForce string `json:"in_force"`
}

func inspect(spec *spec.Spec, instance *config.Instance) (r inspection, err error) {
	r = inspection{
		Name: spec.Name, Digest: spec.Digest, Pin: spec.Pin(), Size: spec.Size, ABI: spec.ABI, Foreign: spec.Foreign,
		ManifestFrom: spec.ManifestFrom, Portable: spec.Portable, WASI: spec.WASI, MemoryPages: spec.MemoryPages,
		Imports: slices.Compact(slices.Clone(spec.Imports)), Functions: functions(spec), Warnings: spec.Warnings,
	}
	r.State, r.Uncaptured = host.StateOf(spec, stateOf(instance)), spec.Uncaptured
	var asked manifest.LimitRequest
	if m := spec.Manifest; m != nil {
		r.Version, r.Description, r.License, r.Homepage = m.Version, m.Description, m.License, m.Homepage
		r.Deprecated = m.Deprecated
		asked = m.Limits
		for _, p := range m.Permissions {
			r.Permissions = append(r.Permissions, permissionLine{p, granted(p, instance)})
		}
	}
	for _, o := range spec.Operations {
		r.Operations = append(r.Operations, operationReport{
			o.Operation, o.Lanes, strings.Join(append(o.Reads.Names(), o.Parts.Names()...), ","), o.Unnamed(), o.Writes.String(), o.MaxPriority, o.Defaults,
		})
	}
	if r.Limits, r.NotGiven, err = limitLines(spec, asked, instance); err != nil {
		return r, err
	}
	r.Load = loadOf(spec, instance)
	r.Anatomy = spec.Anatomy()
	if err := r.addTexts(spec); err != nil {
		return r, err
	}
	r.Advice = spec.Advice()
	return r, nil
}

// addTexts adds the texts of the module. A plugin whose texts are not valid runs nevertheless.
func (r *inspection) addTexts(s *spec.Spec) (err error) {
	if r.Texts, err = s.Texts(); errors.Is(err, spec.ErrManifest) {
		r.Warnings = append(slices.Clone(r.Warnings), err.Error())
		return nil
	}
	return err
}

// textLine says how long a text is, and which flag shows it.
func textLine(text, flag string) string {
	if text == "" {
		return "-"
	}
	return fmt.Sprintf("%s (shown by --%s)", cli.Count(strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1, "line"), flag)
}

// loadOf estimates the cost of loading, with the engine and limits of the instance.
func loadOf(spec *spec.Spec, instance *config.Instance) loadReport {
	engine, set := host.EngineCompiler, config.Limits{}
	if instance != nil {
		engine, set = cmp.Or(instance.Engine, engine), instance.Limits
	}
	e := spec.LoadEstimate(engine == host.EngineInterpreter)
	e.MaxMemory, e.MaxTime = cmp.Or(int64(set.LoadMemory), e.MaxMemory), cmp.Or(time.Duration(set.LoadTime), e.MaxTime)
	return loadReport{engine, e.Memory, e.MaxMemory, e.MemoryFor, e.Time.Milliseconds(), e.MaxTime.Milliseconds(), e.TimeFor, e.Near()}
}

// text formats the estimate in one line.
func (l *loadReport) text() string {
	near := ""
	if l.NearLimits {
		near = "; near or above what is allowed"
	}
	return fmt.Sprintf("about %d MiB of %d MiB of memory, %.1f s of %.1f s of a processor (%s)%s", l.Memory>>20, l.MaxMemory>>20,
		float64(l.Millis)/1000, float64(l.MaxMillis)/1000, l.Engine, near)
}

// stateOf returns the state that the configuration of an instance sets.
func stateOf(instance *config.Instance) host.State {
	if instance == nil {
		return host.StateAuto
	}
	return instance.State
}

// granted reports whether an instance grants a permission that its plugin requests.
func granted(p manifest.Permission, instance *config.Instance) string {
	switch {
	case instance == nil:
		return ""
	case grants.Granted(p, instance.Grants):
		return "yes"
	}
	return "no"
}

// limitLines lists the limits, and says what the plugin asks for and does not get.
func limitLines(s *spec.Spec, asked manifest.LimitRequest, instance *config.Instance) ([]limitLine, []string, error) {
	var set config.Limits
	if instance != nil {
		set = instance.Limits
	}
	in, cut, err := host.InForce(s, assemble.Limits(set))
	if err != nil {
		return nil, nil, err
	}
	builtin, _, err := host.InForce(new(spec.Spec), host.Limits{})
	if err != nil {
		return nil, nil, err
	}
	var lines []limitLine
	wishes := map[string]string{"timeout": asked.Timeout, "init_timeout": asked.InitTimeout, "memory": asked.Memory, "output": asked.Output}
	for i, f := range strict.Fields(reflect.TypeFor[config.Limits]()) {
		text := func(l host.Limits) string { return limitText(f, reflect.ValueOf(l).Field(i).Int()) }
		l := limitLine{Limit: f.Key, Default: cmp.Or(computedLimits[f.Key], text(builtin)), Asked: wishes[f.Key], Set: text(assemble.Limits(set))}
		if _, ok := wishes[f.Key]; ok || f.Key == "min_instances" && set.MinInstances > 0 {
			l.InForce = text(in) // what is asked for may be cut, and no more instances are made ahead than there are
		}
		l.InForce = cmp.Or(l.InForce, l.Set, l.Default)
		lines = append(lines, l)
	}
	return lines, cut, nil
}

// computedLimits are defaults that are not the same everywhere.
var computedLimits = map[string]string{"instances": "one per processor", "min_instances": "none", "load_memory": "by its code", "load_time": "by its code"}

// limitText is a number of the host in the form of the configuration, empty for 0.
func limitText(f strict.Field, n int64) string {
	if n == 0 {
		return ""
	}
	v := f.Of(reflect.ValueOf(new(config.Limits)).Elem())
	v.SetInt(n)
	return fmt.Sprint(v.Interface())
}

func (r *inspection) write(b *bytes.Buffer) {
	yesNo := map[bool]string{true: "yes", false: "no"}
	rows := [][]string{
		{"name", r.Name}, {"version", cli.Dash(r.Version)}, {"description", cli.Dash(r.Description)},
		{"license", cli.Dash(r.License)}, {"homepage", cli.Dash(r.Homepage)}, {"locked", r.Lock.text()}, {"digest", r.Digest}, {"pin", r.Pin}, {"size", sizeText(r.Size)},
		{"abi", fmt.Sprint(r.ABI)}, {"manifest", cli.Dash(r.ManifestFrom)}, {"portable", yesNo[r.Portable]},
		{"readme", textLine(r.Readme, "readme")}, {"changelog", textLine(r.Changelog, "changelog")},
		{"wasi", yesNo[r.WASI]}, {"memory", memoryText(&r.Anatomy)},
		{"module", fmt.Sprintf("%d functions, %s of code, %s of data", r.Anatomy.Functions, sizeText(r.Anatomy.Code), sizeText(r.Anatomy.Data))},
		{"load", r.Load.text()},
		{"sections", sectionText(r.Anatomy.Sections)}, {"state", string(r.State)},
	}
	if r.Uncaptured != "" {
		rows[len(rows)-1][1] += " (it cannot be reset: " + r.Uncaptured + ")"
	}
	if r.Deprecated != "" {
		rows[1][1] += " (deprecated: " + cli.OneCell(r.Deprecated) + ")"
	}
	if r.Foreign {
		rows[9][1] = "none (a foreign module: its functions can be called, it has no operations)"
	}
	cli.Table(b, nil, rows)
	section(b, "operations", len(r.Operations))
	for _, o := range r.Operations {
		fmt.Fprintf(b, "  %s: lanes %s; reads %s; writes %s\n", o.Operation, laneNames(o.Lanes, ", "), o.readsText(), cli.Dash(o.Writes))
	}
	section(b, "permissions asked for", len(r.Permissions))
	for _, p := range r.Permissions {
		fmt.Fprintf(b, "  %s\n", cli.OneCell(p.text()))
	}
	b.WriteString("limits\n")
	rows = rows[:0]
	for _, l := range r.Limits {
		rows = append(rows, []string{"  " + l.Limit, l.Default, cli.Dash(l.Asked), cli.Dash(l.Set), l.InForce})
	}
	cli.Table(b, []string{"  LIMIT", "DEFAULT", "ASKED", "SET", "IN FORCE"}, rows)
	for _, line := range r.NotGiven {
		fmt.Fprintf(b, "  %s\n", line)
	}
	for _, list := range []struct {
		title string
		lines []string
	}{{"imports", r.Imports}, {"functions", r.Functions}, {"warnings", r.Warnings}, {"advice", r.Advice}} {
		section(b, list.title, len(list.lines))
		for _, line := range list.lines {
			fmt.Fprintf(b, "  %s\n", cli.OneCell(line))
		}
	}
}

func memoryText(a *spec.Anatomy) string {
	if a.Memory == 0 && a.MaxMemory == 0 {
		return "none of its own at the start"
	}
	most := "no maximum"
	if a.MaxMemory > 0 {
		most = "at most " + sizeText(a.MaxMemory)
	}
	return fmt.Sprintf("%s at the start, %s", sizeText(a.Memory), most)
}

// sectionText lists the custom sections with their sizes.
func sectionText(sections []spec.CustomSection) string {
	parts := make([]string, len(sections))
	for i, s := range sections {
		parts[i] = fmt.Sprintf("%s (%s)", s.Name, sizeText(s.Size))
	}
	return cli.Dash(strings.Join(parts, ", "))
}

func section(b *bytes.Buffer, title string, n int) {
	if n == 0 {
		fmt.Fprintf(b, "%s: none\n", title)
		return
	}
	fmt.Fprintf(b, "%s\n", title)
}

// text describes a request for a permission, its reason, and whether it is granted.
func (p *permissionLine) text() string {
	parts := []string{p.Kind}
	for _, s := range []string{p.Mode, p.Guest, hostsText(p.Hosts), strings.Join(p.Methods, ","), p.Quota, p.Service} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	s := fmt.Sprintf("%s: %s", strings.Join(parts, " "), p.Reason)
	if p.Granted != "" {
		s += fmt.Sprintf(" (granted: %s)", p.Granted)
	}
	return s
}

// hostsText lists hosts. Those that the operator chooses are named by the key of the grant.
func hostsText(hosts manifest.HostList) string {
	if hosts.FromGrant() {
		return manifest.FromGrant + " (those of grants.http.hosts)"
	}
	return hosts.String()
}
