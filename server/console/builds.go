package console

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/anchor/builds"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/server"
	"github.com/anchor-host/anchor-host/store"
)

const (
	// buildPage is the number of builds on one page.
	buildPage = 50
	// maxListed is how many tenants one list of builds is of, at most.
	maxListed = 100
	// longestSearch is the time after which a search of all tenants begins with no further one.
	longestSearch = 2 * time.Second
	// maxWarmed is for how many tenants searches are prepared.
	maxWarmed = 20
)

// buildRow is a build in a list.
type buildRow struct {
	builds.Summary
	Tenant, Link string
	// Pick is what a box of the list says: the id, and the tenant.
	Pick string
	// Title is by what a list names the build: the question, or the id.
	Title string
	// Fate says how the build ended, see [fateOf], and Cost what models cost.
	Fate, Cost string
}

// rowsOf makes rows of the builds of a tenant. Without the scope content they have no questions.
func (v *visit) rowsOf(tenant string, list []builds.Summary) []buildRow {
	out := make([]buildRow, len(list))
	named := ""
	if v.chosen || tenant != cmp.Or(v.who.Tenant, v.c.o.App.Status().Tenant) {
		named = tenant
	}
	for i := range list {
		b := &list[i]
		out[i] = buildRow{
			Summary: *b, Tenant: tenant, Link: linkOf(named, "build", "id", b.ID), Pick: b.ID + " " + tenant,
			Fate: fateOf(b), Cost: costOf(b),
		}
		if !v.content() {
			out[i].Query = ""
		}
		out[i].Title = cmp.Or(strings.TrimSpace(out[i].Query), b.ID)
	}
	return out
}

// fateOf tells a build that was refused for what it was asked from one that failed.
func fateOf(s *builds.Summary) string {
	if s.Outcome == builds.Failed && (s.Reason == builds.ReasonBudget || s.Reason == "input_too_large") {
		return "refused"
	}
	return string(s.Outcome)
}

// costOf is what models cost, empty if nothing was spent.
func costOf(s *builds.Summary) string {
	switch {
	case s.Unpriced:
		return "no price"
	case s.CostUSD > 0:
		return dollars(s.CostUSD)
	}
	return ""
}

// search is what the form of the list asks for.
type search struct {
	Text, User, RequestID, Key, Item, Pipeline, Conversation, Outcome, Since string
}

func (v *visit) search() search {
	q := v.query
	return search{q.Get("text"), q.Get("user"), q.Get("request_id"), q.Get("key"), q.Get("item"), q.Get("pipeline"), q.Get("conversation"), q.Get("outcome"), q.Get("since")}
}

// pairs are the names and values of the form.
func (s *search) pairs() []string {
	return []string{
		"text", s.Text, "user", s.User, "request_id", s.RequestID, "key", s.Key, "item", s.Item, "pipeline", s.Pipeline, "conversation", s.Conversation,
		"outcome", s.Outcome, "since", s.Since,
	}
}

