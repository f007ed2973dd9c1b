package plugincmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/openregistry"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/lock"
)

func diffCommand(a *cli.App) *cobra.Command {
	var cases string
	var o openregistry.Flags
	cmd := &cobra.Command{
		Use:   "diff [flags] OLD NEW",
		Short: "Show how two versions of a plugin differ",
		Long: `Compare two versions of a plugin: their manifests, permissions, imports and sizes, and
how much the version has to be raised. With --cases each case of the folder is also
called with both, and their answers and fuel are compared. Cases are those of "plugin
test", which build --record writes; settings.json and http.json in their folder count
too. The plugins run without a network.

OLD and NEW are .wasm files, folders that hold one, or references with a tag or a
digest, which begin with oci://. References are pulled into the cache of artifacts, as
anchor.yaml and the flags for registries say. Their signatures are not checked.`,
		Example: `  anchor-host plugin diff plugins/keep-best.wasm build/keep-best.wasm
  anchor-host plugin diff oci://ghcr.io/acme/bm25:1.2.0 oci://ghcr.io/acme/bm25:1.3.0
  anchor-host build --request request.json --record cases
  anchor-host plugin diff old.wasm new.wasm --cases cases -o json`,
		Args: cli.Exactly("OLD", "NEW"),
	}
	cli.ConfigFlag(cmd)
	o.Add(cmd)
	cmd.Flags().StringVar(&cases, "cases", "", "folder of cases to call both with")
	cmd.Flags().String("cache-dir", "", "folder of compiled plugins; off keeps none")
	format := cli.FormatFlag(cmd, "text", "json")
	cmd.RunE = a.Run(func(cmd *cobra.Command, args []string) error {
		sides, err := readSides(a, cmd, &o, args)
		if err != nil {
			return err
		}
		d, err := diffPlugins(a, cmd, sides, cases)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if *format == "text" {
			d.write(&b)
		} else if err := cli.WriteJSON(&b, d); err != nil {
			return err
		}
		return a.EmitText(&b)
	})
	return cmd
}

// pluginDiff is the output of "plugin diff".
type pluginDiff struct {
	Old diffSide `json:"old"`
	New diffSide `json:"new"`
	// Level is the part of the version that the change must raise: patch, minor or major. Reasons say
	// why, and VersionError what is wrong with the version of New, "" for nothing.
	Level        string   `json:"level"`
	Reasons      []string `json:"reasons,omitempty"`
	VersionError string   `json:"version_error,omitempty"`
	// PermissionsAdded are what New asks for beyond Old, as in anchor.lock.
	PermissionsAdded   []string `json:"permissions_added,omitempty"`
	PermissionsRemoved []string `json:"permissions_removed,omitempty"`
	ImportsAdded       []string `json:"imports_added,omitempty"`
	ImportsRemoved     []string `json:"imports_removed,omitempty"`
	// Manifest are the values of the manifest that differ.
	Manifest []valueDiff `json:"manifest,omitempty"`
	// Cases are the calls that were made with both. Failed is how many failed with both, or sent a
	// request that nothing answers. Changed is how many of the others have another answer.
	Cases   []caseDiff `json:"cases,omitempty"`
	Changed int        `json:"changed_answers"`
	Failed  int        `json:"failed_with_both"`
}

// diffSide is one of two plugins.
type diffSide struct {
	// File is the name of the file, or the reference with its digest.
	File    string `json:"file"`
	Plugin  string `json:"plugin"`
	Version string `json:"version"`
	// Digest is that of the module.
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
	// Fuel is what all cases together used.
	Fuel int64 `json:"fuel,omitempty"`
}

// valueDiff is a value of the manifest that differs. Old or New is nil for a value that is not there.
type valueDiff struct {
	Path string          `json:"path"`
	Old  json.RawMessage `json:"old,omitempty"`
	New  json.RawMessage `json:"new,omitempty"`
}

// caseDiff is a call of a case with both.
type caseDiff struct {
	Case      string   `json:"case"`
	Operation string   `json:"operation"`
	Same      bool     `json:"same"`
	Old       answered `json:"old"`
	New       answered `json:"new"`
}

// failed reports whether there is no answer of either to compare.
func (c *caseDiff) failed() bool { return c.Old.failed() && c.New.failed() }

func diffPlugins(a *cli.App, cmd *cobra.Command, sides [2]compared, folder string) (*pluginDiff, error) {
	before, after := sides[0].spec, sides[1].spec
	d := &pluginDiff{Old: sides[0].side(), New: sides[1].side()}
	if err := d.compare(before, after); err != nil {
		return nil, err
	}
	if folder == "" {
		return d, nil
	}
	own, err := ownCases("", folder)
	if err != nil {
		return nil, err
	}
	if _, err := own.only(before.Name); err != nil {
		return nil, err
	}
	return d, d.replay(a, cmd, before, after, &own)
}

// compared is one of the two plugins, and where it was read.
type compared struct {
	from string
	spec *spec.Spec
}

