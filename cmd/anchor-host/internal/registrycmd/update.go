package registrycmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/openregistry"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/nearest"
	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/lock"
	"github.com/anchor-host/anchor-host/registry/trust"
)

func updateCommand(a *cli.App) *cobra.Command {
	var o openregistry.Flags
	var dry bool
	cmd := &cobra.Command{
		Use:   "update [flags] [NAME]...",
		Short: "Update all or some locked plugins, or list what could be updated",
		Long: `Update the plugins of anchor.lock, or those that you name. Where anchor.yaml names a
plugin by its reference, its tag is looked up again; others go to the highest version
among the tags of their repository. A plugin whose name states its version is only
updated if you name it: that looks for a new signature.

A version that asks for more permissions, is no longer signed, is older, or is another
file of the same version waits until "plugin approve"; the exit code is then 5. --dry-run
lists what update would take (UPDATE; "gone" if the registry no longer has it) and which
higher version there is (NEWEST).`,
		Example: `  anchor-host plugin update --dry-run
  anchor-host plugin update bm25 -o json`,
	}
	o.Add(cmd)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "change nothing; list the plugins that have another version in their registry")
	return command(a, cmd, &o, func(ctx context.Context, s *session, names []string) (l cli.Listing, err error) {
		f, err := s.readLock()
		if err != nil {
			return l, err
		}
		for _, name := range names {
			if _, err := find(f, name); err != nil {
				return l, err
			}
		}
		if dry {
			return s.outdated(ctx, f, names)
		}
		jobs, err := s.updates(ctx, f, names)
		if err != nil {
			return l, err
		}
		if o.Offline && len(jobs) > 0 {
			return l, fmt.Errorf("update: cannot check for updates with --offline: %w (leave --offline out)", registry.ErrOffline)
		}
		if err := s.fetch(ctx, jobs); err != nil {
			return l, err
		}
		jobs = slices.DeleteFunc(jobs, func(j *job) bool { return f.Plan(j.entry).Action == lock.Keep })
		done, err := s.apply(ctx, jobs, nil)
		if err != nil {
			return l, err
		}
		return l, s.report(cli.Format(cmd), done)
	})
}

