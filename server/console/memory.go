package console

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/anchor-host/anchor-host/pipeline/frames"
	"github.com/anchor-host/anchor-host/pipeline/memory"
)

const (
	// factPage and framePage are the numbers of facts and frames on one page.
	factPage, framePage = 100, 100
	// usedFacts is the number of facts that are shown as used most.
	usedFacts = 10
)

// factRow is a fact in a list.
type factRow struct {
	memory.Entry
	Link string
}

// memoryData is what the page of the memory shows.
type memoryData struct {
	User, Type, Tag, Find string
	Expired               bool
	Types                 []memory.Type
	Facts                 []factRow
	// Used are the facts of the list that were used most.
	Used     []factRow
	Pages    pager
	Runs     []streamRow
	RunPages pager
	Deleted  bool
}

var factTypes = []memory.Type{memory.Semantic, memory.Episodic, memory.Procedural, memory.Conversation}

func (v *visit) memoryQuery() memoryData {
	q := v.query
	return memoryData{
		User: q.Get("user"), Type: q.Get("type"), Tag: q.Get("tag"), Find: q.Get("find"), Expired: q.Get("expired") != "",
		Types: factTypes, Deleted: q.Get("deleted") != "",
	}
}

// memory lists facts and runs.
func (v *visit) memory() error {
	d := v.memoryQuery()
	f := memory.Filter{UserID: d.User, Type: memory.Type(d.Type), Expired: d.Expired}
	if d.Tag != "" {
		f.Tags = []string{d.Tag}
	}
	if d.Type != "" && !f.Type.Valid() {
		return problemf(http.StatusBadRequest, "There is no such type of facts.")
	}
	if (d.Find != "" || d.Tag != "") && !v.content() { // the answer would say what texts and tags are
		return problemf(http.StatusForbidden, "To search by text or tag needs a key with the scope content.")
	}
	list, err := v.facts(d.Find, f)
	if err != nil {
		return err
	}
	link := func(page string) string {
		pairs := []string{"user", d.User, "type", d.Type, "tag", d.Tag, "find", d.Find, "page", page}
		if d.Expired {
			pairs = append(pairs, "expired", "1")
		}
		return v.link("memory", pairs...)
	}
	var from, to int
	d.Pages, from, to = paged(v.query.Get("page"), len(list), factPage, link)
	d.Facts, d.Used = v.factRows(list[from:to]), v.factRows(mostUsed(list))
	runs, err := v.c.o.App.Runs(v.ctx, v.tenant)
	if err != nil {
		return err
	}
	d.Runs, d.RunPages = v.streamsOf(runs, "run", "memory")
	v.show(http.StatusOK, "memory", "Memory", d)
	return nil
}

// factRows are facts as a list shows them.
func (v *visit) factRows(list []memory.Entry) (out []factRow) {
	for _, e := range list {
		row := factRow{Entry: v.hidden(e)}
		if len(e.ID) <= maxLinked {
			row.Link = v.link("fact", "id", e.ID)
		}
		out = append(out, row)
	}
	return out
}

// mostUsed are the facts that were used most, at most usedFacts.
func mostUsed(list []memory.Entry) (out []memory.Entry) {
	for i := range list {
		if list[i].AccessCount > 0 {
			out = append(out, list[i])
		}
	}
	slices.SortStableFunc(out, func(a, b memory.Entry) int {
		return cmp.Or(cmp.Compare(b.AccessCount, a.AccessCount), b.LastAccessed.Compare(a.LastAccessed))
	})
	return out[:min(len(out), usedFacts)]
}

// facts lists the facts that a filter selects, and that contain a text.
func (v *visit) facts(find string, f memory.Filter) ([]memory.Entry, error) {
	m, err := v.c.o.App.Facts(v.ctx, v.tenant)
	if err != nil {
		return nil, err
	}
	if find != "" {
		return m.Search(v.ctx, find, 10*factPage, f)
	}
	return m.List(v.ctx, f)
}

