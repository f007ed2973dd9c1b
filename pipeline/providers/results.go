package providers

import (
	"context"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

const (
	// leastResult is the smallest size to which the result of a tool is cut, in tokens. It
	// is enough to show what the result is, and that there is more.
	leastResult = 32
	// markerTokens is the size of the line that says how much was cut, in tokens.
	markerTokens = 14
	// cutRounds bounds how often results are cut again. This is needed because a cut text
	// may have more tokens than the same text had as part of the whole.
	cutRounds = 4
)

// holdsResults reports whether a unit has results of tools.
func (v *view) holdsResults(unit int) bool {
	for i := range v.msgs {
		if v.units[i] == unit && len(v.msgs[i].ResultIDs()) > 0 {
			return true
		}
	}
	return false
}

// pinResults keeps the last unit of the list if it is a tool call with its results, and
// cuts the results to the room that is left. Otherwise a model would never see the result,
// and repeat the call for ever. pinResults also cuts results in the newest user message.
func (v *view) pinResults(ctx context.Context, c *agent.Counter, room size) error {
	units := []int{v.units[len(v.msgs)-1]}
	if user := v.newestUser; user >= 0 && v.units[user] != units[0] {
		units = append(units, v.units[user])
	}
	for _, unit := range units {
		if !v.holdsResults(unit) {
			continue
		}
		if err := v.pinUnit(ctx, c, unit, room); err != nil {
			return err
		}
	}
	return nil
}

// pinUnit keeps a unit with results, cut to the room that the kept messages leave. If the
// summary leaves hardly any room for the results, pinUnit drops the summary.
func (v *view) pinUnit(ctx context.Context, c *agent.Counter, unit int, room size) error {
	v.drop(unit)
	defer v.keep(unit)
	over := func() bool { return room.tokens > 0 && v.kept.tokens+v.sizes[unit].tokens > room.tokens }
	if !over() {
		return nil
	}
	if fits, err := v.cutUnit(ctx, c, unit, max(0, room.tokens-v.kept.tokens), false); err != nil || fits {
		return err
	}
	if at := findSummary(v.msgs); at >= 0 {
		v.drop(v.units[at])
	}
	if !over() {
		return nil
	}
	_, err := v.cutUnit(ctx, c, unit, max(0, room.tokens-v.kept.tokens), true)
	return err
}

// cutUnit cuts the results in a unit, the longest first, so that the unit takes at most
// limit tokens. It reports whether the unit does then. If results would have fewer than
// leastResult tokens, it cuts nothing, unless the unit must stay. In that case it cuts them
// to leastResult, also if no earlier round has found a length that fits.
func (v *view) cutUnit(ctx context.Context, c *agent.Counter, unit, limit int, must bool) (bool, error) {
	texts, err := v.resultTexts(unit)
	if err != nil || len(texts) == 0 {
		return false, err
	}
	counts, err := c.Tokenizer().Count(ctx, texts...)
	if err != nil {
		return false, fmt.Errorf("cut results: %w", err)
	}
	bare, err := v.bareUnit(ctx, c, unit)
	if err != nil {
		return false, err
	}
	target := limit - bare
	for round := range cutRounds {
		longest := waterLevel(counts, target)
		if longest < leastResult && !must {
			return false, nil
		}
		if round == cutRounds-1 && must {
			longest = 0
		}
		msgs, sizes, err := v.withResults(ctx, c, unit, counts, max(longest, leastResult))
		if err != nil {
			return false, err
		}
		took := 0
		for _, n := range sizes {
			took += n
		}
		if took <= limit || longest < leastResult {
			v.replace(unit, msgs, sizes, took)
			return took <= limit, nil
		}
		target -= took - limit
	}
	return false, nil
}

// bareUnit returns the tokens of a unit without the texts of its results. It counts them,
// because a result that counts as JSON has other tokens than the sum of its texts.
func (v *view) bareUnit(ctx context.Context, c *agent.Counter, unit int) (int, error) {
	var msgs []pipeline.Message
	for i := range v.msgs {
		if v.units[i] == unit {
			m, err := v.msgs[i].MapResults(func(string) (string, error) { return "", nil })
			if err != nil {
				return 0, err
			}
			msgs = append(msgs, m)
		}
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
func (v *view) resultTexts(unit int) (texts []string, err error) {
	for i := range v.msgs {
		if v.units[i] == unit {
			_, err = v.msgs[i].MapResults(func(text string) (string, error) {
				texts = append(texts, text)
				return text, nil
			})
		}
	}
	return texts, err
}

// withResults returns the messages of a unit with results of at most longest tokens, and
// the tokens of each message. counts are the tokens of the results.
func (v *view) withResults(ctx context.Context, c *agent.Counter, unit int, counts []int, longest int) (msgs []pipeline.Message, sizes []int, err error) {
	at := 0
	cut := func(text string) (string, error) {
		n := counts[at]
		at++
		if n <= longest {
			return text, nil
		}
		head, err := c.Tokenizer().Truncate(ctx, text, longest-markerTokens)
		if err != nil {
			return "", fmt.Errorf("cut result of %d tokens: %w", n, err)
		}
		return fmt.Sprintf("%s\n[cut here: about %d of %d tokens left out]", head, n-longest+markerTokens, n), nil
	}
	for i := range v.msgs {
		if v.units[i] == unit {
			m, err := v.msgs[i].MapResults(cut)
			if err != nil {
				return nil, nil, err
			}
			msgs = append(msgs, m)
		}
	}
	sizes, err = c.Count(ctx, msgs)
	return msgs, sizes, err
}

// replace replaces the messages of a unit. It does not change the given list.
func (v *view) replace(unit int, msgs []pipeline.Message, sizes []int, took int) {
	v.msgs, v.changed = slices.Clone(v.msgs), true
	at := 0
	for i := range v.msgs {
		if v.units[i] == unit {
			v.msgs[i], v.counts[i] = msgs[at], sizes[at]
			at++
		}
	}
	v.sizes[unit].tokens = took
}

// fillCutting is fill. It also keeps the first unit that does not fit if it fits once its
// results are cut.
func (v *view) fillCutting(ctx context.Context, c *agent.Counter, room size) error {
	unit := v.fill(room)
	if unit < 0 || room.tokens == 0 || !v.holdsResults(unit) || (size{messages: v.kept.messages + v.sizes[unit].messages}).exceeds(room) {
		return nil
	}
	fits, err := v.cutUnit(ctx, c, unit, room.tokens-v.kept.tokens, false)
	if fits {
		v.keep(unit)
	}
	return err
}
