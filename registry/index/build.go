package index

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/lock"
)

// Build makes an index of repositories. For each, it takes the highest release among the tags, or
// the highest version of all if there is none, and reads the annotations of its manifest; no module
// is fetched. A tag in a reference is taken instead of the highest; a digest is refused, and so is
// a repository that is named twice. The error joins all that was wrong, and wraps those of
// registry.Client.Pull, or ErrInvalid and ErrAlike.
func Build(ctx context.Context, client *registry.Client, refs []registry.Reference) (*Index, error) {
	x := &Index{Version: Version, Plugins: []Plugin{}}
	var problems []error
	for i, ref := range refs {
		same := func(other registry.Reference) bool { return other.Name() == ref.Name() }
		if j := slices.IndexFunc(refs[:i], same); j >= 0 {
			problems = append(problems, fmt.Errorf("%s: is the repository of %s: %w (name it once)", ref, refs[j], registry.ErrReference))
			continue
		}
		p, err := describe(ctx, client, ref)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		x.Plugins = append(x.Plugins, p)
	}
	slices.SortFunc(x.Plugins, func(a, b Plugin) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Reference, b.Reference))
	})
	return x, errors.Join(append(problems, x.Check())...)
}

// describe reads what a registry says of one repository.
func describe(ctx context.Context, client *registry.Client, ref registry.Reference) (Plugin, error) {
	if ref.Digest != "" {
		return Plugin{}, fmt.Errorf("%s: names a digest, want a repository or a tag: %w", ref, registry.ErrReference)
	}
	tags, err := client.Tags(ctx, ref)
	if err != nil {
		return Plugin{}, err
	}
	versions := sorted(tags)
	if ref.Tag == "" {
		if len(versions) == 0 {
			return Plugin{}, fmt.Errorf("%s: has no tag that is a version, such as 1.2.0: %w (push one with: anchor-host plugin publish)", ref, registry.ErrNotFound)
		}
		ref.Tag = versions[0]
	}
	d, err := client.Describe(ctx, ref)
	if err != nil {
		return Plugin{}, err
	}
	p := Plugin{
		Name: d.Name, Reference: ref.At("").String(), Version: d.Version, Digest: d.Reference.Digest, ABI: d.ABI, Operations: d.Operations,
		Description: d.Description, License: d.License, Source: d.Source, Deprecated: d.Deprecated,
	}
	for _, tag := range versions[:min(len(versions), maxVersions)] {
		p.Versions = append(p.Versions, strings.TrimPrefix(tag, "v"))
	}
	p.Versions = slices.Compact(p.Versions)
	if err := p.check(); err != nil {
		return Plugin{}, fmt.Errorf("%s: %w: %w", ref, registry.ErrNotPlugin, err)
	}
	return p, nil
}

// sorted returns the tags that are versions, releases first, each kind from high to low.
func sorted(tags []string) (versions []string) {
	for _, tag := range tags {
		bare := strings.TrimPrefix(tag, "v")
		if _, err := lock.CompareVersions(bare, bare); err == nil {
			versions = append(versions, tag)
		}
	}
	slices.SortFunc(versions, func(a, b string) int {
		a, b = strings.TrimPrefix(a, "v"), strings.TrimPrefix(b, "v")
		if pre := strings.Contains(a, "-"); pre != strings.Contains(b, "-") {
			if pre {
				return 1
			}
			return -1
		}
		order, _ := lock.CompareVersions(b, a) // both are valid
		return order
	})
	return versions
}

// Write returns the file of an index. The same index gives the same bytes.
func (x *Index) Write() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	out := *x
	if out.Plugins == nil {
		out.Plugins = []Plugin{} // null is refused
	}
	if err := e.Encode(out); err != nil {
		return nil, fmt.Errorf("index: write: %w", err)
	}
	if b.Len() > MaxSize {
		return nil, fmt.Errorf("index: write: %w: has more than %d bytes (split it)", ErrInvalid, MaxSize)
	}
	return b.Bytes(), nil
}
