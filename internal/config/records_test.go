package config

import (
	"testing"
	"time"
)

func TestAges(t *testing.T) {
	for text, want := range map[string]time.Duration{"7d": 168 * time.Hour, "1d": 24 * time.Hour, "90m": 90 * time.Minute, "48h": 48 * time.Hour} {
		var a Age
		if err := a.UnmarshalText([]byte(text)); err != nil || time.Duration(a) != want {
			t.Errorf("%s: %v, %v", text, a, err)
		}
		var again Age
		if err := again.UnmarshalText([]byte(a.String())); err != nil || again != a {
			t.Errorf("%s: %s: %v, %v", text, a, again, err)
		}
	}
	for _, text := range []string{"", "d", "0d", "-1d", "1.5d", "99999999999999999999d", "36501d", "7", "0s", "-2h", "1w"} {
		var a Age
		if err := a.UnmarshalText([]byte(text)); err == nil || a != 0 {
			t.Errorf("%q: %v", text, a)
		}
	}
	keep, size := new(Records).Limits()
	if keep != 168*time.Hour || size != 1<<30 {
		t.Error(keep, size)
	}
}
