package registrycmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/openregistry"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/lock"
	"github.com/anchor-host/anchor-host/registry/trust"
)

func installCommand(a *cli.App) *cobra.Command {
	var o openregistry.Flags
	var frozen, beside bool
	var from string
	cmd := &cobra.Command{
		Use:   "install [flags] [REFERENCE | NAME@VERSION]...",
		Short: "Get plugins from registries into the plugin folder, as anchor.lock says",
		Long: `Bring the plugin folder to what anchor.yaml and anchor.lock say. A plugin that
anchor.yaml names by its reference is looked up in its registry once, and pinned in
anchor.lock; from then on it changes only with "plugin update". What the folder lacks
comes from the cache or the registry, always with the digest of the lock.

REFERENCE installs a plugin that anchor.yaml names by its name alone, NAME@VERSION goes
to another version of a locked one. With --beside the version that is there stays.
Nothing changes unless all of it can. --frozen never changes the lock, and fails if
anything differs from it. --from first reads a file of "plugin save", and asks no registry.`,
		Example: `  anchor-host plugin install
  anchor-host plugin install oci://ghcr.io/acme/bm25:1.2
  anchor-host plugin install bm25@1.1.0
  anchor-host plugin install --frozen --from plugins.tar`,
	}
	o.Add(cmd)
	cmd.Flags().BoolVar(&frozen, "frozen", false, "fail if anything differs from anchor.lock")
	cmd.Flags().BoolVar(&beside, "beside", false, "keep the version that is there, and name the new one NAME@VERSION")
	cmd.Flags().StringVar(&from, "from", "", "read this file of plugin save into the cache, and open no connection")
	cmd.PreRun = func(*cobra.Command, []string) { o.Offline = o.Offline || from != "" }
	return command(a, cmd, &o, func(ctx context.Context, s *session, args []string) (l cli.Listing, err error) {
		if frozen && len(args) > 0 {
			return l, cli.Usagef(cmd, "--frozen takes no arguments (it installs what %s says)", lock.Name)
		}
		if from != "" {
			if err := s.load(ctx, from); err != nil {
				return l, err
			}
		}
		done, err := s.install(ctx, args, frozen, beside)
		if err != nil && len(done) == 0 {
			return l, err
		}
		return l, errors.Join(s.report(cli.Format(cmd), done), err)
	})
}

// job is one plugin that a command works on: what is wanted, and then what came.
type job struct {
	// ref is what is pulled, and text its reference in the lock.
	ref  registry.Reference
	text string
	// name is the name of the locked plugin whose place it takes. "" is decided by its manifest.
	name string
	// locked is what the lock says, for a plugin that only has to come back.
	locked *lock.Entry
	// old is the job of bringing back the locked one, if the folder lacks it: it is done if this one
	// waits.
	old *job
	// chosen says that the operator named this version.
	chosen bool

	entry lock.Entry
	// replaces says that it takes the place of what the lock lists.
	replaces bool
	module   []byte
}

// install gets what is missing. frozen changes no lock.
func (s *session) install(ctx context.Context, args []string, frozen, beside bool) ([]result, error) {
	f, err := s.readLock()
	if err != nil {
		return nil, err
	}
	jobs, refused, err := s.lacking(f)
	if err != nil {
		return nil, err
	}
	fresh, err := s.unlocked(f, args, beside)
	if err != nil {
		return nil, err
	}
	if frozen && len(fresh) > 0 {
		return nil, fmt.Errorf("%s is not in %s: %w (lock it with: anchor-host plugin install, without --frozen)", fresh[0].text, s.lock, lock.ErrDrift)
	}
	for _, j := range fresh {
		if i := slices.IndexFunc(jobs, func(old *job) bool { return old.name == j.name }); i >= 0 {
			j.old = jobs[i]
			jobs = slices.Delete(jobs, i, i+1)
		}
	}
	replaced := func(name string) bool { return slices.ContainsFunc(fresh, func(j *job) bool { return j.name == name }) }
	if err := refused.but(replaced); err != nil && len(args) == 0 {
		return nil, err
	}
	jobs = append(jobs, fresh...)
	if err := s.fetch(ctx, jobs); err != nil {
		return nil, err
	}
	done, err := s.apply(ctx, jobs, nil)
	if err != nil {
		return nil, err
	}
	if frozen {
		err = s.same(f)
	}
	return done, errors.Join(err, refused.but(func(name string) bool {
		return slices.ContainsFunc(done, func(r result) bool { return r.Name == name && r.Action != string(lock.Wait) })
	}))
}

