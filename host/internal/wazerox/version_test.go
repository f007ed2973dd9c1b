package wazerox

import (
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// A wazero counts as tested only under its own module path: a fork, or a replace with a
// folder, does not, whatever version it states.
func TestVersionOfForks(t *testing.T) {
	other := &debug.Module{Path: "example.com/other", Version: both[0]}
	for name, tc := range map[string]struct {
		dep    *debug.Module
		want   string
		tested bool
	}{
		"tested":                        {&debug.Module{Path: Path, Version: both[0]}, both[0], true},
		"replaced by a tested version":  {&debug.Module{Path: Path, Version: "v1.0.0", Replace: &debug.Module{Path: Path, Version: both[0]}}, both[0], true},
		"replaced by another version":   {&debug.Module{Path: Path, Version: both[0], Replace: &debug.Module{Path: Path, Version: "v1.0.0"}}, "v1.0.0", false},
		"a fork of a tested version":    {&debug.Module{Path: Path, Version: both[0], Replace: &debug.Module{Path: "example.com/fork", Version: both[0]}}, "example.com/fork " + both[0], false},
		"a folder for a tested version": {&debug.Module{Path: Path, Version: both[0], Replace: &debug.Module{Path: "../wazero"}}, "", false},
		"from a workspace":              {&debug.Module{Path: Path, Version: "(devel)"}, "", false},
		"not in the program":            {other, "", false},
	} {
		v := versionOf(sourceIn(&debug.BuildInfo{Deps: []*debug.Module{other, tc.dep}}))
		if v != tc.want {
			t.Errorf("%s: version %q (want %q)", name, v, tc.want)
		}
		for f, s := range look(false, v) {
			is := table[f]
			if is.missing != nil && is.missing(false) != "" {
				continue
			}
			if s.On != (tc.tested && slices.Contains(is.tested, v)) || !s.On && !strings.Contains(s.Why, "not tested with "+tc.want) {
				t.Errorf("%s: %s: %+v", name, Feature(f), s)
			}
		}
	}
}

// The versions that are listed as tested are the one in go.mod and the one that
// "make wazero-before" runs the tests with. With a version that is not listed everything
// is off in a program, while under go test everything is on.
func TestVersionsAreListed(t *testing.T) {
	for i, in := range []struct{ file, pattern string }{
		{"../../../go.mod", `(?m)^\s+` + Path + ` (v\S+)`},
		{"../../../Makefile", `(?m)^WAZERO_BEFORE\s*:= (v\S+)`},
	} {
		text, err := os.ReadFile(in.file)
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(in.pattern).FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s names no wazero", in.file)
		}
		if version := string(m[1]); version != both[i] {
			t.Errorf("%s names wazero %s, tested are %v (see \"A new wazero\" in CONTRIBUTING.md)", in.file, version, both)
		}
	}
}
