package conformance

import (
	"math"
	"slices"

	"github.com/anchor-host/anchor-host/abi"
)

// canonical writes a reply so that replies with the same meaning have the same text. It
// rounds scores, so that a clock that advances by a millisecond makes no difference.
func (rep *reply) canonical(rows int) string {
	v := rep.doc
	if rep.doc == nil {
		v = canonicalChanges(rep.changes, rows)
	}
	b, err := readable(v)
	if err != nil {
		return err.Error()
	}
	return b
}

func canonicalChanges(c *abi.Changes, rows int) *abi.Changes {
	if c == nil {
		return &abi.Changes{}
	}
	out := *c
	if len(c.Keep) == rows {
		out.Keep = nil
	}
	out.Edits = slices.Clone(c.Edits)
	slices.SortStableFunc(out.Edits, func(a, b abi.Edit) int { return int(int64(a.Row) - int64(b.Row)) })
	out.Scores = slices.Clone(c.Scores)
	for i := range out.Scores {
		out.Scores[i].Score = rounded(out.Scores[i].Score)
	}
	slices.SortStableFunc(out.Scores, func(a, b abi.RowScore) int { return int(int64(a.Row) - int64(b.Row)) })
	out.Items = slices.Clone(c.Items)
	for i := range out.Items {
		out.Items[i].Score = rounded(out.Items[i].Score)
	}
	return &out
}

func rounded(f float64) float64 { return math.Round(f*1e6) / 1e6 }

// difference shows where two texts begin to differ.
func difference(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from := max(0, i-20)
	return "“" + clip(a[from:]) + "” and “" + clip(b[from:]) + "”"
}
