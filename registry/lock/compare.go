package lock

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/manifest"
)

// Level is the part of a version number that a change must raise.
type Level int

// The levels, in ascending order.
const (
	Patch Level = iota
	Minor
	Major
)

// String returns "patch", "minor" or "major".
func (l Level) String() string { return [...]string{"patch", "minor", "major"}[l] }

// Comparison says how two versions of a plugin differ, for those who use it.
type Comparison struct {
	// Level is what the version must raise at least.
	Level Level
	// Reasons say what changed, each in one line with its level, the most important first.
	Reasons []string
}

// ErrVersion says that a version number is not valid, or not raised enough.
var ErrVersion = errors.New("wrong version")

// Compare compares two manifests of one plugin. These changes are major: another name or ABI, an
// operation less, a permission more, a setting less or another one that is required. These are
// minor: an operation more, a change of items more that an operation may make, other changes of
// settings. Everything else is a patch. Errors wrap [ErrTooMany].
func Compare(before, after *manifest.Manifest) (Comparison, error) {
	was, err := Asks(before)
	if err != nil {
		return Comparison{}, err
	}
	asks, err := Asks(after)
	if err != nil {
		return Comparison{}, err
	}
	c := &comparer{}
	if before.Name != after.Name {
		c.add(Major, "the name is %q instead of %q", after.Name, before.Name)
	}
	if before.ABI != after.ABI {
		c.add(Major, "the ABI is %d instead of %d", after.ABI, before.ABI)
	}
	added, _ := Difference(was, asks)
	for _, line := range added {
		c.add(Major, "permission more: %s", line)
	}
	c.settings("", before.Settings, after.Settings)
	for _, op := range slices.Sorted(maps.Keys(before.Operations)) {
		c.operation(op, before, after)
	}
	for _, op := range slices.Sorted(maps.Keys(after.Operations)) {
		if _, ok := before.Operations[op]; !ok {
			c.add(Minor, "operation more: %s", op)
		}
	}
	return c.result(), nil
}

type comparer struct{ reasons [Major + 1][]string }

func (c *comparer) add(l Level, format string, args ...any) {
	c.reasons[l] = append(c.reasons[l], l.String()+": "+fmt.Sprintf(format, args...))
}

func (c *comparer) result() (out Comparison) {
	for l := Major; l >= Patch; l-- {
		if len(c.reasons[l]) > 0 {
			out.Level = max(out.Level, l)
			out.Reasons = append(out.Reasons, c.reasons[l]...)
		}
	}
	return out
}

func (c *comparer) operation(op abi.Operation, before, after *manifest.Manifest) {
	is, ok := after.Operations[op]
	if !ok {
		c.add(Major, "operation less: %s", op)
		return
	}
	old, now := before.Writes(op).Names(), after.Writes(op).Names()
	for _, name := range now {
		if !slices.Contains(old, name) {
			c.add(Minor, "%s may also change items by %s", op, name)
		}
	}
	c.settings(string(op)+" ", before.Operations[op].Settings, is.Settings)
}

