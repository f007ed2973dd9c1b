package degraded

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// Each kind has a message, and names cannot end a value of the header.
func TestNames(t *testing.T) {
	h := http.Header{}
	var list []core.Degradation
	for k, text := range texts {
		if strings.TrimSpace(text) == "" {
			t.Errorf("%s has no message", k)
		}
		list = append(list, core.Degradation{Kind: k, Step: "a;b\r\nc"})
	}
	Name(h, append(list[:1:1], core.Degradation{Kind: core.KindMissing, Reason: "empty"}))
	if want := []string{"step=a%3Bb%0D%0Ac", "kind=missing;reason=empty"}; !slices.Equal(h.Values(Header), want) {
		t.Errorf("%q, want %q", h.Values(Header), want)
	}
	if Name(h, make([]core.Degradation, 1000)); len(h.Values(Header)) > named+2 {
		t.Errorf("%d values", len(h.Values(Header)))
	}
}