// hidden is a fact without texts, if the user may not see them.
func (v *visit) hidden(e memory.Entry) memory.Entry {
	if v.content() {
		return e
	}
	e.Content, e.Metadata = digest(e.Content)+", "+size(int64(len(e.Content))), nil
	e.Tags = slices.Clone(e.Tags)
	for i, tag := range e.Tags {
		e.Tags[i] = digest(tag)
	}
	return e
}

// factData is what the page of a fact shows.
type factData struct {
	memory.Entry
	Links    []factLink
	Sources  []string
	Metadata []pair
	Write    bool
}

type factLink struct{ ID, Link string }

type pair struct{ Name, Value string }

// fact shows a fact and where it comes from.
func (v *visit) fact() error {
	m, err := v.c.o.App.Facts(v.ctx, v.tenant)
	if err != nil {
		return err
	}
	e, err := m.Get(v.ctx, v.query.Get("id"))
	if err != nil {
		return err
	}
	d := factData{Entry: v.hidden(e), Sources: e.SourceTurns, Write: v.may("memory:write")}
	for _, id := range e.Links[:min(len(e.Links), factPage)] {
		l := factLink{ID: id}
		if len(id) <= maxLinked {
			l.Link = v.link("fact", "id", id)
		}
		d.Links = append(d.Links, l)
	}
	d.Metadata = metadataOf(d.Entry.Metadata)
	v.show(http.StatusOK, "fact", "Fact", d)
	return nil
}

// deleteFact deletes a fact.
func (v *visit) deleteFact() error {
	m, err := v.c.o.App.Facts(v.ctx, v.tenant)
	if err != nil {
		return err
	}
	n, err := m.Delete(v.ctx, v.query.Get("id"))
	if err != nil {
		return err
	}
	if n == 0 {
		return memory.ErrNotFound
	}
	http.Redirect(v.w, v.r, v.link("memory", "deleted", "1"), http.StatusSeeOther)
	return nil
}

// runData is what the page of a run shows.
type runData struct {
	ID     string
	Frames []frameRow
	Next   string
}

type frameRow struct {
	frames.Frame
	Weight            uint64
	Label, Text, Data string
}

// run shows the frames of a run.
func (v *visit) run() error {
	d := runData{ID: v.query.Get("id")}
	if d.ID == "" {
		return problemf(http.StatusNotFound, "The address names no run.")
	}
	from, err := strconv.ParseUint("0"+v.query.Get("from"), 10, 63)
	if err != nil {
		return problemf(http.StatusBadRequest, "The number of a frame is expected.")
	}
	r, err := v.c.o.App.Run(v.ctx, v.tenant, d.ID)
	if err != nil {
		return err
	}
	list, err := r.Frames(v.ctx, from, framePage+1)
	if err != nil {
		return err
	}
	if len(list) > framePage {
		d.Next = v.link("run", "id", d.ID, "from", strconv.FormatUint(list[framePage].ID, 10))
		list = slices.Clip(list[:framePage])
	}
	for _, f := range list {
		row := frameRow{Frame: f, Weight: f.Weight(), Label: f.Kind.String(), Text: f.Summary, Data: begin(string(f.Data), excerptLength)}
		if !v.content() {
			if !slices.Contains(frames.Kinds, f.Kind) { // an open kind is a text of the application
				row.Label = digest(row.Label)
			}
			row.Text, row.Data = digest(f.Summary)+", "+size(int64(len(f.Summary))), ""
		}
		d.Frames = append(d.Frames, row)
	}
	v.show(http.StatusOK, "run", "Run", d)
	return nil
}

// metadataOf lists the values of an object by their names, as JSON.
func metadataOf(m map[string]any) (out []pair) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		value, err := json.Marshal(m[name])
		if err != nil {
			continue // a store holds JSON values
		}
		out = append(out, pair{name, begin(string(value), excerptLength)})
	}
	return out
}
