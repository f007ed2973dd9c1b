// Package components makes the Go components that a program registers, and closes them.
package components

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/anchor/component"
	"github.com/anchor-host/anchor-host/internal/settings"
)

// Kind says what a component does.
type Kind string

// The kinds.
const (
	Step      Kind = "step"
	Retriever Kind = "retriever"
	Memory    Kind = "memory provider"
	Formatter Kind = "formatter"
	Provider  Kind = "agent provider"
	Embedder  Kind = "embedder"
	Model     Kind = "model"
)

// anySettings is the schema of components without one.
const anySettings = `{"type": "object", "additionalProperties": true}`

// Set has the components of a program by name. A nil Set has none. It must not change once a [Live]
// is made of it.
type Set struct{ makers map[string]*maker }

type maker struct {
	kind   Kind
	schema *settings.Schema
	make   func(context.Context, component.Settings) (any, error)
}

// Add adds the components of one kind.
func Add[T any](s *Set, k Kind, list map[string]component.Maker[T]) error {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		m := list[name]
		if err := s.add(name, k, m.Schema, m.New != nil); err != nil {
			return fmt.Errorf("components: %s %q: %w", k, name, err)
		}
		s.makers[name].make = func(ctx context.Context, given component.Settings) (any, error) {
			made, err := m.New(ctx, given)
			return made, err
		}
	}
	return nil
}

func (s *Set) add(name string, k Kind, schema string, made bool) error {
	switch other := s.makers[name]; {
	case !manifest.ValidName(name):
		return errors.New("is not a valid name (want lower-case letters, digits and single hyphens, a letter first, at most 64)")
	case other != nil:
		return fmt.Errorf("a %s has the same name (rename one of them)", other.kind)
	case !made:
		return errors.New("has no New (set it)")
	}
	schema = cmp.Or(schema, anySettings)
	compiled, err := settings.Compile(json.RawMessage(schema))
	if err != nil {
		return err
	}
	if s.makers == nil {
		s.makers = map[string]*maker{}
	}
	s.makers[name] = &maker{kind: k, schema: compiled}
	return nil
}

// Kind returns the kind of a component. It is empty if there is none of this name.
func (s *Set) Kind(name string) Kind {
	if s == nil || s.makers[name] == nil {
		return ""
	}
	return s.makers[name].kind
}

// Names returns the names of all components.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.makers))
}

// Check holds settings against the schema of a component.
func (s *Set) Check(name string, given map[string]any) error {
	_, _, err := s.makers[name].schema.Check(given)
	return err
}
