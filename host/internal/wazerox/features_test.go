package wazerox

import (
	"errors"
	"strings"
	"testing"
)

// Everything that the system has is on with both engines, as wazero is one of the tested.
func TestLook(t *testing.T) {
	for _, interpreted := range []bool{false, true} {
		for f, s := range Look(interpreted) {
			missing := ""
			if is := table[f]; is.missing != nil {
				missing = is.missing(interpreted)
			}
			if s.Feature != Feature(f) || s.On != (missing == "") || s.Why != missing || s.Unexpected {
				t.Errorf("interpreted %t: %s: %+v (the system: %q)", interpreted, Feature(f), s, missing)
			}
		}
	}
}

// With another version nothing is on, nor where it is not known.
func TestUntested(t *testing.T) {
	for _, version := range []string{"v1.99.0", ""} {
		for f, s := range look(false, version) {
			is := table[f]
			if is.missing != nil && is.missing(false) != "" {
				continue
			}
			if s.On || !s.Unexpected || !strings.Contains(s.Why, version) || !strings.Contains(s.Why, is.tested[0]) {
				t.Errorf("%q: %s: %+v", version, Feature(f), s)
			}
		}
	}
	states := look(false, both[0])
	for f := range states {
		if is := table[f]; (is.missing == nil || is.missing(false) == "") && !states[f].On {
			t.Errorf("%s is off with %s: %s", Feature(f), both[0], states[f].Why)
		}
	}
}

// A probe that fails or panics switches its feature off, and what the operator switched
// off is nothing unexpected.
func TestOff(t *testing.T) {
	for name, probe := range map[string]func(*lab) error{
		"other fields": func(*lab) error { return errors.New("other fields\nand more") },
		"it panics: 7": func(*lab) error { panic(7) },
	} {
		f := feature{probe: probe}
		if s := f.state(false, inTest, nil, nil); s.On || !s.Unexpected || s.Why != "probe failed: "+name {
			t.Errorf("%s: %+v", name, s)
		}
	}
	f := feature{probe: func(*lab) error { return nil }}
	if s := f.state(false, inTest, nil, errors.New("no runtime")); s.On || !s.Unexpected {
		t.Errorf("without a runtime: %+v", s)
	}
	defer failed.Delete(Shells)
	Failed(Shells, "other names")
	states := Look(false)
	if s := states[Shells]; s.On || !s.Unexpected || s.Why != "other names" {
		t.Errorf("%+v", s)
	}
	states.Off("switched off", Stacks)
	states.Off("no memories", Memories)
	if s := states[Shrinking]; s.On || s.Unexpected || s.Why != "needs memories" {
		t.Errorf("%+v", s)
	}
	if s := states[Stacks]; states.On(Stacks) || s.Unexpected || s.Why != "switched off" || s.Feature != Stacks {
		t.Errorf("%+v", s)
	}
}

// Each feature is described, under a name of its own.
func TestFeaturesAreDescribed(t *testing.T) {
	names := map[string]bool{}
	for f, is := range table {
		if is.name == "" || is.without == "" || len(is.tested) == 0 || names[is.name] {
			t.Errorf("feature %d: %q", f, is.name)
		}
		names[is.name] = true
	}
}
