package providers

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
)

const (
	// digestShare is the part of the budget that is left to a digest, and digestMost its size in
	// tokens. Whole messages say more than lines of them.
	digestShare, digestMost = 8, 1024
	// leastLine is the length of the shortest line of a digest, in characters.
	leastLine = 16
	// widthRounds bounds how often the lines of a digest are made longer or shorter.
	widthRounds = 8
)

// fills reports whether the budget decides what is left, and nothing else.
func (c *Compaction) fills() bool {
	return c.cfg.Compactor == Digest{} && c.cfg.TriggerTokens == 0 && c.cfg.TriggerMessages == 0 && c.cfg.KeepTokens == 0 && c.cfg.KeepMessages == 0
}

// fill compacts a list so that it uses the budget. A list that grows leaves some of it to later
// messages, unless what must stay needs it.
func (c *Compaction) fill(ctx context.Context, v *view, own []bool, m marks, grows bool) ([]piece, error) {
	previous := findSummary(v.msgs)
	if previous >= 0 && !own[previous] {
		previous = -1
	}
	if grows || previous >= 0 {
		pieces, err := c.fillTo(ctx, v, own, previous, m.room.growing())
		if err != nil || pieces != nil {
			return pieces, err
		}
		if v, err = newView(ctx, c.cfg.Counter, v.given, true); err != nil {
			return nil, err
		}
	}
	return c.fillTo(ctx, v, own, previous, m.room)
}

// fillTo compacts a list to a size. It returns nil if what must stay is larger.
func (c *Compaction) fillTo(ctx context.Context, v *view, own []bool, previous int, target size) ([]piece, error) {
	cut := &cutter{keep: c.keep}
	v.measure()
	if err := v.cutLarge(ctx, cut, c.cfg.Counter, target); err != nil {
		return nil, err
	}
	if !v.total.exceeds(target) {
		return v.all(), nil
	}
	if err := c.keepNewest(ctx, v, cut, own, previous, target); err != nil {
		return nil, err
	}
	if c.beginWithUser {
		v.beginWithUser(func(i int) bool { return !own[i] })
	}
	if v.left(previous) == 0 || v.kept.plus(size{messages: 1}).exceeds(target) {
		return nil, nil
	}
	most := 0
	if target.tokens > 0 {
		most = max(1, target.tokens-v.kept.tokens)
	}
	text, err := c.digest(ctx, v, previous, most)
	if err != nil || text == "" {
		return nil, err
	}
	agent.NoteDroppedLines(ctx, v.newlyGone(summaryMessage(text), previous))
	return v.pieces(text), nil
}

// keepNewest keeps what must stay and the newest messages, and leaves room for a digest.
func (c *Compaction) keepNewest(ctx context.Context, v *view, cut *cutter, own []bool, previous int, target size) error {
	for i := range own {
		if !own[i] {
			v.keep(v.units[i])
		}
	}
	v.pinInstructions()
	if previous >= 0 {
		v.drop(previous)
	}
	must := v.mustStay()
	if last := len(v.msgs) - 1; last != previous && !slices.Contains(must, v.units[last]) {
		must = append(must, v.units[last])
	}
	room := target.minus(size{min(target.tokens/digestShare, digestMost), min(1, target.messages)})
	if err := v.cutToFit(ctx, cut, c.cfg.Counter, must, room); err != nil {
		return err
	}
	e := newEdges(v, must, previous)
	edge, err := e.widen(ctx, cut, c.cfg.Counter, e.find(room), room)
	e.keepFrom(edge)
	return err
}

