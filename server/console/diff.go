package console

import (
	"net/http"
	"slices"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/builtdoc"
	"github.com/anchor-host/anchor-host/pipeline"
	"github.com/anchor-host/anchor-host/pipeline/explain/svg"
)

// diffPage is the number of items on one page of a comparison.
const diffPage = 100

// diffData is what the comparison of two builds shows. Without A there is a form only.
type diffData struct {
	IDA, IDB string
	A, B     *builds.Record
	Drawing  template.HTML
	// Headlines sum both windows up.
	Headlines [2]string
	Diff      builtdoc.Diff
	Rows      []diffRow
	Pages     pager
	// Common are the items and tokens with which both windows begin, and Break the item that ends
	// that part.
	Common, CommonTokens int
	Break                string
	Cache                string
	Recent               []buildRow
}

type diffRow struct {
	builtdoc.ItemDiff
	Color string
}

// diff compares two builds.
func (v *visit) diff() error {
	d := diffData{IDA: v.query.Get("a"), IDB: v.query.Get("b")}
	if picks, ok := v.query["pick"]; ok {
		return v.compare(picks)
	}
	if d.IDA == "" || d.IDB == "" {
		page, err := v.c.o.App.Builds(v.ctx, v.tenant, builds.Filter{}, "", buildPage)
		if err != nil {
			return err
		}
		d.Recent = v.rowsOf(v.tenantName(), page.Builds)
		v.show(http.StatusOK, "diff", "Compare builds", d)
		return nil
	}
	var docs [2]*builtdoc.Doc
	for i, id := range []string{d.IDA, d.IDB} {
		r, doc, err := v.document(id)
		if err != nil {
			return err
		}
		if docs[i] = doc; i == 0 {
			d.A = r
		} else {
			d.B = r
		}
	}
	a, b := docs[0], docs[1]
	d.Diff, d.Drawing, d.Cache = builtdoc.Compare(a, b), draw("diff", builtdoc.DrawDiff(a, b)), breakOf(b.Cache)
	d.Headlines = [2]string{"A: " + a.Headline(), "B: " + b.Headline()}
	d.common(a, b)
	var from, to int
	d.Pages, from, to = paged(v.query.Get("page"), len(d.Diff.Differ), diffPage, func(page string) string {
		return v.link("diff", "a", d.IDA, "b", d.IDB, "page", page) + "#items"
	})
	for _, it := range d.Diff.Differ[from:to] {
		d.Rows = append(d.Rows, diffRow{it, svg.Color(it.Source)})
	}
	v.show(http.StatusOK, "diff", "Compare builds", d)
	return nil
}

// common finds the part with which both windows begin.
func (d *diffData) common(a, b *builtdoc.Doc) {
	listA, listB := a.Window.Items, b.Window.Items
	for d.Common < min(len(listA), len(listB)) && equal(&listA[d.Common], &listB[d.Common]) {
		d.CommonTokens += listB[d.Common].TokenCount
		d.Common++
	}
	var at *pipeline.Item
	switch {
	case d.Common < len(listB):
		at = &listB[d.Common]
	case d.Common < len(listA):
		at = &listA[d.Common]
	default:
		return
	}
	d.Break = at.ID
	i := slices.IndexFunc(d.Diff.Differ, func(it builtdoc.ItemDiff) bool { return it.ID == at.ID && it.Source == at.Source })
	if i >= 0 && len(d.Diff.Differ[i].Why) > 0 {
		d.Break += ": " + d.Diff.Differ[i].Why[len(d.Diff.Differ[i].Why)-1]
	}
}

// equal reports whether two items are the same to a model.
func equal(a, b *pipeline.Item) bool {
	return a.ID == b.ID && a.Source == b.Source && a.TokenCount == b.TokenCount && a.Content == b.Content
}
