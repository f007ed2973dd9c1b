package console

import (
	"cmp"
	"net/http"

	"github.com/anchor-host/anchor-host/anchor/shadows"
	"github.com/anchor-host/anchor-host/cluster"
	"github.com/anchor-host/anchor-host/internal/failure"
)

// rolloutData is what the page of the rollout shows.
type rolloutData struct {
	// Follows says that the host follows a rollout, and Status what is known of it. Problem is why nothing is.
	Follows bool
	Status  *cluster.Status
	Problem string
	// Versions are the numbers of both versions.
	Versions []versionRow
	// Shadows are the second versions of steps on this host.
	Shadows []shadows.Comparison
}

type versionRow struct {
	Name, Version string
	cluster.Figures
}

// rollout shows which version the hosts serve, and the second versions of steps.
func (v *visit) rollout() error {
	d := rolloutData{Follows: v.c.o.Rollout != nil, Shadows: v.c.o.App.Shadows()}
	if d.Follows {
		st, err := v.c.o.Rollout(v.ctx)
		if err != nil {
			d.Problem = failure.Of(err).Error.Message
		}
		d.Status = st
	}
	if st := d.Status; st != nil && st.Desired != nil {
		numbers := cmp.Or(st.Numbers, st.Desired.Numbers)
		if numbers != nil {
			d.Versions = []versionRow{{"stable", st.Stable, numbers.Stable}, {"candidate", st.Candidate, numbers.Candidate}}
		}
	}
	v.show(http.StatusOK, "rollout", "Rollout", d)
	return nil
}
