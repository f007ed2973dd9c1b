package console

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/builtdoc"
	"github.com/anchor-host/anchor-host/internal/failure"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain"
	"github.com/anchor-host/anchor-host/pipeline/explain/svg"
	"github.com/anchor-host/anchor-host/server"
)

const (
	// itemPage is the number of items on one page.
	itemPage = 100
	// shownRequest is how much of a request document a page shows, in bytes.
	shownRequest = 32 << 10
	// excerptLength is how much of the text of an item a page shows, in characters.
	excerptLength = 600
)

// itemRow is an item of a build.
type itemRow struct {
	// Place is the place in the window, from 1; 0 is outside of it.
	Place           int
	ID, Source      string
	Color           string
	Tokens          int
	Score           float64
	Priority        int
	Outcome, Reason string
	// From is what added the item, and By the last step that changed it.
	From, By string
	Story    []string
	// Text is the beginning of the text, or its digest.
	Text string
}

// stepRow is a stage or a step of a build. Times are in milliseconds.
type stepRow struct {
	Name, Plugin    string
	Start, Took     float64
	Fuel            int64
	Items           int
	Failed, Problem string
}

// sourceRow are the items of one source in a window.
type sourceRow struct {
	Source, Color string
	Items, Tokens int
}

// buildData is what the page of one build shows.
type buildData struct {
	*builds.Record
	Doc               *builtdoc.Doc
	Headline          string
	Fate, Cost        string // see [fateOf] and [costOf]
	Question, Failure string
	Degradations      []degradation
	Commands          []command
	Window, Waterfall template.HTML
	Sources           []sourceRow
	Fixed, Free       int
	Steps             []stepRow
	Break             string
	Items             []itemRow
	Show, Find        string
	Shows             []showLink
	Pages             pager
	Request           string
	RequestLink       string
	Again             bool
	Previous          string // the build before it in the same conversation or pipeline
}

type showLink struct {
	Name, Link string
	Count      int
	Current    bool
}

// pager links the pages of a list.
type pager struct {
	Page, Last     int
	From, To, All  int
	Previous, Next string
}

// page returns the part of a list of n that page number asks for, from 1.
func paged(asked string, n, size int, link func(page string) string) (pager, int, int) {
	p := pager{Page: 1, Last: max(1, (n+size-1)/size), All: n}
	if x, err := strconv.Atoi(asked); err == nil {
		p.Page = min(max(1, x), p.Last)
	}
	from := (p.Page - 1) * size
	to := min(n, from+size)
	p.From, p.To = min(n, from+1), to
	if p.Page > 1 {
		p.Previous = link(strconv.Itoa(p.Page - 1))
	}
	if p.Page < p.Last {
		p.Next = link(strconv.Itoa(p.Page + 1))
	}
	return p, from, to
}

// build shows one build.
func (v *visit) build() error {
	r, doc, err := v.document(v.query.Get("id"))
	if err != nil {
		return err
	}
	drawings := doc.Drawings()
	d := buildData{
		Record: r, Doc: doc, Headline: doc.Headline(), Fate: fateOf(&r.Summary), Cost: costOf(&r.Summary),
		Window: draw("window", drawings[0]), Waterfall: draw("steps", drawings[1:]...),
		Sources: sourcesOf(doc), Fixed: doc.Window.Reserved(), Steps: stepsOf(doc), Break: breakOf(doc.Cache),
		Show: cmp.Or(v.query.Get("show"), "all"), Find: v.query.Get("find"),
	}
	if d.Commands = v.commands(r); v.content() {
		d.Question, d.Failure = cmp.Or(doc.Window.Query, r.Query), failureOf(r)
	}
	d.Degradations = degradationsOf(r, doc)
	d.Free = max(0, doc.Window.MaxTokens-doc.Window.UsedTokens)
	v.items(&d)
	if request := r.Detail.Request; v.content() && request != nil {
		var b bytes.Buffer
		_ = json.Indent(&b, request, "", "  ") // the record holds valid JSON
		d.Request = begin(b.String(), shownRequest)
		d.RequestLink = v.link("build/request", "id", r.ID)
		d.Again = v.may(server.ScopeBuild) && v.c.o.Rebuild != nil && !v.foreign
	}
	if d.Previous, err = v.before(r); err != nil {
		return err
	}
	v.show(http.StatusOK, "build", "Build", &d)
	return nil
}

// before is the id of the build before another one, of the same conversation, user and pipeline. It is empty
// if there is none among the last ones.
func (v *visit) before(r *builds.Record) (string, error) {
	f := builds.Filter{Conversation: r.Conversation, User: r.User, Pipeline: r.Pipeline, Default: r.Pipeline == "", Until: r.Time}
	page, err := v.c.o.App.Builds(v.ctx, v.tenant, f, "", 1)
	if err != nil || len(page.Builds) == 0 {
		return "", err
	}
	return page.Builds[0].ID, nil
}

