package lock

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/internal/strict"
	"github.com/anchor-host/anchor-host/registry/trust"
)

// Kind says in which way a plugin differs from anchor.lock.
type Kind string

// The kinds of drift.
const (
	// Missing: the lock lists it, and the plugin folder does not have it.
	Missing Kind = "missing"
	// Changed: its digest is another one, or the lock states another version for the digest.
	Changed Kind = "changed"
	// AsksMore: it asks for more than the lock lists.
	AsksMore Kind = "asks_more"
	// NotLocked: the lock does not list it.
	NotLocked Kind = "not_locked"
	// Refused: the policy of trust does not allow it.
	Refused Kind = "refused"
)

// ErrDrift is wrapped by the errors of [Guard.Hold] about plugins.
var ErrDrift = errors.New("differs from " + Name)

// Drift is one difference between a plugin folder and anchor.lock.
type Drift struct {
	// Plugin is the name of the plugin.
	Plugin string
	// Kind says in which way it differs.
	Kind Kind
	// Added is what it asks for beyond the lock, for AsksMore.
	Added []string
	// Allowed says that it may run nevertheless, because the policy requires no lock.
	Allowed bool
	// text says what differs and what to do about it. cause is the reason of the policy.
	text  string
	cause error
}

// Error names the plugin, the difference and the remedy on one line.
func (d *Drift) Error() string { return fmt.Sprintf("plugin %q: %s", d.Plugin, d.text) }

// Unwrap returns ErrDrift, and the reason of the policy if there is one.
func (d *Drift) Unwrap() []error {
	if d.cause == nil {
		return []error{ErrDrift}
	}
	return []error{ErrDrift, d.cause}
}

// Check compares all plugins of a folder with the lock and the policy, which may be nil. The result is
// sorted by name.
// Plugins that could not be read are left out: they do not run.
func (f *File) Check(entries []spec.Entry, policy *trust.Policy) []*Drift {
	var list []*Drift
	there := map[string]bool{}
	for _, e := range entries {
		there[e.Name] = true
		if e.Err == nil {
			if d := f.drift(e.Name, e.Spec, policy); d != nil {
				list = append(list, d)
			}
		}
	}
	for _, e := range f.Plugins {
		if !there[e.Name] {
			list = append(list, &Drift{Plugin: e.Name, Kind: Missing, text: "is in " + Name + ", but not in the plugin folder (get it with: anchor-host plugin install; or remove it with: anchor-host plugin remove " + e.Name + ")"})
		}
	}
	slices.SortStableFunc(list, func(a, b *Drift) int { return strings.Compare(a.Plugin, b.Plugin) })
	return list
}

// drift compares one plugin of the folder. It returns nil if nothing differs.
func (f *File) drift(name string, s *spec.Spec, policy *trust.Policy) *Drift {
	d := &Drift{Plugin: name}
	if policy == nil {
		policy = &trust.Policy{}
	}
	locked := f.Find(name)
	if locked == nil {
		return d.notLocked(s, policy)
	}
	if s.Digest != locked.Module {
		d.Kind = Changed
		d.text = fmt.Sprintf("its digest is %s, that in %s is %s (get the locked one with: anchor-host plugin install; or lock this one with: anchor-host plugin approve %s)", s.Digest, Name, locked.Module, name)
		return d
	}
	if s.Manifest != nil && locked.Version != "" && locked.Version != s.Manifest.Version {
		d.Kind = Changed
		d.text = fmt.Sprintf("its version is %.50q, that in %s is %.50q (take %s from version control, or run: anchor-host plugin update %s)", s.Manifest.Version, Name, locked.Version, Name, name)
		return d
	}
	asks, err := Asks(s.Manifest)
	if err != nil {
		d.Kind, d.cause, d.text = Refused, err, err.Error()
		return d
	}
	if d.Added, _ = Difference(locked.Permissions, asks); len(d.Added) > 0 {
		d.Kind = AsksMore
		d.text = fmt.Sprintf("it asks for more than %s lists: %s (allow it with: anchor-host plugin approve %s)", Name, few(d.Added), name)
		return d
	}
	return d.judged(policy.CheckLocked(locked.Reference, locked.Signer, locked.Module, locked.Manifest))
}

func (d *Drift) notLocked(s *spec.Spec, policy *trust.Policy) *Drift {
	d.Kind = NotLocked
	if policy.Require == trust.RequireDigest || policy.Require == trust.RequireSigned {
		d.text = fmt.Sprintf("is not in %s, and trust.require is %s (lock it with: anchor-host plugin approve %s)", Name, policy.Require, d.Plugin)
		if policy.Require == trust.RequireSigned {
			d.text = fmt.Sprintf("is not in %s, and trust.require is signed (install a signed one with: anchor-host plugin install)", Name)
		}
		return d
	}
	if err := policy.CheckLocked("", "", s.Digest); err != nil {
		return d.judged(err)
	}
	d.Allowed = true
	d.text = fmt.Sprintf("is not in %s, so that nothing notices when its file changes (lock it with: anchor-host plugin approve %s)", Name, d.Plugin)
	return d
}

// judged is the drift of what the policy said, nil if it allows the plugin.
func (d *Drift) judged(err error) *Drift {
	if err == nil {
		return nil
	}
	d.Kind, d.cause, d.text = Refused, err, err.Error()
	return d
}

// few returns the first lines of a list on one line.
func few(lines []string) string {
	const most = 5
	if len(lines) <= most {
		return strings.Join(lines, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(lines[:most], ", "), len(lines)-most)
}

// oneLine returns an error that shows only the first of several mistakes.
func oneLine(err error) error {
	var all strict.Problems
	if !errors.As(err, &all) || len(all) < 2 {
		return err
	}
	return fmt.Errorf("%w: %w, and %d more errors", ErrInvalid, all[0], len(all)-1)
}

// Guard holds the plugins of a configuration against its anchor.lock and its policy.
type Guard struct {
	// Path is the lock. There may be no such file: then nothing is locked.
	Path string
	// Policy is the policy of trust. nil requires nothing.
	Policy *trust.Policy
}

// File reads the lock. Without a file, or a Guard, it is one whose Plugins are nil. Errors are those of [Read].
func (g *Guard) File() (*File, error) {
	if g == nil {
		return &File{Version: Version}, nil
	}
	f, err := Read(g.Path)
	if missing(err) {
		return &File{Version: Version}, nil
	}
	if err == nil && f.Plugins == nil {
		f.Plugins = []Entry{}
	}
	return f, err
}

// Hold sets Err of those entries that may not run: what is locked with another digest, asks for
// more, is not locked although the policy requires it, or is revoked. Such an error wraps
// [ErrDrift]. If there is a lock, the notes name the plugins that it does not list and that may
// run. The error says that the lock cannot be read; then no plugin may run.
//
// The file is read anew each time. A nil Guard allows everything.
func (g *Guard) Hold(entries []spec.Entry) (notes []string, err error) {
	if g == nil {
		return nil, nil
	}
	f, err := g.File()
	if err != nil {
		return nil, oneLine(err)
	}
	for i := range entries {
		e := &entries[i]
		if e.Err != nil {
			continue
		}
		switch d := f.drift(e.Name, e.Spec, g.Policy); {
		case d == nil:
		case !d.Allowed:
			e.Spec, e.Err = nil, d
		case f.Plugins != nil:
			notes = append(notes, d.Error())
		}
	}
	return notes, nil
}
