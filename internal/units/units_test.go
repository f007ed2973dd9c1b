package units

import (
	"errors"
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	for in, want := range map[string]int64{"1B": 1, "64MiB": 64 << 20, "4GiB": 4 << 30, "1536KiB": 1536 << 10} {
		got, err := ParseSize(in)
		if err != nil || got != want {
			t.Errorf("%s: %d, %v", in, got, err)
		}
		if back, err := ParseSize(FormatSize(got)); err != nil || back != got {
			t.Errorf("%s: formatted as %s", in, FormatSize(got))
		}
	}
	for _, in := range []string{"", "64", "MiB", "-1B", "+1B", "1.5MiB", "64 MiB", "64mib", "9223372036854775807GiB", "99999999999999999999B", "0KiB"} {
		if n, err := ParseSize(in); n != 0 || !errors.Is(err, ErrUnit) {
			t.Errorf("%q: %d, %v", in, n, err)
		}
	}
	if d, err := ParseDuration("1m30s"); err != nil || d != 90*time.Second {
		t.Errorf("%v, %v", d, err)
	}
}
