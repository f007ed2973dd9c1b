package components

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/anchor-host/anchor-host/anchor/component"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Live has the components of one version of a configuration. It is safe for concurrent use.
type Live struct {
	set *Set

	mu      sync.Mutex // held while a component is made
	allowed map[key]bool
	made    map[key]*Made
	order   []key // in which they were made
	closed  bool
}

// Made is a component with its settings.
type Made struct {
	name  string
	value any
}

// key is a component with its settings as canonical JSON.
type key struct{ name, settings string }

// errClosed is the error of a version that was closed.
var errClosed = errors.New("the configuration is closed")

// Live returns the components of a version, none of them made.
func (s *Set) Live() *Live {
	return &Live{set: s, allowed: map[key]bool{}, made: map[key]*Made{}}
}

// Kind is [Set.Kind].
func (l *Live) Kind(name string) Kind {
	if l == nil {
		return ""
	}
	return l.set.Kind(name)
}

// Allow lets a component have settings. Others cannot be made: those of requests come from outside, and
// what they made would stay.
func (l *Live) Allow(name string, given map[string]any) error {
	canonical, _, err := l.set.makers[name].schema.Check(given)
	if err == nil {
		l.allowed[key{name, string(canonical)}] = true
	}
	return err
}

// Get returns a component with settings. The first call makes it. Errors about settings wrap
// [component.ErrSettings].
func (l *Live) Get(ctx context.Context, name string, given map[string]any) (*Made, error) {
	canonical, full, err := l.set.makers[name].schema.Check(given)
	if err != nil {
		return nil, fmt.Errorf("component %q: %w: %w", name, component.ErrSettings, err)
	}
	k := key{name, string(canonical)}
	if !l.allowed[k] {
		return nil, fmt.Errorf("component %q: %w: the configuration does not name it with these (name it there; a request cannot)", name, component.ErrSettings)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if made, ok := l.made[k]; ok {
		return made, nil
	}
	if l.closed {
		return nil, errClosed
	}
	made := &Made{name: name}
	err = core.Guard(func() (err error) {
		made.value, err = l.set.makers[name].make(ctx, full)
		return err
	})
	if err == nil && made.value == nil {
		err = errors.New("its New returned nil (return a component or an error)")
	}
	if err != nil {
		return nil, &Error{name, "make: ", err}
	}
	l.made[k], l.order = made, append(l.order, k)
	return made, nil
}

// Close closes the components, the last one first.
func (l *Live) Close() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	var errs []error
	for _, k := range slices.Backward(l.order) {
		if c, ok := l.made[k].value.(io.Closer); ok {
			if err := core.Guard(c.Close); err != nil {
				errs = append(errs, &Error{k.name, "close: ", err})
			}
		}
	}
	l.order = nil
	return errors.Join(errs...)
}

// Error is the error of a component.
type Error struct {
	// Name is the name of the component.
	Name string
	what string
	err  error
}

// Error names the component and the cause.
func (e *Error) Error() string { return fmt.Sprintf("component %q: %s%v", e.Name, e.what, e.err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// PluginName implements [pipeline.PluginNamer].
func (e *Error) PluginName() string { return e.Name }

var _ pipeline.PluginNamer = (*Error)(nil)

// call calls a component. Its panic and its error become an error that names it.
func call[T any](name string, f func() (T, error)) (out T, err error) {
	err = core.Guard(func() (err error) {
		out, err = f()
		return err
	})
	if err != nil {
		err = &Error{name, "", err}
	}
	return out, err
}
