package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
	"github.com/anchor-host/anchor-host/abi/internal/strictjson"
	"github.com/anchor-host/anchor-host/internal/nearest"
)

// Errors about manifests, for errors.Is.
var (
	// ErrInvalid is wrapped by every error about a manifest.
	ErrInvalid = errors.New("invalid manifest")
	// ErrABIVersion says that a plugin speaks another version.
	ErrABIVersion = errors.New("unsupported abi version")
)

// Error describes one mistake in a manifest.
type Error struct {
	// Path is the key, such as "operations.filter.reads[1]"; empty for the whole
	// manifest.
	Path string
	// Msg says what is wrong and what is allowed.
	Msg string
	// Err is a more specific sentinel, nil when there is none.
	Err error
}

// Error returns the message on one line.
func (e *Error) Error() string {
	if e.Path == "" {
		return "manifest " + e.Msg
	}
	return "manifest: " + e.Path + ": " + e.Msg
}

// Is reports whether target is ErrInvalid.
func (e *Error) Is(target error) bool { return target == ErrInvalid }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

func mistake(path, format string, args ...any) *Error {
	return &Error{Path: path, Msg: fmt.Sprintf(format, args...)}
}

// The bounds of a manifest. They are larger than any plugin needs.
const (
	maxManifest = 1 << 20
	maxEntries  = 1000
)

// Parse reads a manifest from JSON and validates it. Unknown and repeated keys are
// errors, which name the path and the nearest valid key. A manifest has at most 1 MiB, and
// its lists have at most 1000 entries. The error is the first *[Error] in the order
// of the document.
func Parse(b []byte) (*Manifest, error) {
	if len(b) > maxManifest {
		return nil, mistake("", "has %d bytes (want at most %d)", len(b), maxManifest)
	}
	repeated, err := strictjson.Check(b)
	if err != nil {
		var text strictjson.Error
		errors.As(err, &text)
		return nil, mistake("", "%s", strings.TrimPrefix(string(text), "is not usable: "))
	}
	m := new(Manifest)
	if err := parseManifest(b, m); err != nil {
		return nil, err
	}
	if repeated != "" { // inside a schema or a self test
		return nil, mistake("", "%s", string(repeated))
	}
	if err := m.Validate(); err != nil {
		return nil, err
	}
	return m, nil
}

// field is one key of an object and the function that reads its value.
type field struct {
	name string
	read func(path string, raw json.RawMessage) *Error
}

func parseManifest(b []byte, m *Manifest) error {
	err := readObject("", b, []field{
		{"abi", intInto(&m.ABI)},
		{"name", stringInto(&m.Name)},
		{"version", exampleInto(&m.Version, "0.1.0")},
		{"description", stringInto(&m.Description)},
		{"license", stringInto(&m.License)},
		{"homepage", stringInto(&m.Homepage)},
		{"deprecated", m.readDeprecated},
		{"operations", m.readOperations},
		{"permissions", m.readPermissions},
		{"limits", m.Limits.read},
		{"settings", schemaInto(&m.Settings)},
		{"self_test", m.readSelfTest},
	})
	if err != nil {
		return err
	}
	return nil
}

// readDeprecated reads the notice. An empty one would say nothing.
func (m *Manifest) readDeprecated(path string, raw json.RawMessage) *Error {
	if err := stringInto(&m.Deprecated)(path, raw); err != nil {
		return err
	}
	if m.Deprecated == "" {
		return mistake(path, "is empty (say what to use instead, or remove it)")
	}
	return nil
}

