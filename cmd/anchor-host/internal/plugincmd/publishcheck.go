package plugincmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/authoring"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/lock"
)

// check makes all checks, one after the other.
func (p *publication) check(cmd *cobra.Command) {
	ctx := cmd.Context()
	for _, c := range []struct {
		name  string
		check func() (verdict, detail string)
		// needs says that the check is about a valid plugin, or also about a registry.
		plugin, registry bool
		// slow says that --unchecked leaves it out.
		slow bool
	}{
		{"key", p.checkKey, false, false, false}, // first, because it may ask for a password
		{"manifest", p.checkManifest, false, false, false},
		{"size", p.checkSize, false, false, false},
		{"readme", p.checkReadme, true, false, true},
		{"conformance", func() (string, string) { return p.checkConformance(cmd) }, true, false, true},
		{"reproducible", func() (string, string) { return p.checkReproducible(ctx) }, true, false, true},
		{"tag", func() (string, string) { return p.checkTag(ctx) }, true, true, false},
		{"version", func() (string, string) { return p.checkVersion(ctx) }, true, true, true},
	} {
		if ctx.Err() != nil {
			return
		}
		out := finding{Check: c.name, Verdict: verdictSkip}
		switch {
		case c.slow && p.flags.unchecked:
			continue
		case c.plugin && p.spec == nil:
			out.Detail = "see manifest"
		case c.registry && p.client == nil:
			out.Detail = "no registry was named"
		default:
			p.tests.progress.Start("checking " + c.name)
			out.Verdict, out.Detail = c.check()
		}
		p.report.Checks = append(p.report.Checks, out)
	}
}

// failed is a failure with the text of an error.
func failed(err error) (verdict, detail string) { return verdictFail, err.Error() }

// checkManifest reads the module as a host does that has nothing beside it.
func (p *publication) checkManifest() (verdict, detail string) {
	s, err := spec.Read("", p.module, nil)
	if err != nil {
		return failed(err)
	}
	if s.Manifest == nil {
		return verdictFail, fmt.Sprintf("the module has no manifest, and so no name and no version (write plugin.yaml, and put it into the module with plugin build; it exports no %q)", abi.Marker)
	}
	if p.artifact, err = registry.Pack(p.module, registry.PackOptions{Source: p.flags.source, Revision: p.flags.revision}); err != nil {
		return failed(err)
	}
	if strings.Contains(s.Manifest.Version, "+") {
		return verdictFail, fmt.Sprintf("version %s: a tag has no place for the part after + (leave it out)", s.Manifest.Version)
	}
	p.spec = s
	p.report.Plugin, p.report.Version, p.report.Module, p.report.Digest = s.Name, s.Manifest.Version, s.Digest, p.artifact.Digest
	return verdictPass, s.Name + " " + s.Manifest.Version
}

func (p *publication) checkSize() (verdict, detail string) {
	if len(p.module) > registry.DefaultMaxModule {
		return verdictFail, fmt.Sprintf("the module has more than %s, the most that is installed by default (strip it of debug information)", sizeText(registry.DefaultMaxModule))
	}
	return verdictPass, sizeText(int64(len(p.module)))
}

func (p *publication) checkReadme() (verdict, detail string) {
	texts, err := p.spec.Texts()
	switch {
	case err != nil:
		return failed(err)
	case strings.TrimSpace(texts.Readme) == "":
		return verdictFail, "the module holds no README (write README.md beside plugin.yaml, and build again)"
	}
	return verdictPass, textLine(texts.Readme, "readme of plugin inspect")
}

