package providers

import (
	"context"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

// leastResult is the smallest size to which the result of a tool is cut, in tokens. It is enough
// to show what the result is, and that there is more.
const leastResult = 32

// holdsResults reports whether a unit has results of tools.
func (v *view) holdsResults(unit int) bool {
	for i := range v.of(unit) {
		if len(v.msgs[i].Results()) > 0 {
			return true
		}
	}
	return false
}

// cutUnit cuts the results in a unit, the longest first, so that the unit takes at most
// limit tokens. It cuts no result to less than leastResult tokens, and to these if no earlier round has
// found a length that fits.
func (v *view) cutUnit(ctx context.Context, cut *cutter, c *agent.Counter, unit, limit int) error {
	out, err := v.shortest(ctx, cut, c, unit, limit)
	if err == nil && out != nil {
		v.replace(unit, out)
	}
	return err
}

// tryCut is cutUnit for a unit that stays as it is if it cannot be cut so far.
func (v *view) tryCut(ctx context.Context, cut *cutter, c *agent.Counter, unit, limit int) (bool, error) {
	if bare, err := v.bareUnit(ctx, c, unit); err != nil || bare+leastResult > limit {
		return false, err
	}
	out, err := v.shortest(ctx, cut, c, unit, limit)
	if err != nil || out == nil || out.took > limit {
		return false, err
	}
	v.replace(unit, out)
	return true, nil
}

// shortest returns the messages of a unit with results that are cut, or nil if it has none.
func (v *view) shortest(ctx context.Context, cut *cutter, c *agent.Counter, unit, limit int) (*cutMessages, error) {
	texts := v.resultTexts(unit)
	if len(texts) == 0 {
		return nil, nil
	}
	counts, err := c.Tokenizer().Count(ctx, texts...)
	if err != nil {
		return nil, fmt.Errorf("cut results: %w", err)
	}
	bare, err := v.bareUnit(ctx, c, unit)
	if err != nil {
		return nil, err
	}
	target := limit - bare
	var best *cutMessages
	for round := range cutRounds {
		longest := waterLevel(counts, target)
		if round == cutRounds-1 && best == nil {
			longest = 0
		}
		out, err := v.withResults(ctx, cut, c, unit, counts, max(longest, leastResult))
		if err != nil {
			return nil, err
		}
		if out.took > limit && longest < leastResult {
			return out, nil
		}
		if out.took <= limit && (best == nil || out.took > best.took) {
			best = out
		}
		if out.took <= limit && out.took >= limit-limit/closeShare {
			break
		}
		target += limit - out.took
	}
	return best, nil
}

// closeShare is the part of a limit that a cut unit may leave unused, if a longer one can be had.
const closeShare = 64

// cutMessages are the messages of a unit with results that are cut.
type cutMessages struct {
	msgs  []pipeline.Message
	sizes []int // in tokens
	took  int   // the sum of sizes
}

// bareUnit returns the tokens of a unit without the texts of its results. It counts them,
// because a result that counts as JSON has other tokens than the sum of its texts.
func (v *view) bareUnit(ctx context.Context, c *agent.Counter, unit int) (int, error) {
	var msgs []pipeline.Message
	for i := range v.of(unit) {
		msgs = append(msgs, mapResults(&v.msgs[i], func(string) string { return "" }))
	}
	return c.Total(ctx, msgs)
}

// waterLevel returns the length to which the longest results are cut so that the sum of all
// is at most total. It returns 0 if there is no such length.
func waterLevel(counts []int, total int) int {
	sorted := slices.Sorted(slices.Values(counts))
	for i, n := range sorted {
		level := total / (len(sorted) - i)
		if n >= level {
			return max(0, level)
		}
		total -= n
	}
	return sorted[len(sorted)-1]
}

// resultTexts returns the texts of the results in a unit.
func (v *view) resultTexts(unit int) (texts []string) {
	for i := range v.of(unit) {
		mapResults(&v.msgs[i], func(text string) string {
			texts = append(texts, text)
			return text
		})
	}
	return texts
}

// mapResults returns a copy of a message in which f has replaced each text of a tool's result.
func mapResults(m *pipeline.Message, f func(text string) string) pipeline.Message {
	out := m.Clone()
	for _, r := range out.Results() {
		mapTexts(r.Parts, f)
	}
	return out
}

func mapTexts(parts []message.Part, f func(text string) string) {
	for i := range parts {
		if p := &parts[i]; p.Kind == message.Text {
			p.Text = f(p.Text)
		}
	}
}

// withResults returns the messages of a unit with results of at most longest tokens, and
// the tokens of each message. counts are the tokens of the results.
func (v *view) withResults(ctx context.Context, cut *cutter, c *agent.Counter, unit int, counts []int, longest int) (out *cutMessages, err error) {
	at := 0
	out = &cutMessages{}
	shorten := func(text string) string {
		n := counts[at]
		at++
		if n <= longest || err != nil {
			return text
		}
		var short string
		if short, err = cut.text(ctx, c.Tokenizer(), text, n, longest); err != nil {
			err = fmt.Errorf("cut result of %d tokens: %w", n, err)
		}
		return short
	}
	for i := range v.of(unit) {
		out.msgs = append(out.msgs, mapResults(&v.msgs[i], shorten))
	}
	if err != nil {
		return nil, err
	}
	out.sizes, err = c.Count(ctx, out.msgs)
	for _, n := range out.sizes {
		out.took += n
	}
	return out, err
}

// replace replaces the messages of a unit. It does not change the given list.
func (v *view) replace(unit int, by *cutMessages) {
	if !v.changed {
		v.given = v.msgs
		v.msgs, v.changed = slices.Clone(v.msgs), true
	}
	at := 0
	for i := range v.of(unit) {
		v.msgs[i], v.counts[i] = by.msgs[at], by.sizes[at]
		at++
	}
	v.total.tokens += by.took - v.sizes[unit].tokens
	v.sizes[unit].tokens = by.took
}
