package builtdoc

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain/svg"
)

// Drawings draws the window of a build and its steps.
func (d *Doc) Drawings() []svg.Drawing {
	return []svg.Drawing{svg.Window(d.bar()), d.steps()}
}

// bar returns the window as it is drawn.
func (d *Doc) bar() svg.Bar {
	bar := svg.Bar{Title: d.Headline(), MaxTokens: d.Window.MaxTokens, Fixed: d.Window.Reserved(), Common: -1}
	if d.Cache != nil {
		bar.Common = d.Cache.CommonTokens
	}
	for i := range d.Window.Items {
		it := &d.Window.Items[i]
		bar.Segments = append(bar.Segments, svg.Segment{ID: it.ID, Source: it.Source, Tokens: it.TokenCount})
	}
	return bar
}

// steps draws the stages one after another, with the steps within their stage.
func (d *Doc) steps() svg.Drawing {
	t := &d.Times
	total := max(d.TimeMS, t.Memory+t.Enrich+t.Steps+t.Count+t.Fill+t.Format)
	at := total - t.Memory - t.Enrich - t.Steps - t.Count - t.Fill - t.Format
	list := []svg.Step{{Name: "system prompts and the rest", Took: at}}
	stage := func(name string, took float64) {
		if took > 0 {
			list = append(list, svg.Step{Name: name, Start: at, Took: took})
		}
		at += took
	}
	stage("memory", t.Memory)
	stage("enrich", t.Enrich)
	steps := at
	stage("steps", t.Steps)
	list = append(list, d.parts(steps)...)
	stage("count tokens", t.Count)
	stage("fill window", t.Fill)
	stage("format", t.Format)
	return svg.Steps(fmt.Sprintf("steps: %.2f ms", total), total, list)
}

// parts are the steps. Those of a result that does not say when they began follow one another from
// a time on.
func (d *Doc) parts(from float64) (list []svg.Step) {
	add := func(s svg.Step) {
		s.Start = cmp.Or(s.Start, from)
		from, s.Part = s.Start+s.Took, true
		list = append(list, s)
	}
	for _, s := range d.Steps {
		add(svg.Step{Name: s.Name, Start: s.StartMS, Took: s.TimeMS, Waited: s.WaitMS, Guest: s.GuestMS, Fuel: s.Fuel, Plugin: s.Plugin})
	}
	for _, f := range d.Failures {
		add(svg.Step{Name: f.Step, Start: f.StartMS, Took: f.TimeMS, Waited: f.WaitMS, Guest: f.GuestMS, Fuel: f.Fuel, Plugin: f.Plugin, Failed: f.Reason + ": " + f.Message})
	}
	return list
}

// DrawDiff draws the windows of two builds above each other.
func DrawDiff(a, b *Doc) svg.Drawing {
	diff := Compare(a, b)
	upper, lower := a.bar(), b.bar()
	upper.Title, lower.Title = "A: "+upper.Title, "B: "+lower.Title
	for i := range diff.Differ {
		it := &diff.Differ[i]
		if it.Place == nil {
			continue
		}
		mark(&upper, it.Place.From, it.Changes)
		mark(&lower, it.Place.To, it.Changes)
	}
	var links []svg.Link
	_, pairs := pair(a, b)
	for _, p := range pairs {
		if p.a == nil || p.a.place == 0 || p.b.place == 0 {
			continue
		}
		links = append(links, svg.Link{A: p.a.place - 1, B: p.b.place - 1})
		if changed := (&ItemDiff{}); p.a.place == p.b.place {
			if changed.values(p.a, p.b); changed.Changes != nil {
				mark(&upper, p.a.place, changed.Changes)
				mark(&lower, p.b.place, changed.Changes)
			}
		}
	}
	return svg.Diff(upper, lower, links)
}

// mark marks the item at a place of a window, from 1; 0 is no place. An item whose place alone
// differs has its line and needs no mark.
func mark(bar *svg.Bar, place int, changes []string) {
	if place < 1 || place > len(bar.Segments) || len(changes) == 1 && changes[0] == "moved" {
		return
	}
	s := &bar.Segments[place-1]
	s.Changed, s.Note = true, strings.Join(changes, ", ")
}

// Of returns the document of a result that was built in this process.
func Of(name string, r *pipeline.Result) *Doc {
	d := ofDiagnostics(name, r.Diagnostics)
	d.Window, d.Overflow, d.TimeMS, d.Format = *r.Window, r.Overflow, r.BuildTimeMS, r.FormatType
	return d
}

// OfFailure returns the document of a build that failed in this process.
func OfFailure(name string, g *pipeline.Diagnostics) *Doc {
	d := ofDiagnostics(name, g)
	d.Failed = true
	return d
}

func ofDiagnostics(name string, g *pipeline.Diagnostics) *Doc {
	return &Doc{Name: name, Traces: g.Items.All(), Steps: g.Steps, Failures: g.StepFailures, Times: g.TimesMS, Cache: g.Cache}
}