// checkConformance runs the conformance kit and the author's cases.
func (p *publication) checkConformance(cmd *cobra.Command) (verdict, detail string) {
	tested, err := p.tests.test(cmd, p.file)
	if err != nil {
		return failed(err)
	}
	r := tested.Report
	if r.OK() {
		report, err := publicReport(r)
		if err != nil {
			return failed(err)
		}
		p.attachments = append(p.attachments, registry.Attachment{Type: registry.TypeConformance, Title: "conformance.json", Data: report})
		return verdictPass, fmt.Sprintf("%s passed, %d skipped", cli.Count(r.Passed, "case"), r.Skipped)
	}
	first := r.Results[slices.IndexFunc(r.Results, func(c conformance.Result) bool { return c.Verdict == conformance.Fail })]
	return verdictFail, fmt.Sprintf("%s failed, first %s: %s (see all with plugin test --short %s)", cli.Count(r.Failed, "case"), first.Case, first.Detail, p.file)
}

// publicReport is a report as others may read it: the author's cases have numbers in place of names.
// It has no notes, which may name files, and no times, so that another run has the same report.
func publicReport(r *conformance.Report) ([]byte, error) {
	type result struct {
		conformance.Result
		Millis *float64 `json:"time_ms,omitempty"`
	}
	public := struct {
		conformance.Report
		Results []result `json:"results"`
	}{Report: *r}
	public.Notes, public.Costs = nil, nil
	numbers := map[string]string{}
	for _, c := range r.Results {
		if strings.HasPrefix(c.Case, ownPrefix) {
			if numbers[c.Case] == "" {
				numbers[c.Case] = fmt.Sprintf("%s%d", ownPrefix, len(numbers)+1)
			}
			c.Case, c.Detail = numbers[c.Case], ""
		}
		public.Results = append(public.Results, result{Result: c})
	}
	return json.Marshal(public)
}

// ownPrefix begins the names of the author's cases in a report.
const ownPrefix = "own/"

// checkReproducible builds the project again and compares the modules.
func (p *publication) checkReproducible(ctx context.Context) (verdict, detail string) {
	dir := p.flags.project
	if dir == "" {
		if dir = projectOf(p.file); dir == "" {
			return verdictSkip, "no plugin.yaml beside or above the module (name the project with --project)"
		}
	}
	if _, err := authoring.Detect(dir); err != nil {
		return verdictSkip, err.Error()
	}
	work, err := os.MkdirTemp("", "anchor-host-publish-*")
	if err != nil {
		return failed(err)
	}
	defer os.RemoveAll(work)
	built, err := authoring.Build(ctx, authoring.BuildOptions{Dir: dir, Output: work + string(filepath.Separator)})
	switch {
	case errors.Is(err, authoring.ErrMissing):
		return verdictSkip, err.Error()
	case err != nil:
		return verdictFail, fmt.Sprintf("the project does not build: %v", err)
	case built.Spec.Digest != p.spec.Digest:
		return verdictFail, fmt.Sprintf("a build of %s is another module, %s (build again with plugin build; if that does not help, the toolchain writes times or paths into it)", dir, shortDigest(built.Spec.Digest))
	}
	return verdictPass, "a second build is the same, " + shortDigest(p.spec.Digest)
}

// projectOf returns the folder of the plugin.yaml beside a module or above it, "" for none.
func projectOf(file string) string {
	dir := filepath.Dir(file)
	for _, d := range []string{dir, filepath.Join(dir, "..")} {
		if isFile(filepath.Join(d, authoring.ManifestFile)) {
			return d
		}
	}
	return ""
}

