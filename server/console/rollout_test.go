package console

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/anchor/shadows"
	"github.com/anchor-host/anchor-host/cluster"
)

// shadowing is an App with a second version of a step.
type shadowing struct{ App }

func (shadowing) Shadows() []shadows.Comparison {
	return []shadows.Comparison{{Step: "rank", Use: "ranker<2>", Calls: 7, Dropped: shadows.Dropped{Busy: 3}, Overlap: shadows.Mean{Mean: 0.25, Low: 0.125, High: 0.5}, LastError: "traps",
		Quality: &shadows.Quality{Questions: 12, Judged: 60, Difference: shadows.Mean{Mean: -0.125, Low: -0.5, High: 0.0625}}},
		{Step: "find", Use: "finder", Quality: &shadows.Quality{Problem: "<questions>.jsonl:7"}}}
}

// The page of the rollout shows versions, hosts, numbers and second versions, and why nothing is known.
func TestRolloutPage(t *testing.T) {
	u := &user{site: newSite(t, nil)}
	candidate, failed := cluster.Version{Config: "c2"}, error(nil)
	u.Console.o.App = shadowing{u.Console.o.App}
	u.Console.o.Rollout = func(context.Context) (*cluster.Status, error) {
		if failed != nil {
			return nil, failed
		}
		return &cluster.Status{
			Desired: &cluster.Desired{Generation: 41, Phase: cluster.Running, Candidate: &candidate, Who: "op", Why: "<b>try</b>"},
			Stable:  "stable-1", Candidate: "candidate-2", Share: 10, Waits: "builds of the candidate: 12 more",
			Numbers:  &cluster.Numbers{Stable: cluster.Figures{Builds: 900}, Candidate: cluster.Figures{Builds: 38, Failed: 2, P95: 12}},
			Hosts:    []cluster.HostStatus{{ID: "host-a", State: cluster.Current, Stable: "stable-1"}, {ID: "host-b", State: cluster.Late, Stable: "old-0"}},
			Versions: map[string]int{"stable-1": 1, "other": 1},
		}, nil
	}
	w := u.send("/console/rollout", nil)
	page := w.Body.String()
	for _, want := range []string{
		"41, running", "candidate-2", "10 % of the conversations", "12 more", "host-b", "late", "The hosts are split", ">900<", ">38<", "ranker&lt;2&gt;", "3 busy", "0.125 to 0.500", "traps", "-0.125 <", "-0.500 to 0.062, 12 of 60 questions", "&lt;questions&gt;.jsonl:7", "&lt;b&gt;try",
	} {
		if w.Code != http.StatusOK || !strings.Contains(page, want) {
			t.Errorf("status %d, lacks %q", w.Code, want)
		}
	}
	failed = errors.New("the database is away")
	if page := u.send("/console/rollout", nil).Body.String(); !strings.Contains(page, "database is away") {
		t.Errorf("without the store: %s", page)
	}
}
