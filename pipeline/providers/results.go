package providers

import (
	"context"
	"fmt"
	"slices"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

const (
	// leastResult is the fewest tokens to which the result of a tool is cut: enough to say
	// what it is, and that there is more.
	leastResult = 32
	// markerTokens is what the line takes that says how much was cut.
	markerTokens = 14
	// cutRounds bounds how often results are cut shorter because what is left of them has
	// more tokens than it had as part of the whole.
	cutRounds = 4
)

// holdsResults reports whether results of tools are in a unit.
func (v *view) holdsResults(unit int) bool {
	for i := range v.msgs {
		if v.units[i] == unit && len(v.msgs[i].ResultIDs()) > 0 {
			return true
		}
	}
	return false
}

// pinResults keeps the unit that ends the list if it is a call of a tool with its results,
// cut to the room that is left: a model that never sees what it asked for asks again, and
// again. The results that the newest message of the user holds beside its text are cut, too.
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

// pinUnit keeps a unit with results, cut to the room beside what is kept already. Where no
// more than a trace of them would fit beside the summary, the summary goes.
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

// cutUnit cuts the results in a unit, the longest first, so that it takes at most limit
// tokens, and reports whether it does then. Where results would have less than leastResult
// tokens, nothing is cut, unless they must be: then they are cut to that, also when the
// rounds before have not found the length that fits.
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

// bareUnit returns what a unit takes without the texts of its results. Where a result
// counts as JSON, that is not what remains of its size when the counts of texts are taken
// away.
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

// waterLevel returns the length to which the longest are cut so that the sum of all is at
// most total; 0 if there is none.
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
// what each of them takes. counts are those of the results.
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

// replace puts messages in the place of those of a unit. The list that was given is not
// changed.
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

// fillCutting is fill, and keeps the first unit that does not fit too if cutting its
// results makes it fit.
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
