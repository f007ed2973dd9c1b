package pdk

import (
	"testing"

	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/mem"
)

func TestReserveLendsWhatInputTakes(t *testing.T) {
	marker() // does nothing, and must not fail when a host calls it
	if mailbox() == 0 {
		t.Error("the mailbox is at address 0")
	}
	small := reserve(1)
	if again := reserve(64 << 10); small%8 != 0 || again != small {
		t.Errorf("room for 64 KiB at %d, after room for 1 byte at %d", again, small)
	}
	big := reserve(100_000)
	for _, tt := range []struct {
		ptr, n uint32
		ok     bool
	}{{big, 0, true}, {big, 128 << 10, true}, {big, 128<<10 + 1, false}, {big + 8, 8, false}} {
		if b, err := mem.Input(tt.ptr, tt.n); (err == nil) != tt.ok || tt.ok && len(b) != int(tt.n) {
			t.Errorf("%d bytes at %+d: %d, %v", tt.n, int64(tt.ptr)-int64(big), len(b), err)
		}
	}
	if reserve(mem.MaxInput+1) != 0 {
		t.Error("room for more than the largest batch")
	}
}
