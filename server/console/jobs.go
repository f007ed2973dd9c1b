package console

import (
	"net/http"

	"github.com/anchor-host/anchor-host/server/jobs"
)

// maxJobs is how many jobs a page shows.
const maxJobs = 200

// jobsData is what the page of jobs shows.
type jobsData struct {
	Known bool // the service has jobs
	Rows  []jobs.Doc
	More  bool
}

// jobs lists the newest jobs of a tenant.
func (v *visit) jobs() error {
	d := jobsData{Known: v.c.o.Jobs != nil}
	if d.Known {
		list, err := v.c.o.Jobs.List(v.ctx, jobs.Filter{Tenant: v.tenantName(), Limit: maxJobs + 1})
		if err != nil {
			return err
		}
		d.Rows, d.More = list[:min(len(list), maxJobs)], len(list) > maxJobs
	}
	v.show(http.StatusOK, "jobs", "Jobs", d)
	return nil
}