// checkTag checks that the tag is the version, and free.
func (p *publication) checkTag(ctx context.Context) (verdict, detail string) {
	version := p.spec.Manifest.Version
	p.ref.Tag = cmp.Or(p.ref.Tag, version)
	p.report.Reference = p.ref.String()
	if p.ref.Tag != version && !p.flags.move {
		return verdictFail, fmt.Sprintf("the tag is %s, the version in the manifest %s (leave out the tag, or raise the version; --move publishes under a tag that moves)", p.ref.Tag, version)
	}
	found, err := p.client.Resolve(ctx, *p.ref)
	switch {
	case errors.Is(err, registry.ErrNotFound):
		return verdictPass, p.ref.Tag + " is free"
	case errors.Is(err, registry.ErrDenied): // some deny what does not exist yet
		return verdictSkip, p.untold()
	case err != nil:
		return failed(err)
	case found.Digest != p.artifact.Digest && p.flags.move:
		return verdictPass, fmt.Sprintf("%s moves here from %s", p.ref.Tag, shortDigest(found.Digest))
	case found.Digest != p.artifact.Digest:
		return verdictFail, fmt.Sprintf("%s names another artifact already, %s (raise the version in plugin.yaml)", p.ref.Tag, shortDigest(found.Digest))
	}
	p.outcome = "was there already:"
	return verdictPass, p.ref.Tag + " names this artifact already"
}

// untold is what a check says that the registry does not answer.
func (p *publication) untold() string {
	return fmt.Sprintf("%s denies access or does not have it (log in with docker login %s; some registries answer so until the first push)", p.ref.Host, p.ref.Host)
}

// checkVersion compares the plugin with the highest version below it in the registry, and with the
// highest release below it: between the two, everything may have changed.
func (p *publication) checkVersion(ctx context.Context) (verdict, detail string) {
	tags, err := p.client.Tags(ctx, registry.Reference{Host: p.ref.Host, Repository: p.ref.Repository})
	switch {
	case errors.Is(err, registry.ErrDenied):
		return verdictSkip, p.untold()
	case errors.Is(err, registry.ErrNotFound):
	case err != nil:
		return failed(err)
	}
	below := versionsBelow(tags, p.spec.Manifest.Version)
	releases := slices.DeleteFunc(slices.Clone(below), func(tag string) bool { return strings.Contains(tag, "-") })
	detail = "no earlier version"
	for _, list := range [][]string{releases, below} {
		before, err := p.newest(ctx, list)
		if err == nil && before == nil {
			continue
		}
		var compared lock.Comparison
		if err == nil {
			compared, err = lock.Compare(before, p.spec.Manifest)
		}
		if err == nil {
			err = compared.Check(before.Version, p.spec.Manifest.Version)
		}
		if err != nil {
			return failed(err)
		}
		detail = fmt.Sprintf("%s after %s, at least a %s version", p.spec.Manifest.Version, before.Version, compared.Level)
	}
	return verdictPass, detail
}

// maxEarlier is how many tags are looked at for one that names a plugin.
const maxEarlier = 20

// newest returns the manifest of the first tag that names a plugin of this contract, nil for none.
func (p *publication) newest(ctx context.Context, tags []string) (*manifest.Manifest, error) {
	for _, tag := range tags[:min(len(tags), maxEarlier)] {
		pulled, err := p.client.Pull(ctx, registry.Reference{Host: p.ref.Host, Repository: p.ref.Repository, Tag: tag})
		if errors.Is(err, registry.ErrNotPlugin) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if s, err := spec.Read("", pulled.Module, nil); err == nil && s.Manifest != nil {
			return s.Manifest, nil
		}
	}
	return nil, nil
}

// versionsBelow returns the tags that are versions below a version, the highest first.
func versionsBelow(tags []string, version string) (below []string) {
	for _, tag := range tags {
		if order, err := lock.CompareVersions(tag, version); err == nil && order < 0 {
			below = append(below, tag)
		}
	}
	slices.SortFunc(below, func(a, b string) int {
		order, _ := lock.CompareVersions(b, a) // both are valid
		return order
	})
	return below
}

// checkKey reads the secret key.
func (p *publication) checkKey() (verdict, detail string) {
	if p.flags.key.Path == "" {
		return verdictSkip, "not signed: operators who require signatures will refuse it (name a key with --key)"
	}
	p.tests.progress.Stop() // it would write over a question
	var err error
	if p.key, err = p.flags.key.Read(p.tests.app); err != nil {
		return failed(err)
	}
	return verdictPass, "key " + p.key.Public().ID
}
