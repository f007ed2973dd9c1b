package providers_test

import (
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/providers"
	"github.com/anchor-host/anchor-host/tokens"
)

// Each cut text has the line with the ways to the original, so it stays short; see handleTokens.
func TestWaysAreShort(t *testing.T) {
	tok, err := tokens.Get("o200k_base")
	if err != nil {
		t.Fatal(err)
	}
	ways := "; " + providers.Ways(providers.Handle("text"))
	counts, err := tok.Count(t.Context(), ways)
	if err != nil || counts[0] > 36 {
		t.Errorf("%v tokens, %v", counts, err)
	}
	for _, way := range []string{"recall", "GET /v1/cuts/", "anchor-host memory get cut-"} {
		if !strings.Contains(ways, way) {
			t.Errorf("%q does not say %q", ways, way)
		}
	}
}