// fieldsOnly refuses an address with a field that the form has not, as the list would seem to be what it asks for.
func (v *visit) fieldsOnly() error {
	pairs := (&search{}).pairs()
	known := []string{"tenant", "cursor"}
	for i := 0; i < len(pairs); i += 2 {
		known = append(known, pairs[i])
	}
	for _, name := range slices.Sorted(maps.Keys(v.query)) {
		if !slices.Contains(known, name) {
			return problemf(http.StatusBadRequest, "There is no field %.50q. The fields are %s.", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// filter is the filter of the form.
func (s *search) filter(content bool) (builds.Filter, error) {
	f := builds.Filter{
		Text: s.Text, User: s.User, RequestID: s.RequestID, Key: s.Key, Item: s.Item, Pipeline: s.Pipeline, Conversation: s.Conversation, Outcome: builds.Outcome(s.Outcome),
	}
	if s.Text != "" && !content { // the answer would say what texts are
		return f, problemf(http.StatusForbidden, "To search by question needs a key with the scope content.")
	}
	if s.Outcome != "" && !slices.Contains(builds.Outcomes, f.Outcome) {
		return f, problemf(http.StatusBadRequest, "There is no such outcome. Builds are ok, degraded or failed.")
	}
	if s.Since != "" {
		var age config.Age
		if age.UnmarshalText([]byte(s.Since)) != nil {
			return f, problemf(http.StatusBadRequest, "The age cannot be read. Write one such as 24h or 7d.")
		}
		f.Since = time.Now().Add(-time.Duration(age))
	}
	return f, nil
}

// buildTable is what a table of builds shows.
type buildTable struct {
	Rows          []buildRow
	Tenants, Pick bool // there are columns for them
}

// buildsData is what the list of builds shows.
type buildsData struct {
	search
	// Any says that anything is asked for, and Rare that one of the fields is that are seldom used.
	Any, Rare   bool
	Outcomes    []builds.Outcome
	Ages        []string
	Rows        []buildRow
	Next, First string
	// Cut says that older builds of some tenants are not in the list, and Partly that the search ended before the
	// oldest build. Unlisted is the number of tenants that were left out.
	Cut, Partly bool
	Unlisted    int
	Tenants     bool // rows name their tenants
	Took        time.Duration
	MaxMarks    int
}

var ages = []string{"15m", "1h", "24h", "7d"}

// builds lists builds, the newest first.
func (v *visit) builds() error {
	if err := v.fieldsOnly(); err != nil {
		return err
	}
	d := buildsData{search: v.search(), Outcomes: builds.Outcomes, Ages: ages, MaxMarks: builds.MaxMarks}
	s := &d.search
	d.Any, d.Rare = *s != search{}, s.RequestID+s.Key+s.Item+s.Pipeline+s.Conversation != ""
	f, err := d.filter(v.content())
	if err != nil {
		return err
	}
	began := time.Now()
	tenants, err := v.listed()
	if err != nil {
		return err
	}
	if len(tenants) == 1 {
		err = v.listOne(&d, f, tenants[0])
	} else {
		err = v.listAll(&d, f, tenants)
	}
	if err != nil {
		return err
	}
	if d.Took = time.Since(began); !d.Any {
		v.c.warm(tenants)
	}
	v.show(http.StatusOK, "builds", "Builds", &d)
	return nil
}

// listed are the tenants whose builds are listed: those of the store, if an admin chose none.
func (v *visit) listed() ([]string, error) {
	if !v.all {
		return []string{v.tenantName()}, nil
	}
	list, err := v.c.o.App.Tenants(store.Stale(v.ctx))
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	if len(list) == 0 {
		list = []string{v.tenantName()}
	}
	return list, nil
}

// list lists builds of a tenant: those that a form selects with the help of an index.
func (v *visit) list(any bool, f builds.Filter, tenant, cursor string, limit int) (builds.Page, error) {
	if any {
		return v.c.o.App.FindBuilds(v.ctx, tenant, f, cursor, limit)
	}
	return v.c.o.App.Builds(v.ctx, tenant, f, cursor, limit)
}

// listOne lists the builds of one tenant.
func (v *visit) listOne(d *buildsData, f builds.Filter, tenant string) error {
	page, err := v.list(d.Any, f, tenant, v.query.Get("cursor"), buildPage)
	if err != nil {
		return err
	}
	d.Rows = v.rowsOf(tenant, page.Builds)
	if page.Next != "" {
		d.Next, d.Partly = v.link("builds", append(d.pairs(), "cursor", page.Next)...), len(page.Builds) < buildPage
	}
	if v.query.Get("cursor") != "" {
		d.First = v.link("builds", d.pairs()...)
	}
	return nil
}

// listAll lists the newest builds of several tenants.
func (v *visit) listAll(d *buildsData, f builds.Filter, tenants []string) error {
	d.Tenants, d.Unlisted = true, max(0, len(tenants)-maxListed)
	began := time.Now()
	for n, tenant := range tenants[:len(tenants)-d.Unlisted] {
		if n > 0 && time.Since(began) > longestSearch {
			d.Unlisted = len(tenants) - n
			break
		}
		page, err := v.list(d.Any, f, tenant, "", buildPage)
		if err != nil {
			return err
		}
		d.Cut = d.Cut || page.Next != ""
		d.Partly = d.Partly || page.Next != "" && len(page.Builds) < buildPage
		d.Rows = append(d.Rows, v.rowsOf(tenant, page.Builds)...)
	}
	slices.SortStableFunc(d.Rows, func(a, b buildRow) int { return b.Time.Compare(a.Time) })
	d.Cut = d.Cut || len(d.Rows) > buildPage
	d.Rows = d.Rows[:min(len(d.Rows), buildPage)]
	return nil
}

// warm reads the records of tenants for searches, so that the first one need not wait. At most one reads.
func (c *Console) warm(tenants []string) {
	select {
	case c.warming <- struct{}{}:
	default:
		return
	}
	tenants = slices.Clone(tenants[:min(len(tenants), maxWarmed)])
	c.running.Go(func() {
		defer func() { <-c.warming }()
		for _, tenant := range tenants {
			// Nothing has this name, so that all records are looked at.
			_, err := c.o.App.FindBuilds(c.ctx, tenant, builds.Filter{RequestID: "\x00"}, "", 1)
			if err != nil && c.ctx.Err() == nil {
				c.log.Debug("console: records are not read for searches", "tenant", tenant, "error", err)
			}
		}
	})
}

// compare leads from two boxes of the list to the comparison.
func (v *visit) compare(picks []string) error {
	if len(picks) != 2 {
		return problemf(http.StatusBadRequest, "Tick two builds of the list, and then compare them.")
	}
	a, of, _ := strings.Cut(picks[1], " ") // the list has the newest first
	b, other, _ := strings.Cut(picks[0], " ")
	if of != other {
		return problemf(http.StatusBadRequest, "Both builds must be of the same tenant.")
	}
	if of == cmp.Or(v.who.Tenant, v.c.o.App.Status().Tenant) && !v.may(server.ScopeAdmin) {
		of = ""
	}
	http.Redirect(v.w, v.r, linkOf(of, "diff", "a", a, "b", b), http.StatusSeeOther)
	return nil
}
