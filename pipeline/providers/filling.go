package providers

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/agent"
	"github.com/anchor-host/anchor-host/pipeline/internal/compact"
	"github.com/anchor-host/anchor-host/pipeline/message"
)

const (
	// digestShare is the part of the budget that is left to a digest, and digestMost its size in
	// tokens. Whole messages say more than lines of them.
	digestShare, digestMost = 8, 1024
	// leastLine is the length of the shortest line of a digest, in characters.
	leastLine = 16
	// widthRounds bounds how often the lines of a digest are made longer or shorter.
	widthRounds = 14
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
	e, err := c.keepNewest(ctx, v, cut, own, previous, target)
	if err != nil {
		return nil, err
	}
	if c.beginWithUser {
		v.beginWithUser(func(i int) bool { return !own[i] })
	}
	text, took, err := c.digest(ctx, v, previous, target)
	if err != nil || text == "" {
		return nil, err
	}
	filled, err := e.fillGaps(ctx, cut, c.cfg.Counter, target.minus(size{took, min(1, target.messages)}))
	if err != nil {
		return nil, err
	}
	if filled {
		if text, _, err = c.digest(ctx, v, previous, target); err != nil || text == "" {
			return v.all(), err // the gaps were all that was left out
		}
	}
	agent.NoteDroppedLines(ctx, v.newlyGone(summaryMessage(text), previous))
	return v.pieces(text), nil
}

// fillGaps keeps the newest of the other units that fit, or that fit when their results are cut,
// with the messages of the user that they belong to: a digest of images or of sealed reasoning is
// short, and leaves room. A message of the user that is too large stays away from its answers.
func (e *edges) fillGaps(ctx context.Context, cut *cutter, c *agent.Counter, room size) (filled bool, err error) {
	first := len(e.order)
	for _, alone := range []bool{false, true} {
		for k := len(e.order) - 1; k >= 0 && err == nil; k-- {
			unit, asker := e.order[k], e.asker(k)
			if e.v.keeps[unit] || e.v.ends(unit) || !alone && asker < 0 && e.asks[k] != k || alone && k < first {
				continue
			}
			with := e.v.kept
			if !alone && asker >= 0 && !e.v.keeps[e.order[asker]] {
				if with = with.plus(e.v.sizes[e.order[asker]]); e.v.ends(e.order[asker]) {
					continue
				}
			}
			fits := !with.plus(e.v.sizes[unit]).exceeds(room)
			if left := room.minus(with); !fits && room.tokens > 0 && left.tokens >= widenLeast && e.v.holdsResults(unit) &&
				!(size{messages: e.v.sizes[unit].messages}).exceeds(size{messages: left.messages}) {
				fits, err = e.v.tryCut(ctx, cut, c, unit, left.tokens)
			}
			if !fits {
				continue
			}
			e.v.keep(unit)
			if !alone && asker >= 0 {
				e.v.keep(e.order[asker])
			}
			filled = true
		}
		first = e.firstOfUser()
	}
	return filled, err
}

// firstOfUser returns the place of the first message of the user that stays. What stays after it
// does not begin the list. The form of Gemini wants a call next to the words of the user.
func (e *edges) firstOfUser() int {
	for k, unit := range e.order {
		if e.v.keeps[unit] && e.asks[k] == k && e.v.msgs[unit].Form() != message.FormGemini {
			return k
		}
	}
	return len(e.order)
}

// ends reports whether a unit has a message of the system after which only the assistant may speak.
func (v *view) ends(unit int) bool {
	for i := range v.of(unit) {
		if v.msgs[i].Follows() {
			return true
		}
	}
	return false
}

// keepNewest keeps what must stay and the newest messages, and leaves room for a digest.
func (c *Compaction) keepNewest(ctx context.Context, v *view, cut *cutter, own []bool, previous int, target size) (*edges, error) {
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
		return nil, err
	}
	e := newEdges(v, must, previous)
	edge, err := e.widen(ctx, cut, c.cfg.Counter, e.find(room), room)
	e.keepFrom(edge)
	return e, err
}

// digest returns the text of a digest of the messages that are not kept, with the tokens of its
// message. It returns nothing if all messages are kept, or if not even a short line fits.
func (c *Compaction) digest(ctx context.Context, v *view, previous int, target size) (string, int, error) {
	if v.left(previous) == 0 || v.kept.plus(size{messages: 1}).exceeds(target) {
		return "", 0, nil
	}
	most := 0
	if target.tokens > 0 {
		most = max(1, target.tokens-v.kept.tokens)
	}
	d, err := c.digestLines(ctx, v, previous, most)
	if err != nil || most == 0 {
		return d.write(0, DefaultDigestLine), 0, err
	}
	text := d.longest()
	return text, d.took, d.err
}

// longest returns as many of the newest lines as fit, and then makes them longer.
func (d *digestLines) longest() string {
	last := len(d.lines) - 1
	first := sort.Search(last, func(i int) bool { return d.fits(i, DefaultDigestLine) })
	width := DefaultDigestLine
	if !d.fits(first, width) {
		width = leastLine + sort.Search(width-leastLine, func(n int) bool { return !d.fits(first, leastLine+n) }) - 1
		if width < leastLine {
			return ""
		}
		return d.write(first, width)
	}
	width = d.widest(first, width)
	if first > d.old && d.took < d.most-d.most/closeShare { // the oldest line gets what is left
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
	return d.write(first, width)
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
	if len(text) > d.most*compact.MaxTokenBytes {
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
		next := max(low+1, low*d.most/max(1, d.took))
		if next >= high {
			next = low + (high-low+1)/2
		}
		if d.fits(first, next) {
			low = next
		} else {
			high = next - 1
		}
	}
	return low
}
