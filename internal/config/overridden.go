package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Override sets a value and records its origin. The error does not name the origin.
func (l *Loaded) Override(o Override, value, origin string) error {
	if err := o.set(&l.Config, value); err != nil {
		return err
	}
	l.overridden = append(l.overridden, overridden{o, value, origin})
	return nil
}

// overriddenAt returns the last override of a path.
func (l *Loaded) overriddenAt(path string) (overridden, bool) {
	for _, o := range slices.Backward(l.overridden) {
		if o.Path == path {
			return o, true
		}
	}
	return overridden{}, false
}

// OverriddenBy reports whether an origin that begins so has overridden a value.
func (l *Loaded) OverriddenBy(origin string) bool {
	return slices.ContainsFunc(l.overridden, func(o overridden) bool { return strings.HasPrefix(o.origin, origin) })
}

// CheckOverrides checks the whole configuration again if values were overridden, because values
// that are valid by themselves may contradict each other. The error names the origins of the
// values.
func (l *Loaded) CheckOverrides() error {
	if len(l.overridden) == 0 {
		return nil
	}
	findings := l.Check()
	if len(findings) == 0 {
		return nil
	}
	f := findings[0]
	if o, ok := l.overriddenAt(f.Path); ok {
		return fmt.Errorf("%w: %s: %s", ErrInvalid, o.origin, f.Message)
	}
	origins := make([]string, len(l.overridden))
	for i, o := range l.overridden {
		origins[i] = o.origin
	}
	return fmt.Errorf("%w: %s: %s (with %s)", ErrInvalid, f.Path, f.Message, strings.Join(origins, ", "))
}

// Location returns the path of the file, which is absolute after [Loaded.Absolute]. It is empty if
// there is no file of the system.
func (l *Loaded) Location() string {
	if l.read != nil {
		return ""
	}
	if l.File != "" && filepath.IsAbs(l.Dir) {
		return filepath.Join(l.Dir, filepath.Base(l.File))
	}
	return l.File
}

// bare reports whether the file has no settings, or there is no file.
func (l *Loaded) bare() bool { return l.node == nil || len(l.node.Entries()) == 0 }

// Again reads the file of l again and applies the overrides of l. A file that has lost all its settings is an error:
// it was truncated, as by a writer that is at work or has found the disk full.
func (l *Loaded) Again() (*Loaded, error) {
	again := Default()
	switch {
	case l.read != nil:
		var err error
		if again, err = l.again(); err != nil {
			return nil, err
		}
	case l.File != "":
		var err error
		if again, err = Load(l.Location()); err != nil {
			return nil, err
		}
		again.File = l.File
	}
	if again.bare() && !l.bare() {
		return nil, fmt.Errorf("%w: %s: has no settings any more (write them again; to go on with the defaults, restart)", ErrInvalid, l.File)
	}
	again.Dir = l.Dir
	for _, o := range l.overridden {
		if err := again.Override(o.Override, o.value, o.origin); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrInvalid, o.origin, err)
		}
	}
	return again, again.CheckOverrides()
}