// updates lists the jobs of looking for other versions.
func (s *session) updates(ctx context.Context, f *lock.File, names []string) (jobs []*job, err error) {
	for _, e := range f.Plugins {
		named := slices.Contains(names, e.Name)
		if e.Reference == "" || len(names) > 0 && !named || strings.Contains(e.Name, "@") && !named {
			continue
		}
		j, err := s.update(ctx, &e)
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// find returns the locked plugin of a name.
func find(f *lock.File, name string) (*lock.Entry, error) {
	if e := f.Find(name); e != nil {
		return e, nil
	}
	names := make([]string, len(f.Plugins))
	for i, e := range f.Plugins {
		names[i] = e.Name
	}
	hint := ""
	if n := nearest.Name(name, names); n != "" {
		hint = fmt.Sprintf("; did you mean %q?", n)
	}
	return nil, fmt.Errorf("plugin %.100q: is not in %s: %w (install it with: anchor-host plugin install%s)", name, lock.Name, fs.ErrNotExist, hint)
}

// update is the job of looking for another version of a plugin.
func (s *session) update(ctx context.Context, e *lock.Entry) (*job, error) {
	ref, err := registry.ParseReference(e.Reference)
	if err != nil {
		return nil, err
	}
	j := &job{ref: ref, text: e.Reference, name: e.Name}
	wanted := s.loaded.References()
	if slices.Contains(wanted, e.Reference) || strings.Contains(e.Name, "@") { // that version stays
		return j, nil
	}
	for _, text := range wanted { // the configuration has another tag now
		if other, err := registry.ParseReference(text); err == nil && other.Name() == ref.Name() {
			j.ref, j.text = other, text
			return j, nil
		}
	}
	if newest, err := s.newest(ctx, ref, e.Version); err != nil {
		return nil, err
	} else if newest != "" {
		j.ref.Tag, j.ref.Digest = newest, ""
		j.text = j.ref.String()
	}
	return j, nil
}

// newest returns the tag of the highest release above a version, "" if there is none.
func (s *session) newest(ctx context.Context, ref registry.Reference, version string) (newest string, err error) {
	tags, err := s.client.Tags(ctx, ref)
	if err != nil {
		return "", err
	}
	highest := version
	for _, tag := range tags {
		bare := strings.TrimPrefix(tag, "v")
		order, err := lock.CompareVersions(bare, highest)
		if err == nil && order > 0 && !strings.Contains(bare, "-") { // no version before a release
			highest, newest = bare, tag
		}
	}
	return newest, nil
}

// available is one line of "plugin update --dry-run".
type available struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Update is the version that plugin update takes, or its digest. Newest is the highest in the
	// repository. Each is "" if it is the locked one, or there is none. Gone says that the registry no
	// longer has what anchor.yaml or the lock names.
	Update    string `json:"update,omitempty"`
	Gone      bool   `json:"gone,omitempty"`
	Newest    string `json:"newest,omitempty"`
	Reference string `json:"reference"`
}

// outdated lists the locked plugins that have another version in their registry.
func (s *session) outdated(ctx context.Context, f *lock.File, names []string) (l cli.Listing, err error) {
	list := []available{}
	l.Header = []string{"PLUGIN", "VERSION", "UPDATE", "NEWEST", "REFERENCE"}
	for _, e := range f.Plugins {
		if e.Reference == "" || len(names) > 0 && !slices.Contains(names, e.Name) {
			continue
		}
		one, err := s.available(ctx, &e)
		if err != nil {
			return l, err
		}
		if one.Update != "" || one.Newest != "" || one.Gone {
			list = append(list, one)
			update := cli.Dash(one.Update)
			if one.Gone {
				update = "gone"
			}
			l.Rows = append(l.Rows, []string{one.Name, cli.Dash(one.Version), update, cli.Dash(one.Newest), one.Reference})
		}
	}
	l.Data = list
	return l, nil
}

// available says which other versions a locked plugin has.
func (s *session) available(ctx context.Context, e *lock.Entry) (available, error) {
	one := available{Name: e.Name, Version: e.Version, Reference: e.Reference}
	ref, err := registry.ParseReference(e.Reference)
	if err != nil {
		return one, err
	}
	one.Newest, err = s.newest(ctx, ref, e.Version)
	if one.Gone = errors.Is(err, registry.ErrNotFound); one.Gone {
		return one, nil
	}
	if err != nil {
		return one, err
	}
	if strings.Contains(e.Name, "@") { // is not updated
		return one, nil
	}
	j, err := s.update(ctx, e)
	if err != nil {
		return one, err
	}
	now, err := s.client.Resolve(ctx, j.ref)
	if one.Gone = errors.Is(err, registry.ErrNotFound); one.Gone || err == nil && now.Digest == e.Manifest {
		return one, nil
	}
	if err != nil {
		return one, err
	}
	one.Update = now.Digest
	if d, err := s.client.Describe(ctx, now); err == nil && d.Version != "" && !plain.Has(d.Version) {
		one.Update = d.Version
	}
	return one, nil
}

func approveCommand(a *cli.App) *cobra.Command {
	var o openregistry.Flags
	var yes bool
	cmd := &cobra.Command{
		Use:   "approve [flags] NAME[@VERSION]",
		Short: "Allow an update that asks for more, or a file of the plugin folder",
		Long: `Show what a waiting update asks for beyond the locked version, and install it if you
confirm. If the file in the plugin folder is not the locked one, or is not locked at
all, that file is shown and locked instead.`,
		Example: `  anchor-host plugin approve bm25
  anchor-host plugin approve bm25 --yes`,
		Args: cli.Exactly("NAME"),
	}
	o.Add(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return command(a, cmd, &o, func(ctx context.Context, s *session, args []string) (l cli.Listing, err error) {
		done, err := s.approve(ctx, args[0], yes)
		if err != nil {
			return l, err
		}
		return l, s.report(cli.Format(cmd), done)
	})
}

// approve installs an update, or locks a file.
func (s *session) approve(ctx context.Context, name string, yes bool) ([]result, error) {
	f, err := s.readLock()
	if err != nil {
		return nil, err
	}
	there, err := s.folder(name)
	if err != nil {
		return nil, err
	}
	if have := there[name]; len(have) == 1 {
		if have[0].Err != nil {
			return nil, have[0].Err
		}
		drift := (&lock.File{Plugins: only(f, name)}).Check(have, s.policy)
		locked := f.Find(name)
		same := locked != nil && locked.Reference != "" && locked.Module == have[0].Spec.Digest // then it is no file of the operator
		if len(drift) > 0 && drift[0].Kind != lock.Refused && !same {
			return s.approveFile(ctx, f, have[0].Spec, yes)
		}
	}
	j, err := s.waiting(ctx, f, name)
	if err != nil {
		return nil, err
	}
	if err := s.fetch(ctx, []*job{j}); err != nil {
		return nil, err
	}
	r, err := s.place(f, j, nil)
	if err != nil || r.Action == string(lock.Keep) {
		return nil, err
	}
	if err := s.confirm(r, yes); err != nil {
		return nil, err
	}
	return s.apply(ctx, []*job{j}, map[string]bool{r.Name: true})
}

func only(f *lock.File, name string) []lock.Entry {
	if e := f.Find(name); e != nil {
		return []lock.Entry{*e}
	}
	return nil
}

// waiting is the job of the update that NAME or NAME@VERSION means.
func (s *session) waiting(ctx context.Context, f *lock.File, name string) (*job, error) {
	if base, version, ok := strings.Cut(name, "@"); ok && f.Find(name) == nil && f.Find(base) != nil {
		return s.other(f.Find(base), version)
	}
	e, err := find(f, name)
	if err != nil {
		return nil, err
	}
	if e.Reference == "" {
		return nil, fmt.Errorf("plugin %q: is a file, and the same as in %s: %w (nothing waits for approval)", name, lock.Name, fs.ErrNotExist)
	}
	return s.update(ctx, e)
}

// approveFile locks a file of the plugin folder.
func (s *session) approveFile(ctx context.Context, f *lock.File, is *spec.Spec, yes bool) ([]result, error) {
	if s.policy.Require == trust.RequireSigned {
		return nil, fmt.Errorf("plugin %q: the file in the plugin folder is %w, and trust.require is signed (install a signed one with: anchor-host plugin install)", is.Name, trust.ErrUnsigned)
	}
	entry, err := lock.EntryOf(is, "", "", "")
	if err != nil {
		return nil, err
	}
	d := f.Plan(entry)
	r := result{Name: entry.Name, Action: "approve", Version: entry.Version, Asks: d.Added, Reasons: d.Reasons}
	if d.Old != nil {
		r.Before = d.Old.Version
	}
	if err := s.policy.CheckLocked("", "", entry.Module); err != nil {
		return nil, fmt.Errorf("plugin %q: %w", entry.Name, err)
	}
	if err := s.confirm(r, yes); err != nil {
		return nil, err
	}
	return []result{r}, lock.Edit(ctx, s.lock, func(f *lock.File) error {
		f.Set(entry)
		return nil
	})
}

// confirm shows what a plugin asks for, and waits for the answer y.
func (s *session) confirm(r result, yes bool) error {
	before := ""
	if r.Before != "" {
		before = " in place of " + r.Before
	}
	s.app.Say("plugin %q: %s%s", r.Name, cli.Dash(r.Version), before)
	for _, line := range r.Asks {
		s.app.Say("  + %s", line)
	}
	for _, reason := range r.Reasons {
		s.app.Say("  because it waits: it %s", reason)
	}
	if yes {
		return nil
	}
	s.app.Say("allow it? [y/N]")
	answer, _ := bufio.NewReader(&limited{s.app}).ReadString('\n') // no answer is no
	if strings.EqualFold(strings.TrimSpace(answer), "y") || strings.EqualFold(strings.TrimSpace(answer), "yes") {
		return nil
	}
	return fmt.Errorf("plugin %q: %w (answer y, or give --yes)", r.Name, errWaiting)
}

// limited reads at most a line of an answer at once.
type limited struct{ app *cli.App }

func (l *limited) Read(b []byte) (int, error) { return l.app.In.Read(b[:min(len(b), 64)]) }

func removeCommand(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remove [flags] NAME",
		Short: "Remove a plugin from anchor.lock and the plugin folder",
		Long: `Remove a plugin from anchor.lock, and its file from the plugin folder if it is the
locked one. Another file stays, and so does what you built there yourself.`,
		Example: `  anchor-host plugin remove bm25`,
		Args:    cli.Exactly("NAME"),
	}
	return command(a, cmd, &openregistry.Flags{Offline: true}, func(ctx context.Context, s *session, args []string) (l cli.Listing, err error) {
		f, err := s.readLock()
		if err != nil {
			return l, err
		}
		e, err := find(f, args[0])
		if err != nil {
			return l, err
		}
		if slices.Contains(s.loaded.References(), e.Reference) {
			a.Say("anchor.yaml still names %s: install brings it back", e.Reference)
		}
		left, err := s.remove(ctx, *e)
		if err != nil {
			return l, err
		}
		if left != "" && e.Reference == "" {
			a.Say("%s stays: it did not come from a registry", left)
		} else if left != "" {
			a.Say("%s stays: it is not the locked file", left)
		}
		return l, s.report(cli.Format(cmd), []result{{Name: e.Name, Action: removed, Version: e.Version, Reference: e.Reference}})
	})
}

// remove removes an entry, and then its file if it came from a registry. It returns the path of a
// file that stays.
func (s *session) remove(ctx context.Context, e lock.Entry) (left string, err error) {
	there, err := s.folder(e.Name)
	if err != nil {
		return "", err
	}
	if err := lock.Edit(ctx, s.lock, func(f *lock.File) error { f.Remove(e.Name); return nil }); err != nil {
		return "", err
	}
	have := there[e.Name]
	if len(have) == 0 {
		return "", nil
	}
	if e.Reference == "" || len(have) != 1 || have[0].Err != nil || have[0].Spec.Digest != e.Module {
		return have[0].Path, nil
	}
	if err := os.Remove(have[0].Path); err != nil {
		return "", fmt.Errorf("plugin folder: remove: %w", err)
	}
	return "", nil
}
