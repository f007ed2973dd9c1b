package console

import (
	"net/http"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/builds"
	"github.com/anchor-host/anchor-host/internal/config"
)

// buildPage is the number of builds on one page.
const buildPage = 50

// buildRow is a build in a list.
type buildRow struct {
	anchor.BuildSummary
	Link string
}

func rowsOf(v *visit, list []anchor.BuildSummary) []buildRow {
	out := make([]buildRow, len(list))
	for i := range list {
		out[i] = buildRow{list[i], v.link("build", "id", list[i].ID)}
	}
	return out
}

// Share is the used part of the window in percent, for a meter.
func (b *buildRow) Share() int {
	if b.MaxTokens <= 0 {
		return 0
	}
	return min(100, max(0, 100*b.UsedTokens/b.MaxTokens))
}

// buildsData is what the list of builds shows.
type buildsData struct {
	Pipeline, Conversation, Outcome, Since string
	Outcomes                               []builds.Outcome
	Ages                                   []string
	Rows                                   []buildRow
	Next, First                            string
	Any                                    bool // there is a filter
}

var ages = []string{"15m", "1h", "24h", "7d"}

// builds lists builds, the newest first.
func (v *visit) builds() error {
	q := v.query
	d := buildsData{Pipeline: q.Get("pipeline"), Conversation: q.Get("conversation"), Outcome: q.Get("outcome"), Since: q.Get("since"), Outcomes: builds.Outcomes, Ages: ages}
	f := anchor.BuildFilter{Pipeline: d.Pipeline, Conversation: d.Conversation, Outcome: builds.Outcome(d.Outcome)}
	if d.Outcome != "" && !slices.Contains(builds.Outcomes, f.Outcome) {
		return problemf(http.StatusBadRequest, "There is no such outcome. Builds are ok, degraded or failed.")
	}
	if d.Since != "" {
		var age config.Age
		if age.UnmarshalText([]byte(d.Since)) != nil {
			return problemf(http.StatusBadRequest, "The age cannot be read. Write one such as 24h or 7d.")
		}
		f.Since = time.Now().Add(-time.Duration(age))
	}
	page, err := v.c.o.App.Builds(v.ctx, v.tenant, f, q.Get("cursor"), buildPage)
	if err != nil {
		return err
	}
	filter := []string{"pipeline", d.Pipeline, "conversation", d.Conversation, "outcome", d.Outcome, "since", d.Since}
	d.Rows, d.Any = rowsOf(v, page.Builds), d.Pipeline+d.Conversation+d.Outcome+d.Since != ""
	if page.Next != "" {
		d.Next = v.link("builds", append(slices.Clone(filter), "cursor", page.Next)...)
	}
	if q.Get("cursor") != "" {
		d.First = v.link("builds", filter...)
	}
	v.show(http.StatusOK, "builds", "Builds", d)
	return nil
}
