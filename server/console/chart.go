package console

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"github.com/anchor-host/anchor-host/internal/plain"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/explain/svg"
)

// Sizes of small charts, in the units of their coordinates.
const curveWidth, curveHeight = 240.0, 48.0

// polyline returns the points of a curve from the left to the right, and its largest value. What is
// unknown is drawn as 0.
func polyline(values []float64) (points string, most float64) {
	for _, x := range values {
		if !math.IsNaN(x) && !math.IsInf(x, 0) {
			most = max(most, x)
		}
	}
	var b strings.Builder
	for i, x := range values {
		if math.IsNaN(x) {
			x = 0
		}
		y := curveHeight - 2
		if most > 0 {
			y -= (curveHeight - 4) * min(x, most) / most
		}
		fmt.Fprintf(&b, "%.1f,%.1f ", curveWidth*float64(i)/float64(max(1, len(values)-1)), y)
	}
	return strings.TrimSpace(b.String()), most
}

// draw makes SVG of drawings for a page.
func draw(id string, drawings ...svg.Drawing) template.HTML {
	var b bytes.Buffer
	_ = svg.Write(&b, svg.Options{ID: id}, drawings...) // a buffer takes everything
	return template.HTML(b.String())                    //nolint:gosec // the package escapes every text
}

// turnBar is the window of one turn of a conversation.
type turnBar struct {
	Link, Title string
	// By are the tokens of each source; Max is the room.
	By  map[core.Source]int
	Max int
}

// Sizes of the chart of a conversation, in pixels.
const areaWidth, areaHeight, areaFoot = 960.0, 220.0, 24.0

// areas draws the windows of a conversation as areas above each other, and a link for each turn.
func areas(turns []turnBar) template.HTML {
	if len(turns) == 0 {
		return ""
	}
	most := 1
	for i := range turns {
		most = max(most, turns[i].Max, sum(turns[i].By))
	}
	x := func(i int) float64 {
		if len(turns) == 1 {
			return areaWidth / 2
		}
		return areaWidth * (float64(i) + 0.5) / float64(len(turns))
	}
	y := func(n int) float64 { return areaHeight * (1 - float64(n)/float64(most)) }
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="0 -6 %g %g" width="%g" height="%g" role="group" aria-label="the window of each turn" font-family="system-ui, sans-serif" font-size="12">`+"\n",
		areaWidth, areaHeight+areaFoot+6, areaWidth, areaHeight+areaFoot+6)
	base := make([]int, len(turns))
	for _, s := range append(slices.Clone(core.Sources), "") {
		area(&b, turns, base, s, x, y)
	}
	roomLine(&b, turns, x, y)
	step := areaWidth / float64(len(turns))
	for i := range turns {
		t := &turns[i]
		fmt.Fprintf(&b, `<a href="%s" class="turn"><rect x="%.1f" y="0" width="%.1f" height="%g" fill="currentColor" fill-opacity="0"/><title>%s</title></a>`+"\n",
			template.HTMLEscapeString(t.Link), x(i)-step/2, step, areaHeight, template.HTMLEscapeString(plain.Line(t.Title)))
	}
	fmt.Fprintf(&b, `<text x="0" y="%g" fill="currentColor">oldest</text><text x="%g" y="%g" text-anchor="end" fill="currentColor">newest; the line is the room, at most %s tokens</text></svg>`,
		areaHeight+16, areaWidth, areaHeight+16, strconv.Itoa(most))
	return template.HTML(b.String()) //nolint:gosec // texts are escaped above
}

// area draws what one source has in each window, above what other sources have; base is raised by it.
// The empty source stands for all that are unknown.
func area(b *bytes.Buffer, turns []turnBar, base []int, s core.Source, x func(int) float64, y func(int) float64) {
	upper, lower, some := "", "", false
	for i := range turns {
		n := turns[i].By[s]
		some = some || n > 0
		left, right := x(i), x(i)
		if len(turns) == 1 {
			left, right = x(i)-60, x(i)+60
		}
		lower = fmt.Sprintf("%.1f,%.1f %.1f,%.1f ", right, y(base[i]), left, y(base[i])) + lower
		base[i] += n
		upper += fmt.Sprintf("%.1f,%.1f %.1f,%.1f ", left, y(base[i]), right, y(base[i]))
	}
	if some {
		fmt.Fprintf(b, `<polygon points="%s%s" fill="%s" fill-opacity="0.85"><title>%s</title></polygon>`+"\n", upper, lower, svg.Color(s), s)
	}
}

// roomLine draws the room of each window.
func roomLine(b *bytes.Buffer, turns []turnBar, x func(int) float64, y func(int) float64) {
	points := ""
	for i := range turns {
		points += fmt.Sprintf("%.1f,%.1f ", x(i), y(turns[i].Max))
	}
	fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="4 3"/>`+"\n", points)
}

// sourceOf is a source by its name, empty for one that is unknown.
func sourceOf(name string) core.Source {
	if s := core.Source(name); s.Valid() {
		return s
	}
	return ""
}

// sourceNames are the names in both maps, those that are known first, in their order.
func sourceNames(maps2 ...map[string]float64) []string {
	all := map[string]bool{}
	for _, m := range maps2 {
		for name := range m {
			all[name] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		i, j := core.Source(a).Index(), core.Source(b).Index()
		if i != j {
			return i - j
		}
		return strings.Compare(a, b)
	})
}
