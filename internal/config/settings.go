package config

import (
	"cmp"
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/anchor-host/anchor-host/internal/storeurl"
	"github.com/anchor-host/anchor-host/internal/strict"
)

// Setting is one effective value.
type Setting struct {
	Path string `json:"path"`
	// Value is a bool, int64, float64, []string or string.
	Value any `json:"value"`
	// Text is the value in one cell.
	Text string `json:"-"`
	// Origin is "flag --x", "environment X", "file:line" or "default".
	Origin string `json:"origin,omitempty"`
}

// hidden is printed instead of the value of a secret.
const hidden = "(hidden)"

// secretKey finds keys whose values are not printed.
var secretKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|[_.-])(secret|password|passwd|token|credentials?|authorization|bearer|api[_-]?key|access[_-]?key|private[_-]?key)s?($|[_.-])`)
})

// secretOfServer finds keys and headers of model servers.
var secretOfServer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(embedders\..*\.http|models\..*)\.(key$|headers\.)`)
})

// Settings lists every value that is set or has a default, in the order of the
// format. Secrets are hidden.
func (l *Loaded) Settings() []Setting {
	s := &lister{loaded: l}
	c := l.Config
	c.Server = c.Server.WithDefaults()
	s.object(reflect.ValueOf(&c).Elem(), l.node, "")
	return s.settings
}

type lister struct {
	loaded   *Loaded
	settings []Setting
}

// add lists the value v, whose text is value. n is the value in the file, nil if it is not there.
func (s *lister) add(v reflect.Value, n *strict.Node, path, value, fallback string) {
	o, overridden := s.loaded.overriddenAt(path)
	origin := o.origin
	switch {
	case overridden:
		if value == "" {
			value = o.value // an explicit zero
		}
	case n != nil && n.Kind != strict.Null:
		origin = fmt.Sprintf("%s:%d", s.loaded.File, n.Pos.Line)
		if value == "" {
			value = n.Text // an explicit zero
		}
	default:
		value, origin = cmp.Or(value, fallback), "default"
	}
	if origin == "default" && value == "" {
		return
	}
	setting := Setting{path, typed(v, value), value, origin}
	if storeurl.Is(value) || path == "store.path" && storeurl.Check(value) != nil { // it may have a password
		setting.Value, setting.Text = storeurl.Address(value), storeurl.Address(value)
	}
	if isSecret(path) {
		setting.Value, setting.Text = hidden, hidden
	}
	s.settings = append(s.settings, setting)
}

// typed parses a text by the type of its setting.
func typed(v reflect.Value, text string) any {
	if list, ok := v.Interface().([]string); ok {
		return append([]string{}, list...)
	}
	if _, ok := reflect.New(v.Type()).Interface().(encoding.TextUnmarshaler); ok {
		return text
	}
	var x any
	var err error
	switch v.Kind() {
	case reflect.Bool:
		x, err = strconv.ParseBool(text)
	case reflect.Int, reflect.Int64:
		x, err = strconv.ParseInt(text, 10, 64)
	case reflect.Float64:
		x, err = strconv.ParseFloat(text, 64)
	default:
		return text
	}
	if err != nil {
		return text
	}
	return x
}

// isSecret reports whether a path names a secret: a key or a header of a server, or a free-form
// part whose key a plugin defines.
func isSecret(path string) bool {
	if strings.Contains(path, ".grants.http.headers.") || secretOfServer().MatchString(path) {
		return true
	}
	for _, part := range []string{".settings.", ".config."} {
		if _, key, ok := strings.Cut(path, part); ok && secretKey().MatchString(key) {
			return true
		}
	}
	return false
}

func (s *lister) object(v reflect.Value, n *strict.Node, path string) {
	below := n.Index()
	for _, f := range strict.Fields(v.Type()) {
		s.value(f.Of(v), below[f.Key], strict.Join(path, f.Key), f.Default)
	}
}

func (s *lister) value(v reflect.Value, n *strict.Node, path, fallback string) {
	if p, ok := v.Interface().(Pipeline); ok {
		for _, key := range p.inOrder() {
			at, of := n, reflect.ValueOf(&p.values).Elem()
			for _, name := range strings.Split(key, ".") {
				at, of = at.Index()[name], field(of.Type(), name).Of(of)
			}
			s.value(of, at, strict.Join(path, key), "")
		}
		return
	}
	if r, ok := v.Interface().(Reflection); ok {
		s.add(reflect.ValueOf(r.Choice), n, path, r.String(), fallback)
		s.object(v, n, path)
		return
	}
	if text, ok := plain(v); ok {
		s.add(v, n, path, text, fallback)
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			s.value(v.Elem(), n, path, fallback)
		} else if fallback != "" {
			s.add(reflect.Zero(v.Type().Elem()), n, path, "", fallback)
		}
	case reflect.Struct:
		s.object(v, n, path)
	case reflect.Map:
		below := n.Index()
		for _, name := range slices.Sorted(maps.Keys(stringKeys(v))) {
			s.value(v.MapIndex(reflect.ValueOf(name)), below[name], strict.Join(path, name), "")
		}
	case reflect.Slice:
		for i := range v.Len() {
			var item *strict.Node
			if n != nil && i < len(n.Items()) {
				item = &n.Items()[i]
			}
			s.value(v.Index(i), item, fmt.Sprintf("%s[%d]", path, i), "")
		}
	}
}

func stringKeys(v reflect.Value) map[string]bool {
	keys := make(map[string]bool, v.Len())
	for _, k := range v.MapKeys() {
		keys[k.String()] = true
	}
	return keys
}

// plain returns the text of a value that is printed in one cell. The text of a zero number is
// empty.
func plain(v reflect.Value) (string, bool) {
	switch x := v.Interface().(type) {
	case Choice:
		return x.String(), true
	case Maker:
		return x.String(), true
	case Text:
		return x.written, true
	case Readers:
		return x.String(), true
	case []string:
		return strings.Join(x, ", "), true
	case Count:
		if x == 0 {
			return "", true
		}
		return x.String(), true
	case fmt.Stringer:
		if _, ok := reflect.New(v.Type()).Interface().(encoding.TextUnmarshaler); ok {
			if v.IsZero() {
				return "", true
			}
			return x.String(), true
		}
	}
	switch v.Kind() {
	case reflect.String:
		return v.String(), true
	case reflect.Bool:
		if v.IsZero() {
			return "", true
		}
		return "true", true
	case reflect.Int, reflect.Int64:
		if v.IsZero() {
			return "", true
		}
		return fmt.Sprint(v.Int()), true
	case reflect.Float64:
		return fmt.Sprint(v.Float()), true
	}
	return "", false
}
