package answer

import (
	"strings"
	"testing"
)

func TestValidFormatType(t *testing.T) {
	for in, want := range map[string]bool{
		"": true, "markdown": true, "naïve": true, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false, "a\nb": false, "\x1b[31m": false,
	} {
		if got := validFormatType(in); got != want {
			t.Errorf("validFormatType(%q) = %t", in, got)
		}
	}
}
