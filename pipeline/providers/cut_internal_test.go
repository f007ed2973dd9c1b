package providers

import (
	"fmt"
	"strings"
	"testing"
)

// A list in JSON on one line is cut between its elements: what is left of them is whole.
func TestCutBetweenElements(t *testing.T) {
	for _, gap := range []string{"", " ", "\n  "} {
		var elements []string
		for i := range 200 {
			elements = append(elements, fmt.Sprintf(`{"id":%d,"name":"item, number {%d}","tags":["a","b"]}`, i, i))
		}
		text := "[" + strings.Join(elements, ","+gap) + "]"
		for keep := 600; keep < len(text); keep += 777 {
			before, after, found := strings.Cut(JoinCut(text, "MARKER", keep), "\nMARKER\n")
			if !found || !strings.HasSuffix(before, "},") || !strings.HasPrefix(after, `{"id":`) {
				t.Fatalf("gap %q, %d bytes: …%s|%s…", gap, keep, before[max(0, len(before)-40):], after[:min(len(after), 40)])
			}
		}
	}
}

// The end of a cut diff begins with the header of a hunk or a file.
func TestCutDiffKeepsHeaders(t *testing.T) {
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text, "diff --git a/f%d b/f%d\n--- a/f%d\n+++ b/f%d\n", i, i, i, i)
		for j := range 3 {
			fmt.Fprintf(&text, "@@ -%d,3 +%d,3 @@\n context\n-old\n+new\n", j*20+1, j*20+1)
		}
	}
	for keep := 2000; keep < text.Len(); keep += 501 {
		_, after, _ := strings.Cut(JoinCut(text.String(), "MARKER", keep), "\nMARKER\n")
		if !strings.HasPrefix(after, "@@ -") && !strings.HasPrefix(after, "diff --git ") {
			t.Fatalf("%d bytes: %.60q", keep, after)
		}
	}
}
