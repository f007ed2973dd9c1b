package svg

import (
	"cmp"
	"fmt"
	"slices"
)

// Link joins an item of the upper window with the same item of the lower one. Its fields are their
// places in Segments.
type Link struct{ A, B int }

// maxLinks bounds the lines between two windows.
const maxLinks = 2000

// gap is the distance of two windows, in pixels.
const gap = 60

// Diff draws two windows above each other, to the same scale. Items that are marked as changed are
// hatched. The legend has the tokens of both windows, the upper first. There is a line for each link; lines with the same ends are drawn once, and at most 2,000
// are drawn.
func Diff(a, b Bar, links []Link) Drawing {
	var c canvas
	scale := scaleOf(&a, &b)
	y := float64(line)
	c.text(0, y-5, "start", headed(a.Title))
	above := c.bar(&a, y, scale)
	lower := y + barHeight + gap
	left := c.links(above, pieces(&b, scale), links, y+barHeight, lower)
	c.bar(&b, lower, scale)
	y = lower + barHeight + line
	c.text(0, y-4, "start", headed(b.Title))
	c.text(width, y-4, "end", fmt.Sprintf("1 px = %.3g tokens", 1/scale))
	if left > 0 {
		y += line
		c.text(0, y-4, "start", fmt.Sprintf("and %d more lines", left))
	}
	y += line
	c.legend(y-4, &a, &b)
	return Drawing{
		title: headed(a.Title) + " and " + headed(b.Title), height: int(y), body: c.Bytes(),
		about: fmt.Sprintf("%s: %d items with %d tokens; %s: %d items with %d tokens", headed(a.Title), len(a.Segments), used(&a), headed(b.Title), len(b.Segments), used(&b)),
	}
}

// links draws lines between the pieces that show the items. It returns how many it left out.
func (c *canvas) links(above, below []piece, links []Link, from, to float64) (left int) {
	type ends struct{ a, b int }
	drawn := map[ends]bool{}
	for _, l := range links {
		a, b := pieceOf(above, l.A), pieceOf(below, l.B)
		if a == nil || b == nil {
			continue
		}
		e := ends{int(a.middle()), int(b.middle())}
		switch {
		case drawn[e]:
			continue
		case len(drawn) == maxLinks:
			left++
			continue
		}
		drawn[e] = true
		c.line(a.middle(), from, b.middle(), to, ` stroke-opacity="0.4" class="moved"`, "")
	}
	return left
}

// pieceOf returns the piece that shows an item, nil for none.
func pieceOf(list []piece, item int) *piece {
	i, found := slices.BinarySearchFunc(list, item, func(p piece, item int) int {
		if item < p.first {
			return 1
		}
		return cmp.Compare(min(p.last, item), item)
	})
	if !found {
		return nil
	}
	return &list[i]
}
