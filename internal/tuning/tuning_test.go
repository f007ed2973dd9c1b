package tuning

import (
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/eval"
	"github.com/anchor-host/anchor-host/internal/config"
)

// Merging that is worse than its best part on the held-out half is said.
func TestTuneWarnsOfWorseFusion(t *testing.T) {
	for name, c := range map[string]struct {
		now, tuned float64
		warnings   int
	}{"both worse": {0.60, 0.65, 2}, "tuned is better": {0.60, 0.70, 1}, "both better": {0.69, 0.70, 0}} {
		tu := &Run{out: &eval.Tuning{}}
		tu.add(eval.TuneResult{Kind: "retriever", Name: "docs", Rows: []eval.TuneRow{
			{Name: "words alone", HeldOut: 0.68}, {Name: "vectors alone", HeldOut: 0.5}, {Name: rowDefaults, HeldOut: 0.1},
			{Name: rowNow, HeldOut: c.now}, {Name: rowTuned, HeldOut: c.tuned},
		}}, 2)
		if got := tu.out.Warnings; len(got) != c.warnings || c.warnings > 0 && !strings.Contains(got[0], "words alone has 0.6800") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// What is printed can be read again.
func TestTunedNamesAreYAML(t *testing.T) {
	for _, name := range []string{"docs", "on", "null", "a: b", "1", "x#y", `"`, "-", "ü", "a,b]"} {
		text := "retrievers: {" + strictKey(name) + ": {collection: " + strictKey(name) + ", filter: " + filterText([]config.Condition{{Field: name, Op: ">=", Values: []string{name}}}) + "}}"
		l, err := config.Parse("a.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if r := l.Retrievers[name]; r.Collection != name || r.Filter[0].Field != name || r.Filter[0].Values[0] != name {
			t.Errorf("%s: %+v", text, l.Retrievers)
		}
	}
}