func (m *Manifest) readSelfTest(path string, raw json.RawMessage) *Error {
	list, err := readList(path, raw)
	if err != nil {
		return err
	}
	m.SelfTest = make([]SelfTest, len(list))
	for i, e := range list {
		t := &m.SelfTest[i]
		err := readObject(index(path, i), e, []field{
			{"operation", stringInto(&t.Operation)},
			{"input", valueInto(&t.Input)},
			{"output", valueInto(&t.Output)},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *Manifest) readOperations(path string, raw json.RawMessage) *Error {
	var fields []field
	m.Operations = map[abi.Operation]OperationSpec{}
	for _, info := range abi.Operations {
		fields = append(fields, field{string(info.Op), func(path string, raw json.RawMessage) *Error {
			var spec OperationSpec
			err := spec.read(path, raw)
			m.Operations[info.Op] = spec
			return err
		}})
	}
	return readObject(path, raw, fields)
}

func (s *OperationSpec) read(path string, raw json.RawMessage) *Error {
	if string(raw) == "null" {
		return nil
	}
	return readObject(path, raw, []field{
		{"reads", stringsInto(&s.Reads)},
		{"writes", stringsInto(&s.Writes)},
		{"max_priority", intInto(&s.MaxPriority)},
		{"settings", schemaInto(&s.Settings)},
		{"defaults", s.Defaults.read},
		{"timeless", boolInto(&s.Timeless)},
		{"tool", stringInto(&s.Tool)},
	})
}

func (d *StepDefaults) read(path string, raw json.RawMessage) *Error {
	return readObject(path, raw, []field{
		{"priority", intInto(&d.Priority)},
		{"top_k", intInto(&d.TopK)},
		{"timeout", exampleInto(&d.Timeout, "2s")},
		{"on_error", stringInto(&d.OnError)},
	})
}

func (l *LimitRequest) read(path string, raw json.RawMessage) *Error {
	return readObject(path, raw, []field{
		{"timeout", exampleInto(&l.Timeout, "2s")},
		{"init_timeout", exampleInto(&l.InitTimeout, "10s")},
		{"memory", exampleInto(&l.Memory, "64MiB")},
		{"output", exampleInto(&l.Output, "1MiB")},
	})
}

func (m *Manifest) readPermissions(path string, raw json.RawMessage) *Error {
	list, err := readList(path, raw)
	if err != nil {
		return err
	}
	m.Permissions = make([]Permission, len(list))
	for i, e := range list {
		p := &m.Permissions[i]
		err := readObject(index(path, i), e, []field{
			{"kind", stringInto(&p.Kind)},
			{"reason", stringInto(&p.Reason)},
			{"hosts", hostsInto(&p.Hosts)},
			{"methods", stringsInto(&p.Methods)},
			{"guest", stringInto(&p.Guest)},
			{"mode", stringInto(&p.Mode)},
			{"quota", exampleInto(&p.Quota, "1MiB")},
			{"service", stringInto(&p.Service)},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readObject reads the members of an object with the given fields. The document has been
// scanned.
func readObject(path string, raw []byte, fields []field) *Error {
	if !begins(raw, '{') {
		return mistake(path, "is %s (want an object)", kindOf(raw))
	}
	seen := make([]bool, len(fields))
	for name, value := range strictjson.Members(raw) {
		if err := readField(path, name, value, fields, seen); err != nil {
			return err
		}
	}
	return nil
}

// begins reports whether a value begins with a character.
func begins(raw []byte, first byte) bool {
	t := bytes.TrimLeft(raw, " \t\r\n")
	return len(t) > 0 && t[0] == first
}

func readField(path, name string, value json.RawMessage, fields []field, seen []bool) *Error {
	for i, f := range fields {
		switch {
		case f.name != name:
		case seen[i]:
			return mistake(join(path, f.name), "is stated twice (state it once)")
		default:
			seen[i] = true
			return f.read(join(path, f.name), value)
		}
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return mistake(join(path, name), "unknown key%s", nearest.Hint(name, names))
}

// readList returns the elements of a list as they are written.
func readList(path string, raw json.RawMessage) ([]json.RawMessage, *Error) {
	if !begins(raw, '[') {
		return nil, mistake(path, "is %s (want a list)", kindOf(raw))
	}
	list := []json.RawMessage{}
	for value := range strictjson.Elements(raw) {
		if len(list) == maxEntries {
			return nil, mistake(path, "has too many entries (want at most %d)", maxEntries)
		}
		list = append(list, value)
	}
	return list, nil
}

func intInto(dst *int) func(string, json.RawMessage) *Error {
	return func(path string, raw json.RawMessage) *Error {
		var n int64
		if json.Unmarshal(raw, &n) != nil || string(raw) == "null" || n < math.MinInt32 || n > math.MaxInt32 {
			return mistake(path, "is %s (want a whole number)", kindOf(raw))
		}
		*dst = int(n)
		return nil
	}
}

func boolInto(dst *bool) func(string, json.RawMessage) *Error {
	return func(path string, raw json.RawMessage) *Error {
		if json.Unmarshal(raw, dst) != nil || string(raw) == "null" {
			return mistake(path, "is %s (want true or false)", kindOf(raw))
		}
		return nil
	}
}

func stringInto[T ~string](dst *T) func(string, json.RawMessage) *Error {
	return func(path string, raw json.RawMessage) *Error {
		if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, dst) != nil {
			return mistake(path, "is %s (want a string)", kindOf(raw))
		}
		return nil
	}
}

// exampleInto is stringInto for a value that YAML may take for a number.
func exampleInto(dst *string, example string) func(string, json.RawMessage) *Error {
	return func(path string, raw json.RawMessage) *Error {
		if len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') {
			return mistake(path, "is the number %s (want a string such as %s)", kindOf(raw), example)
		}
		return stringInto(dst)(path, raw)
	}
}

func stringsInto[T ~string](dst *[]T) func(string, json.RawMessage) *Error {
	return func(path string, raw json.RawMessage) *Error {
		list, err := readList(path, raw)
		if err != nil {
			return err
		}
		*dst = make([]T, len(list))
		for i, e := range list {
			if err := stringInto(&(*dst)[i])(index(path, i), e); err != nil {
				return err
			}
		}
		return nil
	}
}

func noHosts(path string) *Error {
	return mistake(path, "is empty (name the hosts, such as api.example.com or *.example.com, or leave them to the operator with %s)", FromGrant)
}

// hostsInto reads the hosts of a permission: a list, or the word FromGrant.
func hostsInto(dst *HostList) func(string, json.RawMessage) *Error {
	return func(path string, raw json.RawMessage) *Error {
		if !begins(raw, '"') {
			err := stringsInto((*[]string)(dst))(path, raw)
			if err == nil && len(*dst) == 0 {
				return noHosts(path)
			}
			return err
		}
		var word string
		if err := stringInto(&word)(path, raw); err != nil {
			return err
		}
		if word != FromGrant {
			return mistake(path, "is %s (want a list of hosts, or %s)", jsontext.Quote(word), FromGrant)
		}
		*dst = HostList{}
		return nil
	}
}

// valueInto keeps the text of any JSON value.
func valueInto(dst *json.RawMessage) func(string, json.RawMessage) *Error {
	return func(_ string, raw json.RawMessage) *Error {
		*dst = bytes.Clone(raw)
		return nil
	}
}

// schemaInto keeps the text of a JSON Schema; the host compiles it.
func schemaInto(dst *json.RawMessage) func(string, json.RawMessage) *Error {
	return func(path string, raw json.RawMessage) *Error {
		if len(raw) == 0 || raw[0] != '{' {
			return mistake(path, "is %s (want a JSON Schema, an object)", kindOf(raw))
		}
		*dst = bytes.Clone(raw)
		return nil
	}
}

// join adds a key to a path. A key that is not a name is quoted.
func join(path, key string) string {
	if key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" || len(key) > jsontext.LongestQuote {
		key = jsontext.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func index(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// kindOf describes a JSON value in a few characters.
func kindOf(raw []byte) string {
	s := strings.TrimSpace(string(raw))
	switch {
	case !json.Valid(raw):
		return "not JSON"
	case s[0] == '{':
		return "an object"
	case s[0] == '[':
		return "a list"
	case len(s) > jsontext.LongestQuote:
		return "a long value"
	}
	return s
}
