package rolloutcmd

import (
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/shadows"
	"github.com/anchor-host/anchor-host/cluster"
)

// The table of second versions says how their quality differs, and why it does not know.
func TestShadowQuality(t *testing.T) {
	for want, q := range map[string]*shadows.Quality{
		" -0.12 (-0.50 to +0.06) of 12/60 ": {Questions: 12, Judged: 60, Difference: shadows.Mean{Mean: -0.12, Low: -0.5, High: 0.06}},
		" questions.jsonl:7: no text ":      {Problem: "questions.jsonl:7:\nno text"},
	} {
		got := text(&cluster.Status{Hosts: []cluster.HostStatus{{ID: "h", Shadows: []shadows.Comparison{{Step: "s", Use: "two", Quality: q}}}}})
		if !strings.Contains(got, want) || !strings.Contains(got, "  QUALITY") {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if got := quality(nil); got != "-" {
		t.Errorf("without questions: %q", got)
	}
}
