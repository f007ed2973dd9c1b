package host_test

import (
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/host"
)

// Each part of a strategy shows in the line.
func TestStrategyString(t *testing.T) {
	plain := host.Strategy{Finds: "comparing everything"}
	seen := map[string]bool{plain.String(): true}
	if want := "reset by comparing everything; memories are slices"; !strings.HasPrefix(plain.String(), want) {
		t.Errorf("%q does not begin with %q", plain, want)
	}
	for _, set := range []func(*host.Strategy){
		func(s *host.Strategy) { s.Finds = "comparing pages that were written" },
		func(s *host.Strategy) { s.Mapped = true },
		func(s *host.Strategy) { s.Shared = true },
		func(s *host.Strategy) { s.Shrinks = true },
		func(s *host.Strategy) { s.Linked = true },
		func(s *host.Strategy) { s.Stacks = true },
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