// refusals say, by name, why the policy refuses locked plugins.
type refusals map[string]error

// but joins all refusals except those of some names.
func (r refusals) but(except func(name string) bool) error {
	var all []error
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if !except(name) {
			all = append(all, r[name])
		}
	}
	return errors.Join(all...)
}

// refuse adds a refusal with its remedy.
func (r refusals) refuse(e *lock.Entry, err error) {
	remedy := fmt.Sprintf("another version comes with plugin update %s", e.Name)
	if e.Version != "" {
		remedy += fmt.Sprintf(", a new signature of this one with plugin install %s@%s", e.Name, e.Version)
	}
	if strings.Contains(e.Name, "@") {
		remedy = "a new signature comes with plugin update " + e.Name
	}
	r[e.Name] = fmt.Errorf("plugin %q: %w; %s; or remove it with plugin remove %s", e.Name, err, remedy, e.Name)
}

// lacking lists the plugins of the lock that the folder lacks or has with another digest, and those
// of all that the policy refuses.
func (s *session) lacking(f *lock.File) (jobs []*job, refused refusals, err error) {
	names := make([]string, len(f.Plugins))
	for i, e := range f.Plugins {
		names[i] = e.Name
	}
	there, err := s.folder(names...)
	if err != nil {
		return nil, nil, err
	}
	refused = refusals{}
	for _, e := range f.Plugins {
		if e.Reference == "" {
			continue
		}
		if err := s.locked(e.Reference, e.Signer, e.Module, e.Manifest); err != nil {
			refused.refuse(&e, err)
			continue
		}
		if have := there[e.Name]; len(have) == 1 && have[0].Err == nil && have[0].Spec.Digest == e.Module {
			continue
		}
		ref, err := registry.ParseReference(e.Reference)
		if err != nil {
			return nil, nil, err
		}
		jobs = append(jobs, &job{ref: ref.At(e.Manifest), text: e.Reference, name: e.Name, locked: &e})
	}
	return jobs, refused, nil
}