// sourcesOf adds up the items of each source in a window.
func sourcesOf(d *builtdoc.Doc) []sourceRow {
	by := map[string]*sourceRow{}
	items, tokens := map[string]float64{}, map[string]float64{}
	for i := range d.Window.Items {
		it := &d.Window.Items[i]
		name := string(it.Source)
		if by[name] == nil {
			by[name] = &sourceRow{Source: name, Color: svg.Color(it.Source)}
		}
		by[name].Items++
		by[name].Tokens += it.TokenCount
		items[name], tokens[name] = 0, 0
	}
	var out []sourceRow
	for _, name := range sourceNames(items, tokens) {
		out = append(out, *by[name])
	}
	return out
}

// stepsOf are the steps of a build in the order of their beginning.
func stepsOf(d *builtdoc.Doc) (out []stepRow) {
	for i := range d.Steps {
		s := &d.Steps[i]
		out = append(out, stepRow{Name: s.Name, Plugin: s.Plugin, Start: s.StartMS, Took: s.TimeMS, Fuel: s.Fuel, Items: s.ItemsAfter})
	}
	for i := range d.Failures {
		f := &d.Failures[i]
		out = append(out, stepRow{Name: f.Step, Plugin: f.Plugin, Start: f.StartMS, Took: f.TimeMS, Fuel: f.Fuel, Items: -1, Failed: cmp.Or(f.Reason, "failed"), Problem: f.Message})
	}
	slices.SortStableFunc(out, func(a, b stepRow) int { return cmp.Compare(a.Start, b.Start) })
	return out
}

// shows are the choices of which items a page shows.
var shows = []struct {
	name, title string
	outcome     explain.Outcome
}{
	{"all", "all", ""}, {"window", "in the window", explain.InWindow}, {"left", "left out", explain.OutOfWindow},
	{"dropped", "dropped by a step", explain.DroppedByStep}, {"undecided", "undecided", explain.Undecided},
}

// items adds the items of the page that is asked for.
func (v *visit) items(d *buildData) {
	list := candidates(d.Doc)
	counts := map[explain.Outcome]int{}
	var chosen []*candidate
	var want explain.Outcome
	for _, s := range shows {
		if s.name == d.Show {
			want = s.outcome
		}
	}
	for i := range list {
		it := &list[i]
		counts[it.outcome]++
		if (want == "" || it.outcome == want) && (d.Find == "" || strings.Contains(it.id, d.Find)) {
			chosen = append(chosen, it)
		}
	}
	counts[""] = len(list)
	link := func(show, page string) string {
		return v.link("build", "id", d.ID, "show", show, "find", d.Find, "page", page) + "#items"
	}
	for _, s := range shows {
		if counts[s.outcome] > 0 || s.name == d.Show {
			d.Shows = append(d.Shows, showLink{s.title, link(s.name, ""), counts[s.outcome], s.name == d.Show})
		}
	}
	var from, to int
	d.Pages, from, to = paged(v.query.Get("page"), len(chosen), itemPage, func(page string) string { return link(d.Show, page) })
	for _, it := range chosen[from:to] {
		d.Items = append(d.Items, it.row(d.Doc.Hidden))
	}
}

// candidate is an item of a build, with its trace if there is one.
type candidate struct {
	id      string
	outcome explain.Outcome
	place   int
	item    *pipeline.Item
	left    *pipeline.OverflowItem
	trace   *explain.ItemTrace
}

// candidates are all items of a build: those in the window in their order, then the others.
func candidates(d *builtdoc.Doc) (list []candidate) {
	traces := make([]*explain.ItemTrace, len(d.Window.Items))
	var rest []candidate
	left := 0
	for i := range d.Traces {
		t := &d.Traces[i]
		if t.Outcome == explain.InWindow {
			traces[t.Last().Place.To-1] = t // the document was checked
			continue
		}
		rest = append(rest, candidate{id: t.ID, outcome: t.Outcome, trace: t})
	}
	for i := range d.Window.Items {
		it := &d.Window.Items[i]
		list = append(list, candidate{id: it.ID, outcome: explain.InWindow, place: i + 1, item: it, trace: traces[i]})
	}
	if d.Traces == nil {
		for i := range d.Overflow {
			o := &d.Overflow[i]
			rest = append(rest, candidate{id: o.ID, outcome: explain.OutOfWindow, item: &o.Item, left: o})
		}
	} else {
		for i := range rest { // both are in the order in which items were left out, as far as they have the same name
			if rest[i].outcome == explain.OutOfWindow && left < len(d.Overflow) && d.Overflow[left].ID == rest[i].id {
				rest[i].item, left = &d.Overflow[left].Item, left+1
			}
		}
	}
	order := []explain.Outcome{explain.OutOfWindow, explain.DroppedByStep, explain.Undecided}
	slices.SortStableFunc(rest, func(a, b candidate) int {
		return cmp.Compare(slices.Index(order, a.outcome), slices.Index(order, b.outcome))
	})
	return append(list, rest...)
}