func (c *compared) side() diffSide {
	return diffSide{File: c.from, Plugin: c.spec.Name, Version: c.spec.Manifest.Version, Digest: c.spec.Digest, Size: c.spec.Size}
}

// flagsOfReferences are the flags that say nothing about files.
var flagsOfReferences = []string{"config", "offline", "registry-cache", "plain-http", "mirror", "timeout"}

// readSides reads both plugins, first what is a file. Only references need a client, and a valid
// configuration.
func readSides(a *cli.App, cmd *cobra.Command, o *openregistry.Flags, targets []string) (sides [2]compared, err error) {
	var refs [2]registry.Reference
	for i, target := range targets {
		if isReference(target) {
			refs[i], err = registry.ParseReference(target)
		} else {
			sides[i], err = readSide(target)
		}
		if err != nil {
			return sides, err
		}
	}
	if !slices.ContainsFunc(targets, isReference) {
		for _, name := range flagsOfReferences {
			if cmd.Flags().Changed(name) {
				return sides, cli.Usagef(cmd, "flag --%s: is for references, and both are files (leave it out)", name)
			}
		}
		return sides, nil
	}
	err = o.Do(a, cmd, func(client *registry.Client, _ *openregistry.Bar) (err error) {
		for i, target := range targets {
			if err == nil && isReference(target) {
				sides[i], err = pullSide(cmd.Context(), client, refs[i])
			}
		}
		return err
	})
	return sides, err
}

// readSide reads one of the two plugins from a file.
func readSide(path string) (c compared, err error) {
	if c.from, err = moduleFile(path); err != nil {
		return c, err
	}
	if _, err := os.Stat(c.from); errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("%w (name a module, or a reference that begins with %s)", err, registry.Scheme)
	}
	c.spec, err = spec.ReadFile(c.from)
	return c, c.check(err)
}

// pullSide pulls one of the two plugins.
func pullSide(ctx context.Context, client *registry.Client, ref registry.Reference) (c compared, err error) {
	p, err := client.Pull(ctx, ref)
	if err != nil {
		return c, err
	}
	c.from = p.Reference.String()
	if c.spec, err = spec.Read("", p.Module, nil); err != nil {
		err = fmt.Errorf("%s: %w", c.from, err)
	}
	return c, c.check(err)
}

// check refuses a plugin that cannot be compared.
func (c *compared) check(err error) error {
	if err == nil && c.spec.Manifest == nil {
		err = fmt.Errorf("%s: %w: it does not export %q (only plugins of this contract can be compared)", c.from, spec.ErrABIVersion, abi.Marker)
	}
	return err
}

// compare compares what is known without a call.
func (d *pluginDiff) compare(before, after *spec.Spec) error {
	c, err := lock.Compare(before.Manifest, after.Manifest)
	if err != nil {
		return err
	}
	d.Level, d.Reasons = c.Level.String(), c.Reasons
	if d.Old.Digest != d.New.Digest {
		if err := c.Check(before.Manifest.Version, after.Manifest.Version); err != nil {
			d.VersionError = err.Error()
		}
	}
	had, err := lock.Asks(before.Manifest)
	if err != nil {
		return err
	}
	asks, err := lock.Asks(after.Manifest)
	if err != nil {
		return err
	}
	d.PermissionsAdded, d.PermissionsRemoved = lock.Difference(had, asks)
	d.ImportsAdded, d.ImportsRemoved = without(after.Imports, before.Imports), without(before.Imports, after.Imports)
	d.Manifest, err = manifestDiff(before.Manifest, after.Manifest)
	return err
}

// without lists what is in a and not in b, each once. a is sorted.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Compact(slices.Clone(a)), func(s string) bool { return slices.Contains(b, s) })
}

// manifestDiff lists the values that differ. Objects are compared member by member, other values as
// a whole.
func manifestDiff(before, after *manifest.Manifest) ([]valueDiff, error) {
	values := [2]any{}
	for i, m := range []*manifest.Manifest{before, after} {
		text, err := json.Marshal(m)
		if err != nil {
			return nil, err
		}
		if values[i], err = decoded(text); err != nil {
			return nil, err
		}
	}
	var list []valueDiff
	err := walkDiff("", values[0], values[1], &list)
	return list, err
}

// walkDiff adds the values that differ below two values. A manifest bounds how many there are.
func walkDiff(path string, before, after any, list *[]valueDiff) error {
	a, isA := before.(map[string]any)
	b, isB := after.(map[string]any)
	if isA && isB {
		for _, key := range sortedKeys(a, b) {
			at := key
			if path != "" {
				at = path + "." + key
			}
			if err := walkDiff(at, a[key], b[key], list); err != nil {
				return err
			}
		}
		return nil
	}
	if reflect.DeepEqual(before, after) {
		return nil
	}
	v := valueDiff{Path: path}
	for _, side := range []struct {
		value any
		text  *json.RawMessage
	}{{before, &v.Old}, {after, &v.New}} {
		if side.value == nil {
			continue
		}
		text, err := json.Marshal(side.value)
		if err != nil {
			return err
		}
		*side.text = text
	}
	*list = append(*list, v)
	return nil
}

