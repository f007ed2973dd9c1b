package wazerox

import (
	"testing"

	"github.com/tetratelabs/wazero/api"
)

// Where a handle has no stack that is found, it counts as too large.
func TestStackOfOthers(t *testing.T) {
	type other struct {
		api.Function
		stack int
	}
	for name, fn := range map[string]api.Function{"nil": nil, "no pointer": other{}, "another field": &other{stack: 1}, "no field": &struct{ api.Function }{}} {
		if n := StackOf(fn); n <= StackKept {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}
