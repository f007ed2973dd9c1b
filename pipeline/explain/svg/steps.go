package svg

import (
	"fmt"
	"strings"
)

// Step is a stage or a step of a build.
type Step struct {
	Name string
	// Start is when it began, in milliseconds from the start of the build, and Took how long it took.
	Start, Took float64
	// Waited is the part of Took for which its plugins waited for an instance or a processor, and
	// Guest the part in which they ran, in milliseconds. The rest is work of the host. Both are 0 where
	// they are unknown.
	Waited, Guest float64
	// Fuel is the fuel that its plugins used.
	Fuel int64
	// Plugin is the name of its plugin. Empty: it is native.
	Plugin string
	// Failed says why it was skipped or failed the build. Empty: it succeeded.
	Failed string
	// Part is true for a step within the stage above it.
	Part bool
}

// maxSteps bounds the rows of a drawing.
const maxSteps = 200

// Sizes of the rows of steps, in pixels.
const (
	rowHeight  = 20
	nameWidth  = 220
	afterWidth = 210
)

// Steps draws the steps of a build along the time that it took, in milliseconds. At most 200 steps
// are drawn.
func Steps(title string, took float64, steps []Step) Drawing {
	var c canvas
	const room = width - nameWidth - afterWidth
	shown := steps[:min(len(steps), maxSteps)]
	most := max(took, 0.001)
	for i := range shown {
		most = max(most, shown[i].Start+shown[i].Took)
	}
	scale := room / most
	y := float64(line)
	c.text(0, y-5, "start", headed(title))
	for i := range shown {
		c.step(&shown[i], y, scale)
		y += rowHeight
	}
	if n := len(steps) - len(shown); n > 0 {
		y += line
		c.text(0, y-5, "start", fmt.Sprintf("and %d more", n))
	}
	c.line(nameWidth, y, nameWidth+room, y, ` stroke-width="0.5"`, "")
	y += line
	c.text(nameWidth, y-4, "start", "0")
	c.text(nameWidth+room, y-4, "end", ms(most))
	return Drawing{
		title: headed(title), height: int(y), body: c.Bytes(),
		about: fmt.Sprintf("%s: %d steps in %s", headed(title), len(steps), ms(took)),
	}
}

func (c *canvas) step(s *Step, y, scale float64) {
	indent, name := 0.0, s.Name
	if s.Part {
		indent = 12
	}
	if runes := []rune(name); len(runes) > 30 {
		name = string(runes[:29]) + "…"
	}
	c.text(indent, y+14, "start", name)
	x, h := nameWidth+s.Start*scale, float64(rowHeight-6)
	fill, more := "#56b4e9", ""
	switch {
	case s.Failed != "":
		fill, more = "#d55e00", ` class="failed"`
	case !s.Part:
		fill = "#999999"
	}
	c.rect(x, y+3, max(s.Took*scale, 1), h, fill, more, s.tip())
	if s.Waited > 0 {
		c.rect(x, y+3, min(s.Waited, s.Took)*scale, h, hatch, ` fill-opacity="0.5" pointer-events="none" class="waited"`, "")
	}
	if s.Guest > 0 {
		from := min(s.Waited, s.Took)
		c.rect(x+from*scale, y+3, min(s.Guest, s.Took-from)*scale, h, "#009e73", ` pointer-events="none" class="guest"`, "")
	}
	after := ms(s.Took)
	if s.Fuel > 0 {
		after += ", " + fuel(s.Fuel)
	}
	if s.Failed != "" {
		after += ", failed"
	}
	c.text(width, y+14, "end", after)
}

// tip says what is known about a step.
func (s *Step) tip() string {
	parts := []string{fmt.Sprintf("%s: %s from %s on", short(s.Name), ms(s.Took), ms(s.Start))}
	if s.Plugin != "" {
		parts = append(parts, "plugin "+short(s.Plugin))
	}
	if s.Guest > 0 {
		parts = append(parts, fmt.Sprintf("%s in plugins, %s waited, %s of the host", ms(s.Guest), ms(s.Waited), ms(max(0, s.Took-s.Guest-s.Waited))))
	}
	if s.Fuel > 0 {
		parts = append(parts, fuel(s.Fuel))
	}
	if s.Failed != "" {
		parts = append(parts, short(s.Failed))
	}
	return strings.Join(parts, "; ")
}

func ms(x float64) string {
	if x >= 10_000 {
		return fmt.Sprintf("%.1f s", x/1000)
	}
	return fmt.Sprintf("%.2f ms", x)
}

func fuel(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.1f G fuel", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f M fuel", float64(n)/1e6)
	}
	return fmt.Sprintf("%d fuel", n)
}
