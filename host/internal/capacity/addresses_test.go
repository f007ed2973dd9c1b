package capacity

import (
	"errors"
	"strings"
	"testing"
)

func TestMemoryOfABoundedAddressSpace(t *testing.T) {
	for _, tt := range []struct{ memory, space, want int64 }{
		{2 << 30, 2 << 30, 256 << 20}, {64 << 20, 2 << 30, 64 << 20}, {2 << 30, 4 << 30, 5 << 28}, {2 << 30, 64 << 30, 2 << 30},
	} {
		if got, err := boundByAddresses(tt.memory, tt.space); err != nil || got != tt.want {
			t.Errorf("%+v: %d, %v", tt, got, err)
		}
	}
	_, err := boundByAddresses(1, leastAddressSpace-1)
	if !errors.Is(err, ErrAddressSpace) || !strings.Contains(err.Error(), "bounded to 2047MiB: ") || !strings.Contains(err.Error(), "raise ulimit -v") {
		t.Error(err)
	}
}