// sortedKeys lists the keys of two objects, each once.
func sortedKeys(a, b map[string]any) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

// replay calls both plugins with each case.
func (d *pluginDiff) replay(a *cli.App, cmd *cobra.Command, before, after *spec.Spec, own *ownTests) error {
	base := config.Default()
	if err := a.Override(cmd, base); err != nil {
		return err
	}
	ctx := cmd.Context()
	progress := cli.NewProgress(a)
	defer progress.Stop()
	var sides [2]*replayer
	for i, s := range []*spec.Spec{before, after} {
		r, err := newReplayer(base.CachePath(), s, own, progress)
		if err != nil {
			return err
		}
		defer r.close(ctx)
		sides[i] = r
	}
	for i := range own.cases {
		called := &own.cases[i]
		progress.Start(fmt.Sprintf("calling both with %q", called.Name))
		c := caseDiff{Case: called.Name, Operation: string(called.Operation)}
		c.Old, c.New = sides[0].answer(ctx, called), sides[1].answer(ctx, called)
		if err := ctx.Err(); err != nil {
			return err
		}
		c.Same = c.Old.equals(&c.New)
		switch {
		case c.failed():
			d.Failed++
		case !c.Same:
			d.Changed++
		}
		d.Old.Fuel, d.New.Fuel = d.Old.Fuel+c.Old.Fuel, d.New.Fuel+c.New.Fuel
		d.Cases = append(d.Cases, c)
	}
	return nil
}

// write prints the difference.
func (d *pluginDiff) write(b *bytes.Buffer) {
	rows := [][]string{
		{"plugin", d.Old.Plugin, d.New.Plugin}, {"version", d.Old.Version, d.New.Version},
		{"module", shortDigest(d.Old.Digest), shortDigest(d.New.Digest)}, {"size", sizeText(d.Old.Size), sizeText(d.New.Size)},
	}
	if len(d.Cases) > 0 {
		rows = append(rows, []string{"fuel of all cases", cli.Fuel(d.Old.Fuel), cli.Fuel(d.New.Fuel)})
	}
	fmt.Fprintf(b, "OLD %s\nNEW %s\n\n", d.Old.File, d.New.File)
	cli.Table(b, []string{"", "OLD", "NEW"}, rows)
	fmt.Fprintf(b, "\nat least a %s version", d.Level)
	if d.VersionError != "" {
		fmt.Fprintf(b, "; %s", cli.OneCell(d.VersionError))
	}
	b.WriteByte('\n')
	for _, list := range []struct {
		sign  string
		title string
		lines []string
	}{
		{"", "reasons", d.Reasons}, {"+ ", "permissions added", d.PermissionsAdded}, {"- ", "permissions removed", d.PermissionsRemoved},
		{"+ ", "imports added", d.ImportsAdded}, {"- ", "imports removed", d.ImportsRemoved},
	} {
		section(b, list.title, len(list.lines))
		for _, line := range list.lines {
			fmt.Fprintf(b, "  %s%s\n", list.sign, cli.OneCell(line))
		}
	}
	section(b, "manifest", len(d.Manifest))
	for _, v := range d.Manifest {
		fmt.Fprintf(b, "  %s: %.200s -> %.200s\n", cli.OneCell(v.Path), cli.Dash(cli.OneCell(string(v.Old))), cli.Dash(cli.OneCell(string(v.New))))
	}
	d.writeCases(b)
}

// writeCases prints the cases: those with another answer, those that fail with both, and the fuel of
// all.
func (d *pluginDiff) writeCases(b *bytes.Buffer) {
	if len(d.Cases) == 0 {
		return
	}
	for _, group := range []struct {
		title  string
		count  int
		failed bool
	}{{"have another answer", d.Changed, false}, {"fail with both, which compares nothing", d.Failed, true}} {
		if group.failed && group.count == 0 {
			continue
		}
		fmt.Fprintf(b, "\ncases: %d of %d %s\n", group.count, len(d.Cases), group.title)
		for i := range d.Cases {
			if c := &d.Cases[i]; c.failed() == group.failed && (group.failed || !c.Same) {
				fmt.Fprintf(b, "  %s\n    - %.1000s\n    + %.1000s\n", cli.OneCell(c.Case), cli.OneCell(c.Old.text()), cli.OneCell(c.New.text()))
			}
		}
	}
	rows := make([][]string, 0, len(d.Cases))
	for i := range d.Cases {
		c := &d.Cases[i]
		rows = append(rows, []string{"  " + cli.OneCell(c.Case), cli.Fuel(c.Old.Fuel), cli.Fuel(c.New.Fuel)})
	}
	cli.Table(b, []string{"  CASE", "OLD FUEL", "NEW FUEL"}, rows)
}
