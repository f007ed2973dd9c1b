package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxWork bounds the checking of settings against a schema, in units of about 50
// nanoseconds: a tenth of a second.
const maxWork = 2_000_000

// What checking costs, in units.
const (
	costVisit    = 40 // one subschema applied to one value
	costEqual    = 40 // one value compared with another
	costMultiple = 400
	bytesPerUnit = 64 // of a string that is copied or compared
)

// maxApplied bounds how many subschemas in one another apply to the same value.
const maxApplied = 64

var errWork = errors.New("checking them against the schema of the plugin takes too long (state fewer or shorter values, or ask its author for a simpler schema)")

// meter counts the work of one check at a time. When the budget is spent, every
// subschema fails at once, and the check ends.
type meter struct {
	mu   sync.Mutex
	left int
}

// spend reports whether there is work left after n units.
func (m *meter) spend(n int) bool {
	if m.left >= 0 {
		m.left -= n
	}
	return m.left >= 0
}

// validate checks v within the budget.
func (m *meter) validate(s *jsonschema.Schema, v any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = maxWork
	err := s.Validate(v)
	if m.left < 0 {
		return errWork
	}
	return err
}

// meteredPattern is a regular expression that pays for what it reads.
type meteredPattern struct {
	*regexp.Regexp
	size  int
	meter *meter
}

// MatchString matches nothing when the budget is spent.
func (p *meteredPattern) MatchString(s string) bool {
	return p.meter.spend(costVisit+p.size*(len(s)+1)) && p.Regexp.MatchString(s)
}

// engine compiles the patterns of schemas: each is counted before.
func (m *meter) engine(c *complexity) jsonschema.RegexpEngine {
	compiled := map[string]*meteredPattern{}
	return func(text string) (jsonschema.Regexp, error) {
		if p := compiled[text]; p != nil {
			return p, nil
		}
		if err := c.pattern(text); err != nil {
			return nil, err
		}
		re, err := regexp.Compile(text)
		if err != nil {
			return nil, err
		}
		size, _ := patternSize(text)
		compiled[text] = &meteredPattern{re, size, m}
		return compiled[text], nil
	}
}

// install makes every subschema that s leads to pay for its own work before it does any.
// It refuses what cannot be counted.
func (m *meter) install(s *jsonschema.Schema) error {
	w := walk{meter: m, depths: map[*jsonschema.Schema]int{}, visited: map[*jsonschema.Schema]bool{}}
	return w.schema(s)
}

type walk struct {
	meter   *meter
	depths  map[*jsonschema.Schema]int // see applied
	visited map[*jsonschema.Schema]bool
}

func (w *walk) schema(first *jsonschema.Schema) error {
	for todo := []*jsonschema.Schema{first}; len(todo) > 0; {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s == nil || w.visited[s] {
			continue
		}
		w.visited[s] = true
		if s.DynamicRef != nil || s.RecursiveRef != nil {
			return fmt.Errorf("%s: refers dynamically (use $ref)", s.Location)
		}
		if _, err := w.applied(s, 0); err != nil {
			return err
		}
		w.meter.charge(s)
		todo = append(append(append(todo, onSame(s)...), onOne(s)...), onEach(s)...)
	}
	return nil
}

// applied returns how many subschemas in one another apply to the value of s. above is
// how many lead to it; a loop ends at the bound.
func (w *walk) applied(s *jsonschema.Schema, above int) (int, error) {
	if d := w.depths[s]; d > 0 && above+d <= maxApplied {
		return d, nil
	}
	if above >= maxApplied {
		return 0, fmt.Errorf("%s: more than %d subschemas in one another apply to one value (use fewer $ref and allOf; a $ref to itself needs properties or items between)", s.Location, maxApplied)
	}
	deepest := 0
	for _, c := range onSame(s) {
		d, err := w.applied(c, above+1)
		if err != nil {
			return 0, err
		}
		deepest = max(deepest, d)
	}
	w.depths[s] = deepest + 1
	return deepest + 1, nil
}

