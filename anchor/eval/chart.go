package eval

import (
	"fmt"
	"math"
	"strings"
)

// The geometry of the charts, in units of the drawing. They scale with the page.
const (
	chartWidth = 760.0
	plotLeft   = 190.0
	plotRight  = 610.0
	rowHeight  = 30.0
	barHeight  = 18.0
	topMargin  = 10.0
	// axisHeight is the height of the scale below the bars.
	axisHeight = 24.0
	// labelRunes is the largest length of a name next to the plot.
	labelRunes = 24
)

// fall is a waterfall chart of one metric.
type fall struct {
	Metric, Summary string
	Width, Height   float64
	AxisY           float64
	Ticks           []tick
	Rows            []fallRow
}

type tick struct {
	X     float64
	Label string
}

// fallRow is a bar: a total, or the gain or loss of a stage.
type fallRow struct {
	Label, Full string
	// Class is total, gain, loss or same.
	Class       string
	X, Y, W, H  float64
	TextY       float64
	Value       string
	LinkX       float64 // where the bar ends, joined with the next
	LinkY       float64
	Description string
}

// waterfall draws the changes of a metric through the stages: the total after the first
// step, every change after it, and the total in the window.
func waterfall(r *Report, metric string) fall {
	f := fall{Metric: metric, Width: chartWidth, Height: topMargin + axisHeight + rowHeight*float64(len(r.Stages)+1)}
	f.AxisY = f.Height - axisHeight
	for _, v := range []float64{0, 0.25, 0.5, 0.75, 1} {
		f.Ticks = append(f.Ticks, tick{plotX(v), fmt.Sprintf("%.2f", v)})
	}
	before := 0.0
	for i, s := range r.Stages {
		value := s.Metrics[metric]
		row := fallRow{Full: stageLabel(s), Class: "total", Value: fmt.Sprintf("%.4f", value)}
		if i > 0 {
			row.Class, row.Value = changeClass(value-before), signed(value-before)
		}
		f.add(row, before, value, i > 0)
		before = value
	}
	f.add(fallRow{Full: "in the window", Class: "total", Value: fmt.Sprintf("%.4f", before)}, 0, before, false)
	first := r.Stages[0].Metrics[metric]
	f.Summary = fmt.Sprintf("%s: %.4f after the first step, %.4f in the window; the budget changed it by %s.",
		metric, first, before, signed(before-r.Stages[len(r.Stages)-2].Metrics[metric]))
	return f
}

// add adds the bar of a row, from one value to another.
func (f *fall) add(row fallRow, from, to float64, floating bool) {
	if !floating {
		from = 0
	}
	row.Label = short(row.Full)
	row.Y = topMargin + rowHeight*float64(len(f.Rows)) + (rowHeight-barHeight)/2
	row.H, row.TextY = barHeight, row.Y+barHeight-5
	row.X, row.W = plotX(min(from, to)), max(2, plotX(max(from, to))-plotX(min(from, to)))
	row.LinkX, row.LinkY = plotX(to), row.Y+rowHeight
	row.Description = row.Full + ": " + row.Value
	f.Rows = append(f.Rows, row)
}

// plotX returns the x coordinate of a value from 0 to 1.
func plotX(v float64) float64 { return plotLeft + (plotRight-plotLeft)*min(1, max(0, v)) }

// stageLabel returns the name of a stage for charts and tables.
func stageLabel(s StageReport) string {
	if s.Kind == "window" {
		return "budget cut"
	}
	return s.Name
}

func changeClass(change float64) string {
	switch {
	case math.Abs(change) < 0.00005:
		return "same"
	case change > 0:
		return "gain"
	}
	return "loss"
}

// signed returns a change with its sign, rounded to four places.
func signed(change float64) string {
	if math.Abs(change) < 0.00005 {
		return "±0.0000"
	}
	return strings.Replace(fmt.Sprintf("%+.4f", change), "-", "−", 1)
}

func short(s string) string {
	runes := []rune(s)
	if len(runes) <= labelRunes {
		return s
	}
	return string(runes[:labelRunes-1]) + "…"
}

// fateBar is a bar that divides the relevant documents by their fates.
type fateBar struct {
	Width, Height float64
	Parts         []fatePart
}

type fatePart struct {
	X, W  float64
	Class string
	FateCount
}

// fateChart draws the bar of the fates.
func fateChart(r *Report) fateBar {
	b := fateBar{Width: chartWidth, Height: 34}
	x := 0.0
	for _, f := range r.Fates {
		w := chartWidth * f.Share
		b.Parts = append(b.Parts, fatePart{X: x, W: w, Class: "fate-" + string(f.Fate), FateCount: f})
		x += w
	}
	return b
}

// forest is a chart of differences with their intervals.
type forest struct {
	Title         string
	Width, Height float64
	AxisY, ZeroX  float64
	Ticks         []tick
	Rows          []forestRow
}

type forestRow struct {
	Difference
	Class             string
	Y, TextY          float64
	LowX, HighX, MidX float64
	Text              string
}

// newForest draws differences on one scale around 0.
func newForest(title string, list []Difference) forest {
	f := forest{Title: title, Width: chartWidth, Height: topMargin + axisHeight + rowHeight*float64(len(list))}
	f.AxisY = f.Height - axisHeight
	scale := 0.01
	for _, d := range list {
		scale = max(scale, math.Abs(d.Low), math.Abs(d.High))
	}
	scale = math.Ceil(scale*100) / 100
	x := func(v float64) float64 { return plotX((v + scale) / (2 * scale)) }
	f.ZeroX = x(0)
	for _, v := range []float64{-scale, 0, scale} {
		f.Ticks = append(f.Ticks, tick{x(v), fmt.Sprintf("%+.2f", v)})
	}
	for i, d := range list {
		y := topMargin + rowHeight*(float64(i)+0.5)
		f.Rows = append(f.Rows, forestRow{
			Difference: d, Class: verdictClass(d), Y: y, TextY: y + 4,
			LowX: x(d.Low), HighX: x(d.High), MidX: x(d.Difference),
			Text: fmt.Sprintf("%s (p %s)", signed(d.Difference), PValue(d.P)),
		})
	}
	return f
}

// verdictClass returns gain or loss if the interval excludes 0.
func verdictClass(d Difference) string {
	switch {
	case d.Low > 0:
		return "gain"
	case d.High < 0:
		return "loss"
	}
	return "same"
}

// PValue formats the p-value of a test with [Resamples] resamples.
func PValue(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}