// digest returns the text of a digest of the messages that are not kept, as long as the tokens
// allow: first as many of the newest lines as fit, then longer lines. 0 is no bound. It returns
// nothing if not even a short line fits.
func (c *Compaction) digest(ctx context.Context, v *view, previous, most int) (string, error) {
	d, err := c.digestLines(ctx, v, previous, most)
	if err != nil || most == 0 {
		return d.write(0, DefaultDigestLine), err
	}
	last := len(d.lines) - 1
	first := sort.Search(last, func(i int) bool { return d.fits(i, DefaultDigestLine) })
	width := DefaultDigestLine
	if !d.fits(first, width) {
		width = leastLine + sort.Search(width-leastLine, func(n int) bool { return !d.fits(first, leastLine+n) }) - 1
		if width < leastLine {
			return "", d.err
		}
		return d.write(first, width), d.err
	}
	width = d.widest(first, width)
	if first > d.old && d.took < most-most/closeShare { // the oldest line gets what is left
		n := sort.Search(DefaultDigestLine-leastLine, func(n int) bool {
			d.oldest = leastLine + n
			return !d.fits(first-1, width)
		})
		if d.oldest = leastLine + n - 1; n > 0 {
			first--
		} else {
			d.oldest = 0
		}
	}
	return d.write(first, width), d.err
}

// digestLines are the lines of a digest before they are shortened.
type digestLines struct {
	lines, narrow []string // whole, and of the usual length
	old           int      // how many of them are those of the summary so far
	gone          int      // how many the summary so far has dropped
	oldest        int      // the length of the first line that is written, 0 if it is that of the others
	took, most    int      // tokens of the newest text that fits, and of the longest one
	count         func(text string) (int, error)
	err           error
}

// digestLines makes the lines of the messages that are not kept.
func (c *Compaction) digestLines(ctx context.Context, v *view, previous, most int) (*digestLines, error) {
	d := &digestLines{most: most, count: func(text string) (int, error) {
		return c.cfg.Counter.Total(ctx, []pipeline.Message{summaryMessage(text)})
	}}
	if previous >= 0 {
		d.lines, d.gone = splitDigest(withoutHeader(v.msgs[previous].Text()))
		d.old = len(d.lines)
	}
	longest := DefaultDigestLine
	if most > 0 {
		longest = max(longest, most*8)
	}
	for i, unit := range v.units {
		if i == previous || v.keeps[unit] {
			continue
		}
		if err := ctx.Err(); err != nil {
			return d, fmt.Errorf("compact: %w", err)
		}
		t := asTurn(&v.msgs[i], 0)
		d.lines = append(d.lines, shorten(string(t.Role)+": "+t.Content, longest))
	}
	d.narrow = slices.Clone(d.lines)
	for i := d.old; i < len(d.lines); i++ {
		d.narrow[i] = shorten(d.lines[i], DefaultDigestLine)
	}
	return d, nil
}

// write writes the lines from the first on, each of at most width characters. Those of the summary
// so far stay as they are.
func (d *digestLines) write(first, width int) string {
	lines := slices.Clone(d.narrow[first:])
	for i := range lines {
		at, n := first+i, width
		if i == 0 && d.oldest > 0 {
			n = d.oldest
		}
		if at >= d.old && n != DefaultDigestLine {
			lines[i] = shorten(d.lines[at], n)
		}
	}
	return joinDigest(lines, d.gone+first)
}

// fits reports whether the lines take at most the tokens that there are.
func (d *digestLines) fits(first, width int) bool {
	text := d.write(first, width)
	if len(text) > d.most*maxTokenBytes {
		return false
	}
	n, err := d.count(text)
	if err != nil {
		d.err = err
		return false
	}
	if n <= d.most {
		d.took = n
	}
	return n <= d.most
}

// widest returns the largest length of lines, from a width that fits on, with which they nearly
// fill the room.
func (d *digestLines) widest(first, width int) int {
	high := 0
	for _, line := range d.lines[max(first, d.old):] {
		high = max(high, utf8.RuneCountInString(line))
	}
	low := width
	d.fits(first, low)
	for range widthRounds {
		if high <= low || d.took >= d.most-d.most/closeShare || d.err != nil {
			break
		}
		next := min(high, max(low+1, low*d.most/max(1, d.took)))
		if d.fits(first, next) {
			low = next
		} else {
			high = next - 1
		}
	}
	return low
}