// row is what a table shows of an item.
func (c *candidate) row(hidden bool) itemRow {
	row := itemRow{Place: c.place, ID: c.id, Outcome: string(c.outcome)}
	if it := c.item; it != nil {
		row.Source, row.Tokens, row.Score, row.Priority = string(it.Source), it.TokenCount, it.Score, it.Priority
		row.Text = begin(it.Content, excerptLength)
	}
	if c.left != nil {
		row.Reason = fmt.Sprintf("%s: %d tokens, %d left", c.left.Reason, c.left.TokenCount, c.left.Available)
	}
	if t := c.trace; t != nil {
		row.Source, row.Tokens, row.Score, row.Priority = string(t.Source), t.Tokens, t.Score, t.Priority
		row.Reason, row.From, row.By = builtdoc.Reason(t), builtdoc.BroughtBy(t.AddedBy()), moverOf(t)
		for i := range t.Events {
			row.Story = append(row.Story, builtdoc.Sentence(&t.Events[i]))
		}
		if row.Text == "" && !hidden {
			row.Text = t.Excerpt
		}
	}
	row.Color = svg.Color(sourceOf(row.Source))
	return row
}

// moverOf is the last step that moved or changed an item after it was added, and "" if none did.
func moverOf(t *explain.ItemTrace) string {
	const changes = explain.Moved | explain.Rescored | explain.Rewritten | explain.Prioritised | explain.Dropped | explain.Resourced
	for _, e := range slices.Backward(t.Events) {
		if e.Stage == "step" && e.Actions&changes != 0 && !e.Actions.Has(explain.Added) {
			return e.Step + ": " + strings.ReplaceAll(e.Actions.String(), "_", " ")
		}
	}
	return ""
}

// buildRequest sends the request document of a build, as "anchor-host build --request" reads it.
func (v *visit) buildRequest() error {
	r, err := v.c.o.App.BuildRecord(v.ctx, v.tenant, v.query.Get("id"))
	if err != nil {
		return err
	}
	if r.Detail.Request == nil {
		return problemf(http.StatusNotFound, "The record has no request document.")
	}
	h := v.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Disposition", `attachment; filename="request-`+r.ID+`.json"`)
	_, _ = v.w.Write(append(slices.Clone(r.Detail.Request), '\n')) // the client is gone
	return nil
}

// rebuild builds a request document again, and leads to the comparison of both builds.
func (v *visit) rebuild() error {
	if !v.content() || v.foreign || v.c.o.Rebuild == nil {
		return problemf(http.StatusForbidden, "This needs a key of the tenant with the scopes build and content.")
	}
	r, err := v.c.o.App.BuildRecord(v.ctx, v.tenant, v.r.PostForm.Get("id"))
	if err != nil {
		return err
	}
	if r.Detail.Request == nil {
		return problemf(http.StatusNotFound, "The record has no request document.")
	}
	select {
	case v.c.rebuilds <- struct{}{}:
		defer func() { <-v.c.rebuilds }()
	default:
		v.w.Header().Set("Retry-After", "1")
		return problemf(http.StatusServiceUnavailable, "Another build is being repeated. Try again.")
	}
	id := rand.Text()
	if err := v.c.o.Rebuild(v.ctx, v.who, v.tenant, r, id); err != nil {
		if refusal := failure.Of(err); v.ctx.Err() == nil {
			return problemf(http.StatusUnprocessableEntity, "The build failed: %s", refusal.Error.Message)
		}
		return err
	}
	if err := v.flush(); errors.Is(err, context.DeadlineExceeded) && v.ctx.Err() == nil {
		return problemf(http.StatusServiceUnavailable, "The build was repeated as %s, but its record is not written yet. Look for it under Builds in a moment.", id)
	} else if err != nil {
		return err
	}
	http.Redirect(v.w, v.r, v.link("diff", "a", r.ID, "b", id), http.StatusSeeOther)
	return nil
}

// flushTime bounds the wait for a record that is not written yet.
const flushTime = 5 * time.Second

// flush waits until the records of the builds that have ended are written.
func (v *visit) flush() error {
	if v.c.o.Flush == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.ctx), flushTime)
	defer cancel()
	return v.c.o.Flush(ctx)
}