// settings compares the schemas of settings, their members at the top level in detail.
func (c *comparer) settings(of string, before, after json.RawMessage) {
	was, is := readSchema(before), readSchema(after)
	found := false
	note := func(l Level, format, name string) {
		c.add(l, "%ssetting "+format+": %.100q", of, name)
		found = true
	}
	for _, name := range slices.Sorted(maps.Keys(was.Properties)) {
		if _, ok := is.Properties[name]; !ok {
			note(Major, "less", name)
		}
	}
	for _, name := range slices.Sorted(slices.Values(is.Required)) {
		if !slices.Contains(was.Required, name) {
			note(Major, "that is now required", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is.Properties)) {
		if _, ok := was.Properties[name]; !ok && !slices.Contains(is.Required, name) {
			note(Minor, "more", name)
		}
	}
	if !found && !bytes.Equal(compact(before), compact(after)) {
		c.add(Minor, "%ssettings changed", of)
	}
}

type schema struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

// readSchema reads what is compared. What has another form has no members.
func readSchema(raw json.RawMessage) (s schema) {
	if json.Unmarshal(raw, &s) != nil {
		return schema{}
	}
	return s
}

func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// Check refuses a version that is not raised enough since the one before. Before 1.0.0, the second
// number counts as the first, and the third as the second. After a version before a release, such as
// 2.0.0-rc.1, every higher one is enough. The error wraps [ErrVersion] and names
// the smallest version that is enough, with the first reason.
func (c Comparison) Check(before, after string) error {
	was, err := parseVersion(before)
	if err != nil {
		return err
	}
	is, err := parseVersion(after)
	if err != nil {
		return err
	}
	least := was.raised(c.Level)
	switch {
	case is.compare(was) <= 0:
	case was.pre != "": // between two versions before a release everything may change
		return nil
	case slices.Compare(is.numbers[:], least.numbers[:]) >= 0: // 2.0.0-rc.1 after 1.4.0 as well
		return nil
	}
	why := "it must be higher than the one before"
	if len(c.Reasons) > 0 && is.compare(was) > 0 {
		why = c.Reasons[0]
	}
	return fmt.Errorf("version %s after %s: check: %w: %s (want at least %s)", after, before, ErrVersion, why, least)
}

// CompareVersions compares two versions such as 1.2.3 in the order of semantic versions: the result
// is negative if a comes before b, and 0 if they are equal. Builds, after a "+", do not count. The
// error wraps [ErrVersion].
func CompareVersions(a, b string) (int, error) {
	v, err := parseVersion(a)
	if err != nil {
		return 0, err
	}
	w, err := parseVersion(b)
	if err != nil {
		return 0, err
	}
	return v.compare(w), nil
}

// version is a semantic version without its build.
type version struct {
	numbers [3]uint64
	pre     string
}

// parseVersion reads a semantic version.
func parseVersion(s string) (v version, err error) {
	core, _, _ := strings.Cut(s, "+")
	core, v.pre, _ = strings.Cut(core, "-")
	parts := strings.Split(core, ".")
	bad := fmt.Errorf("%w: want three numbers such as 1.2.3, got %.100q", ErrVersion, s)
	if len(parts) != 3 || len(s) > 100 {
		return version{}, bad
	}
	for i, p := range parts {
		if v.numbers[i], err = strconv.ParseUint(p, 10, 32); err != nil {
			return version{}, bad
		}
	}
	return v, nil
}

func (v version) String() string {
	s := fmt.Sprintf("%d.%d.%d", v.numbers[0], v.numbers[1], v.numbers[2])
	if v.pre != "" {
		s += "-" + v.pre
	}
	return s
}

// raised returns the lowest release that is enough after v. After 2.0.0-rc.1 it is 2.0.0.
func (v version) raised(l Level) version {
	if v.pre != "" {
		return version{numbers: v.numbers}
	}
	at := 2 - int(l)
	if v.numbers[0] == 0 {
		at = min(at+1, 2)
	}
	out := version{}
	copy(out.numbers[:], v.numbers[:at+1])
	out.numbers[at]++
	return out
}

func (v version) compare(w version) int {
	if c := slices.Compare(v.numbers[:], w.numbers[:]); c != 0 {
		return c
	}
	switch {
	case v.pre == w.pre:
		return 0
	case v.pre == "":
		return 1
	case w.pre == "":
		return -1
	}
	return comparePre(strings.Split(v.pre, "."), strings.Split(w.pre, "."))
}

// comparePre compares the labels before a release: numbers by value and before words.
func comparePre(a, b []string) int {
	return slices.CompareFunc(a, b, func(x, y string) int {
		n, notX := strconv.ParseUint(x, 10, 64)
		m, notY := strconv.ParseUint(y, 10, 64)
		switch {
		case notX == nil && notY == nil && n != m:
			return cmp.Compare(n, m)
		case notX == nil && notY != nil:
			return -1
		case notX != nil && notY == nil:
			return 1
		}
		return strings.Compare(x, y)
	})
}