// charge sets the format of s, which is checked before any of its subschemas, to one
// that pays.
func (m *meter) charge(s *jsonschema.Schema) {
	once, perElement, format := costVisit, 0, s.Format
	for _, c := range onSame(s) {
		once += costVisit + compared(c)
		perElement += costVisit / 8 // which members are evaluated
	}
	for _, c := range onOne(s) {
		once += costVisit/8 + compared(c)
	}
	for _, c := range onEach(s) {
		perElement += costVisit + compared(c)
	}
	once += costVisit / 8 * (len(s.Required) + len(s.Properties) + len(s.DependentRequired) + len(s.Dependencies))
	if s.MultipleOf != nil {
		once += costMultiple
	}
	s.Format = &jsonschema.Format{Name: formatName(format), Validate: func(v any) error {
		n := once
		switch v := v.(type) {
		case string:
			n += len(v) / bytesPerUnit
		case []any:
			n += perElement * len(v)
		case map[string]any:
			n += perElement * len(v)
		}
		if s.UniqueItems {
			n += 20 * weight(v)
		}
		switch {
		case !m.spend(n):
			return errWork
		case format == nil:
			return nil
		case format.Name == "regex":
			return validPattern(v)
		}
		return format.Validate(v)
	}}
}

func formatName(f *jsonschema.Format) string {
	if f == nil {
		return "work"
	}
	return f.Name
}

// validPattern is the format regex.
func validPattern(v any) error {
	if text, ok := v.(string); ok {
		_, err := patternSize(text)
		return err
	}
	return nil
}

// compared is what const and enum of a schema cost; they come before the format.
func compared(s *jsonschema.Schema) int {
	n := 0
	if s.Const != nil {
		n += weight(*s.Const)
	}
	if s.Enum != nil {
		n += weight(s.Enum.Values)
	}
	return n
}

// weight is what it costs to compare a value with another.
func weight(v any) int {
	n := costEqual
	switch v := v.(type) {
	case string:
		n += len(v) / bytesPerUnit
	case json.Number:
		n += costEqual
	case []any:
		for _, e := range v {
			n += weight(e)
		}
	case map[string]any:
		for key, e := range v {
			n += weight(e) + len(key)/bytesPerUnit
		}
	}
	return n
}

// onSame returns the subschemas of s that apply to the value of s itself.
func onSame(s *jsonschema.Schema) []*jsonschema.Schema {
	list := append([]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else}, s.AllOf...)
	list = append(append(list, s.AnyOf...), s.OneOf...)
	for _, c := range s.DependentSchemas {
		list = append(list, c)
	}
	for _, c := range s.Dependencies {
		list = append(list, asSchemas(c)...)
	}
	return present(list)
}

// onOne returns the subschemas of s that apply to one member of the value each.
func onOne(s *jsonschema.Schema) []*jsonschema.Schema {
	list := slices.Clone(s.PrefixItems)
	if items, ok := s.Items.([]*jsonschema.Schema); ok {
		list = append(list, items...)
	}
	return present(append(list, slices.Collect(maps.Values(s.Properties))...))
}

// onEach returns the subschemas of s that may apply to each member of the value.
func onEach(s *jsonschema.Schema) []*jsonschema.Schema {
	list := []*jsonschema.Schema{s.PropertyNames, s.Contains, s.Items2020, s.UnevaluatedItems, s.UnevaluatedProperties}
	list = append(list, slices.Collect(maps.Values(s.PatternProperties))...)
	for _, c := range []any{s.Items, s.AdditionalItems, s.AdditionalProperties} {
		list = append(list, asSchemas(c)...)
	}
	return present(list)
}

func asSchemas(v any) []*jsonschema.Schema {
	if s, ok := v.(*jsonschema.Schema); ok {
		return []*jsonschema.Schema{s}
	}
	return nil
}

func present(list []*jsonschema.Schema) []*jsonschema.Schema {
	return slices.DeleteFunc(list, func(s *jsonschema.Schema) bool { return s == nil })
}
