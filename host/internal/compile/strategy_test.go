package compile

import (
	"strings"
	"testing"
)

// Each part of a strategy shows in the line.
func TestStrategyString(t *testing.T) {
	plain := Strategy{finds: "comparing everything"}
	seen := map[string]bool{plain.String(): true}
	if want := "reset by comparing everything; memories are slices"; !strings.HasPrefix(plain.String(), want) {
		t.Errorf("%q does not begin with %q", plain, want)
	}
	for _, set := range []func(*Strategy){
		func(s *Strategy) { s.finds = "comparing pages that were written" },
		func(s *Strategy) { s.mapped = true },
		func(s *Strategy) { s.shared = true },
		func(s *Strategy) { s.shrinks = true },
		func(s *Strategy) { s.linked = true },
		func(s *Strategy) { s.stacks = true },
	} {
		s := plain
		set(&s)
		if line := s.String(); seen[line] {
			t.Errorf("%+v reads as another one: %s", s, line)
		} else {
			seen[line] = true
		}
	}
}
