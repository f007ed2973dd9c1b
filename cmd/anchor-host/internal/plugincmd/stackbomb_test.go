package plugincmd

import (
	"strconv"
	"strings"
	"testing"
)

// TestHostileNames reads names that refer to their own parts, so that each part is twice as long as
// the one before, and names that nest deeply. A reader that follows each of them would not end.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	rust := "NvMC1aT" // a function of a tuple, whose elements are pairs of the one before
	for i, last := 0, 0; i < 40; i++ {
		at := len(rust)
		if i == 0 {
			rust += "ThhE"
		} else {
			back := "B" + base62(last)
			rust += "T" + back + back + "E"
		}
		last = at
	}
	cpp := "FvPFviiE" // a function, whose parameters take two of the one before
	for i := range 33 {
		ref := "S" + strings.ToUpper(strconv.FormatInt(int64(2*i), 36)) + "_"
		cpp += "PFv" + ref + ref + "E"
	}
	for _, name := range []string{
		"_R" + rust + "E3foo", "_ZTI" + cpp + "E", "_ZN1acvP" + cpp + "EEv",
		"_Z1f" + strings.Repeat("P", 60_000) + "i", "_R" + strings.Repeat("NvC", 20_000),
	} {
		out := readable("  at " + name + "(i32)")
		if limit := 2<<maxNameBits + len(name); len(out) > limit {
			t.Errorf("%.40s…: %d bytes, want at most %d", name, len(out), limit)
		}
	}
}

// base62 is a number as Rust writes a place in a name.
func base62(n int) string {
	if n == 0 {
		return "_"
	}
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	var out string
	for n--; ; n /= 62 {
		if out = digits[n%62:n%62+1] + out; n < 62 {
			return out + "_"
		}
	}
}
