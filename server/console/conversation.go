package console

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/pipeline/core"
	"github.com/anchor-host/anchor-host/pipeline/explain/svg"
	"github.com/anchor-host/anchor-host/store"
)

const (
	// turnPage is the number of builds in the chart of a conversation, and turnBytes bounds the
	// records that are read for it.
	turnPage, turnBytes = 40, 16 << 20
	// streamPage is the number of conversations or runs in a list.
	streamPage = 100
)

// streamRow is a conversation or a run in a list.
type streamRow struct {
	anchor.Stream
	Link string
}

// streamsOf is one page of streams, the newest first.
func (v *visit) streamsOf(list []anchor.Stream, path, listPath string) ([]streamRow, pager) {
	slices.SortFunc(list, func(a, b anchor.Stream) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.ID, b.ID))
	})
	pages, from, to := paged(v.query.Get("page"), len(list), streamPage, func(page string) string { return v.link(listPath, "page", page) })
	var out []streamRow
	for _, s := range list[from:to] {
		row := streamRow{Stream: s}
		if len(s.ID) <= maxLinked {
			row.Link = v.link(path, "id", s.ID)
		}
		out = append(out, row)
	}
	return out, pages
}

// maxLinked is the longest name that an address contains, in bytes.
const maxLinked = 1024

// conversationsData is what the list of conversations shows.
type conversationsData struct {
	Rows  []streamRow
	Pages pager
}

// conversations lists the conversations of the store.
func (v *visit) conversations() error {
	list, err := v.c.o.App.Conversations(store.Stale(v.ctx), v.tenant)
	if err != nil {
		return err
	}
	var d conversationsData
	d.Rows, d.Pages = v.streamsOf(list, "conversation", "conversations")
	v.show(http.StatusOK, "conversations", "Conversations", d)
	return nil
}

// turnRow is the build of one turn.
type turnRow struct {
	buildRow
	By map[core.Source]int
}

// conversationData is what the page of a conversation shows.
type conversationData struct {
	ID      string
	Chart   template.HTML
	Sources []core.Source
	Colors  map[core.Source]string
	Turns   []turnRow // the oldest first
	Skipped int       // turns whose records were too large to be read
	Older   string
	Newest  string
}

// conversation shows the windows of a conversation one after another.
func (v *visit) conversation() error {
	d := conversationData{ID: v.query.Get("id")}
	if d.ID == "" {
		return problemf(http.StatusNotFound, "The address names no conversation.")
	}
	page, err := v.c.o.App.Builds(v.ctx, v.tenant, builds.Filter{Conversation: d.ID}, v.query.Get("cursor"), turnPage)
	if err != nil {
		return err
	}
	if page.Next != "" {
		d.Older = v.link("conversation", "id", d.ID, "cursor", page.Next)
	}
	if v.query.Get("cursor") != "" {
		d.Newest = v.link("conversation", "id", d.ID)
	}
	if err := v.turns(&d, page.Builds); err != nil {
		return err
	}
	v.show(http.StatusOK, "conversation", "Conversation", d)
	return nil
}

// turns reads what each window holds.
func (v *visit) turns(d *conversationData, list []builds.Summary) error {
	var bars []turnBar
	var read int64
	seen := map[core.Source]bool{}
	for _, b := range v.rowsOf(v.tenantName(), list) {
		row := turnRow{buildRow: b, By: map[core.Source]int{}}
		if read += b.Bytes; read <= turnBytes {
			_, doc, err := v.document(b.ID)
			if err != nil {
				return err
			}
			for i := range doc.Window.Items {
				s := sourceOf(string(doc.Window.Items[i].Source))
				row.By[s] += max(0, doc.Window.Items[i].TokenCount)
				seen[s] = true
			}
			bars = append(bars, turnBar{b.Link, fmt.Sprintf("%s: %d items, %d of %d tokens", when(b.Time), b.Included, b.UsedTokens, b.MaxTokens), row.By, b.MaxTokens})
		} else {
			d.Skipped++
		}
		d.Turns = append(d.Turns, row)
	}
	slices.Reverse(bars)
	slices.Reverse(d.Turns)
	d.Colors = map[core.Source]string{}
	for _, s := range core.Sources {
		if seen[s] {
			d.Sources = append(d.Sources, s)
			d.Colors[s] = svg.Color(s)
		}
	}
	d.Chart = areas(bars)
	return nil
}