// unlocked lists what the configuration and the arguments name and the lock does not.
func (s *session) unlocked(f *lock.File, args []string, beside bool) (jobs []*job, err error) {
	texts := s.loaded.References()
	for _, arg := range args {
		if name, version, ok := strings.Cut(arg, "@"); ok && f.Find(name) != nil && manifest.ValidName(name) {
			j, err := s.other(f.Find(name), version)
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, j)
			continue
		}
		if name, version, ok := strings.Cut(arg, "@"); ok && manifest.ValidName(name) && !strings.Contains(version, ":") {
			return nil, fmt.Errorf("%.100q: %s lists no plugin %q: %w (install it by its reference)", arg, lock.Name, name, registry.ErrReference)
		}
		if manifest.ValidName(arg) {
			return nil, fmt.Errorf("%s: is the name of a plugin, want a reference: %w (find it with: anchor-host plugin search %s)", arg, registry.ErrReference, arg)
		}
		ref, err := registry.ParseReference(arg)
		if err != nil {
			return nil, err
		}
		if text := ref.String(); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	for _, text := range texts {
		if slices.ContainsFunc(f.Plugins, func(e lock.Entry) bool { return e.Reference == text }) {
			continue
		}
		ref, err := registry.ParseReference(text)
		if err != nil {
			return nil, err
		}
		j := &job{ref: ref, text: text}
		if !beside {
			j.name = s.successor(f, ref, jobs)
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// successor returns the name of a locked plugin of the same repository that the configuration no
// longer names by its reference, "" if there is none: a reference with another tag takes its
// place.
func (s *session) successor(f *lock.File, ref registry.Reference, jobs []*job) string {
	for _, e := range f.Plugins {
		old, err := registry.ParseReference(e.Reference)
		taken := slices.ContainsFunc(jobs, func(j *job) bool { return j.name == e.Name })
		if err == nil && !taken && !strings.Contains(e.Name, "@") && old.Name() == ref.Name() && !slices.Contains(s.loaded.References(), e.Reference) {
			return e.Name
		}
	}
	return ""
}

// other is the job of going to another version of a locked plugin. If the configuration names the
// plugin by its reference, the lock keeps that reference.
func (s *session) other(e *lock.Entry, version string) (*job, error) {
	if e.Reference == "" {
		return nil, fmt.Errorf("plugin %q: is a file that no registry has: %w (copy the other version into the plugin folder)", e.Name, fs.ErrNotExist)
	}
	ref, err := registry.ParseReference(e.Reference)
	if err != nil {
		return nil, err
	}
	ref.Tag, ref.Digest = version, ""
	if ref, err = registry.ParseReference(ref.String()); err != nil {
		return nil, err
	}
	j := &job{ref: ref, text: ref.String(), name: e.Name, chosen: true}
	if slices.Contains(s.loaded.References(), e.Reference) {
		j.text = e.Reference
	}
	return j, nil
}

// fetch pulls all jobs, several at once, and checks who signed them. The error is that of the first
// job that failed.
func (s *session) fetch(ctx context.Context, jobs []*job) error {
	errs := make([]error, len(jobs))
	slots := make(chan struct{}, 4)
	var wg sync.WaitGroup
	for i, j := range jobs {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = s.get(ctx, j)
		})
	}
	wg.Wait()
	s.bar.Finish()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// get pulls and checks one job.
func (s *session) get(ctx context.Context, j *job) error {
	p, err := s.client.Pull(ctx, j.ref)
	if err != nil {
		return err
	}
	j.module = p.Module
	if j.locked != nil {
		if p.ModuleDigest != j.locked.Module {
			return fmt.Errorf("%s: its module has the digest %s, %s says %s: %w (take %s from version control, or run: anchor-host plugin update %s)",
				p.Reference, p.ModuleDigest, lock.Name, j.locked.Module, lock.ErrDrift, lock.Name, j.name)
		}
		j.entry = *j.locked
	}
	if j.locked != nil && s.policy.Require != trust.RequireSigned {
		return nil
	}
	is, err := spec.Reader{CacheDir: s.loaded.CachePath()}.Read("", p.Module, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Reference, err)
	}
	if j.locked != nil {
		_, err := s.signed(ctx, p.Reference, is)
		return err
	}
	signer, err := s.signer(ctx, p.Reference, is) // before a foreign module gets a name, which no signature has
	if err != nil {
		return err
	}
	if is.Name == "" {
		is.Name = path.Base(p.Reference.Repository)
	}
	if !manifest.ValidName(is.Name) {
		return fmt.Errorf("%s: %.100q is not a valid plugin name: %w (ask its author for a module with a manifest)", p.Reference, is.Name, registry.ErrNotPlugin)
	}
	j.entry, err = lock.EntryOf(is, j.text, p.Reference.Digest, signer.Key)
	return err
}

// same fails if the plugin folder differs from the lock.
func (s *session) same(f *lock.File) error {
	entries, err := spec.Reader{CacheDir: s.loaded.CachePath()}.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) && len(f.Plugins) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	var all []error
	for _, d := range f.Check(entries, s.policy) {
		all = append(all, d)
	}
	for _, e := range entries {
		if e.Err != nil {
			all = append(all, e.Err)
		}
	}
	return errors.Join(all...)
}
