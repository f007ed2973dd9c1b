package registrycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/internal/atomicfile"
	"github.com/anchor-host/anchor-host/registry/lock"
)

// What became of a plugin, beyond the actions of package lock.
const (
	restored = "restore"
	removed  = "remove"
)

// result is what became of one plugin.
type result struct {
	Name      string `json:"name"`
	Action    string `json:"action"`
	Version   string `json:"version,omitempty"`
	Before    string `json:"before,omitempty"`
	Reference string `json:"reference,omitempty"`
	Signer    string `json:"signer,omitempty"`
	// Asks is what it asks for beyond the version before.
	Asks    []string `json:"asks,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
}

// errWaiting says that an update waits. Its exit code is that of a refused permission.
var errWaiting = fmt.Errorf("waits for approval: %w", lock.ErrDrift)

// report prints what became of the plugins. It fails if one of them waits.
func (s *session) report(format string, done []result) error {
	if done == nil {
		done = []result{}
	}
	l := cli.Listing{Header: []string{"PLUGIN", "VERSION", "ACTION", "ASKS FOR"}, Data: done}
	var waiting []string
	for _, r := range done {
		version := cli.Dash(r.Version)
		if r.Before != "" && r.Before != r.Version {
			version = r.Before + " -> " + version
		}
		l.Rows = append(l.Rows, []string{r.Name, version, r.Action, cli.Dash(strings.Join(r.Asks, ", "))})
		if r.Action == string(lock.Wait) {
			waiting = append(waiting, r.Name)
			s.app.Say("plugin %q: %s stays, because %s %s (allow it with: anchor-host plugin approve %s)", r.Name, r.Before, r.Version, strings.Join(r.Reasons, "; "), r.Name)
		}
	}
	for _, r := range done {
		if base, _, ok := strings.Cut(r.Name, "@"); ok && r.Action == string(lock.Add) {
			s.app.Say("plugin %q: is there beside %q; a step uses it with plugin: %s", r.Name, base, r.Name)
		}
	}
	if len(done) == 0 && format == "table" && s.skipped {
		return nil
	}
	if len(done) == 0 && format == "table" {
		s.app.Say("nothing to do: the plugin folder is as %s says", lock.Name)
		return nil
	}
	if err := s.app.Print(format, l); err != nil {
		return err
	}
	if len(waiting) > 0 {
		return fmt.Errorf("%s: %w", strings.Join(waiting, ", "), errWaiting)
	}
	return nil
}

// apply changes lock and folder: all jobs that may be done, or nothing. approved are the names
// whose updates need not wait.
func (s *session) apply(ctx context.Context, jobs []*job, approved map[string]bool) (done []result, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	var files staged
	defer files.discard()
	stage := func(f *lock.File) error {
		done = nil
		for _, j := range jobs {
			if j.locked != nil && !unchanged(f.Find(j.name), j.locked) {
				s.app.Say("plugin %q: another command has changed it in %s meanwhile: it stays as that says", j.name, lock.Name)
				s.skipped = true
				continue
			}
			r, err := s.place(f, j, approved)
			if err != nil {
				return err
			}
			if r.Action == string(lock.Keep) && !j.chosen { // another process was faster
				continue
			}
			done = append(done, r)
			if r.Action == string(lock.Wait) {
				if err := s.keep(ctx, &files, f, j.old); err != nil {
					return err
				}
				continue
			}
			if err := s.stage(&files, j); err != nil {
				return err
			}
			if j.locked == nil {
				f.Set(j.entry)
			}
		}
		return files.commit()
	}
	if onlyRestores(jobs) { // the lock stays as it is, and may be read-only
		err = lock.Hold(ctx, s.lock, stage)
	} else {
		err = lock.Edit(ctx, s.lock, func(f *lock.File) error {
			sweep(s.dir)
			return stage(f)
		})
	}
	if err != nil {
		return nil, errors.Join(err, files.undo())
	}
	return done, nil
}

// keep brings back the locked plugin that a waiting update would have replaced, if the folder lacks it.
func (s *session) keep(ctx context.Context, files *staged, f *lock.File, old *job) error {
	if old == nil || !unchanged(f.Find(old.name), old.locked) {
		return nil
	}
	if err := s.get(ctx, old); err != nil {
		return err
	}
	return s.stage(files, old)
}

// unchanged reports whether the lock says the same of a plugin as before.
func unchanged(now, before *lock.Entry) bool {
	return now != nil && now.Reference == before.Reference && now.Manifest == before.Manifest && now.Module == before.Module
}

func onlyRestores(jobs []*job) bool {
	return !slices.ContainsFunc(jobs, func(j *job) bool { return j.locked == nil })
}

// place decides on the name of a job in the lock, and what becomes of it.
func (s *session) place(f *lock.File, j *job, approved map[string]bool) (result, error) {
	if j.locked != nil {
		return result{Name: j.name, Action: restored, Version: j.entry.Version, Reference: j.text, Signer: j.entry.Signer}, nil
	}
	if i := slices.IndexFunc(f.Plugins, func(e lock.Entry) bool { return e.Reference == j.text }); i >= 0 && j.name == "" {
		j.name = f.Plugins[i].Name // another process has added it meanwhile
	}
	name, err := s.nameOf(f, j)
	if err != nil {
		return result{}, err
	}
	j.entry.Name = name
	d := f.Plan(j.entry)
	r := result{Name: name, Action: string(d.Action), Version: j.entry.Version, Reference: j.text, Signer: j.entry.Signer, Asks: d.Added, Reasons: d.Reasons}
	if d.Old == nil {
		return r, nil
	}
	r.Before, j.replaces = d.Old.Version, true
	if why := suspicious(d.Old, &j.entry); why != "" && !j.chosen {
		r.Action, r.Reasons = string(lock.Wait), append(r.Reasons, why)
	}
	if approved[name] && r.Action == string(lock.Wait) {
		r.Action, r.Reasons = string(lock.Replace), nil
	}
	return r, nil
}

// suspicious says why an update may not be meant: tags move forward, and a version has one
// content.
func suspicious(old, update *lock.Entry) string {
	order, err := lock.CompareVersions(update.Version, old.Version)
	switch {
	case err != nil:
	case order < 0 && update.Module != old.Module: // otherwise only the lock was edited
		return "is older"
	case order == 0 && update.Module != old.Module:
		return "is another file of the same version"
	}
	return ""
}

// nameOf returns the name of a job in lock and folder: that of its manifest, with the version if
// another version has the name.
func (s *session) nameOf(f *lock.File, j *job) (string, error) {
	base := j.entry.Name
	if b, version, ok := strings.Cut(j.name, "@"); ok && b == base {
		if version != j.entry.Version {
			return "", fmt.Errorf("%s: has the version %q now: %w (install that beside it with: anchor-host plugin install --beside %s)", j.ref, j.entry.Version, lock.ErrDrift, j.ref)
		}
		return j.name, nil
	}
	if b, _, ok := strings.Cut(j.name, "@"); j.name != "" && !ok {
		if b != base {
			return "", fmt.Errorf("%s: is the plugin %q, but %s has %q from there: %w (remove that with: anchor-host plugin remove %s)", j.ref, base, lock.Name, b, lock.ErrDrift, b)
		}
		return base, nil
	}
	old := f.Find(base)
	if old == nil {
		return base, nil
	}
	if old.Reference == "" {
		return "", fmt.Errorf("%s: the plugin folder has another plugin %q, which is locked as a file: %w (remove it with: anchor-host plugin remove %s)", j.ref, base, lock.ErrDrift, base)
	}
	if j.entry.Version == "" || strings.ContainsAny(j.entry.Version, `/\`) {
		return "", fmt.Errorf("%s: another plugin is %q already, and this one has no version: %w (remove the other one)", j.ref, base, lock.ErrDrift)
	}
	return base + "@" + j.entry.Version, nil
}

// stage writes the module of a job beside its place.
func (s *session) stage(files *staged, j *job) error {
	path := filepath.Join(s.dir, j.entry.Name+".wasm")
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("plugin %q: %s is a link, a folder or a device, and is not replaced: %w (remove or rename it)", j.entry.Name, path, lock.ErrDrift)
	}
	there, err := s.folder(j.entry.Name)
	if err != nil {
		return err
	}
	for _, e := range there[j.entry.Name] {
		same := e.Err == nil && e.Spec.Digest == j.entry.Module
		foreign := e.Path != path || !j.replaces && j.locked == nil
		if foreign && (!same || len(there[j.entry.Name]) > 1) {
			return fmt.Errorf("plugin %q: %s has this name too, and did not come from a registry: %w (remove or rename it)", j.entry.Name, e.Path, lock.ErrDrift)
		}
		if same {
			return nil
		}
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return fmt.Errorf("plugin folder: make: %w", err)
	}
	return files.add(path, j.module)
}

// leftover is the name of a file that add or commit made.
var leftover = regexp.MustCompile(`^\.[a-z0-9@.+-]+\.wasm\.[0-9]+(\.old)?$`)

// sweep removes what killed processes left in the plugin folder. The lock is held. Only a process
// that restores files may work beside this one, and it needs less than an hour.
func sweep(dir string) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return // there is none yet
	}
	for _, file := range files {
		info, err := file.Info()
		if err == nil && info.Mode().IsRegular() && leftover.MatchString(file.Name()) && time.Since(info.ModTime()) > time.Hour {
			_ = os.Remove(filepath.Join(dir, file.Name())) // the next one tries again
		}
	}
}

// staged are files that are complete, but not at their places yet.
type staged struct {
	// temps, paths and kept have the same order. kept is the file that was there before, "" for
	// none.
	temps, paths, kept []string
	moved              int
}

func (f *staged) add(path string, data []byte) error {
	temp, err := atomicfile.Stage(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return fmt.Errorf("plugin folder: write %s: %w", path, err)
	}
	f.temps, f.paths, f.kept = append(f.temps, temp), append(f.paths, path), append(f.kept, "")
	return nil
}

// commit moves all files to their places, and keeps what was there for undo.
func (f *staged) commit() error {
	for i, path := range f.paths {
		kept := f.temps[i] + ".old"
		switch err := os.Link(path, kept); {
		case err == nil:
			f.kept[i] = kept
		case errors.Is(err, os.ErrNotExist):
		case os.Rename(path, kept) == nil: // a file system without hard links
			f.kept[i] = kept
		default:
			return errors.Join(fmt.Errorf("plugin folder: keep %s: %w", path, err), f.undo())
		}
		if err := os.Rename(f.temps[i], path); err != nil {
			return errors.Join(fmt.Errorf("plugin folder: replace %s: %w", path, err), f.undo())
		}
		f.moved = i + 1
	}
	return nil
}

// undo brings back what was there before commit.
func (f *staged) undo() (err error) {
	for i, path := range f.paths[:f.moved] {
		if f.kept[i] == "" {
			err = errors.Join(err, os.Remove(path))
		} else {
			err = errors.Join(err, os.Rename(f.kept[i], path))
			f.kept[i] = ""
		}
	}
	f.moved = 0
	return err
}

// discard removes what is left over.
func (f *staged) discard() {
	for i, temp := range f.temps {
		_ = os.Remove(temp) // it is usually at its place already
		if f.kept[i] != "" {
			_ = os.Remove(f.kept[i])
		}
	}
}
