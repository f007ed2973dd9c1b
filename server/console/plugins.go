package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/failure"
)

// pluginRow is a plugin.
type pluginRow struct {
	anchor.Plugin
	Module, Version, License, Description, Digest, Problem string
	Size                                                   int64
	Operations                                             []string
	Asked                                                  []asked
	Calls                                                  int64
	FuelPerCall, MSPerCall                                 float64
	Failures                                               []failureRow
	// Granted are the grants of the configuration, and Last the calls that failed last.
	Granted []grant
	Last    []lastFailure
	// Kept are the last failed calls with what repeats them.
	Kept []keptFailure
}

// lastFailure is a failure with the address of its build.
type lastFailure struct {
	failureNote
	Link string
}

// asked is a permission that a manifest asks for.
type asked struct{ Kind, What, Reason string }

type failureRow struct {
	Reason string
	Count  int64
}

// pluginsData is what the page of plugins shows.
type pluginsData struct {
	Status anchor.Status
	Took   time.Duration
	Rows   []pluginRow
	// Missing says what the kept failures lack, "" for nothing.
	Missing string
}

// plugins shows the plugins.
func (v *visit) plugins() error {
	list, took := v.c.o.App.Plugins()
	d := pluginsData{Status: v.c.o.App.Status(), Took: took}
	kept, missing := v.keptFailures()
	d.Missing = missing
	settings := v.c.o.App.Settings()
	for i := range list {
		row := describe(&list[i])
		row.Granted, row.Last, row.Kept = grantsOf(settings, row.Name), v.lastFailures(row.Name), kept[row.Name]
		d.Rows = append(d.Rows, row)
	}
	v.show(http.StatusOK, "plugins", "Plugins", d)
	return nil
}

// lastFailures are the calls of a plugin that failed last. Their texts need the scope content.
func (v *visit) lastFailures(plugin string) (out []lastFailure) {
	for _, f := range v.c.o.Activity.failed(plugin) {
		if !v.content() {
			f.Text = ""
		}
		link := linkOf(f.Tenant, "builds", "request_id", f.Asked)
		if f.Build != "" {
			link = linkOf(f.Tenant, "build", "id", f.Build)
		}
		out = append(out, lastFailure{f, link})
	}
	return out
}

func describe(p *anchor.Plugin) pluginRow {
	row := pluginRow{Plugin: *p}
	if p.Err != nil {
		row.Problem = failure.Of(p.Err).Error.Message
	}
	if s := p.Spec; s != nil {
		row.Module, row.Digest, row.Size = s.Name, s.Digest, s.Size
		for _, o := range s.Operations {
			row.Operations = append(row.Operations, string(o.Operation))
		}
		if m := s.Manifest; m != nil {
			row.Version, row.License, row.Description = m.Version, m.License, m.Description
			for i := range m.Permissions {
				row.Asked = append(row.Asked, askedOf(&m.Permissions[i]))
			}
		}
	}
	st := &p.Stats
	row.Calls = st.Calls()
	for reason, n := range st.Failed {
		if n > 0 {
			row.Failures = append(row.Failures, failureRow{string(reason), n})
		}
	}
	slices.SortFunc(row.Failures, func(a, b failureRow) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Reason, b.Reason))
	})
	if row.Calls > 0 {
		row.FuelPerCall, row.MSPerCall = float64(st.Fuel)/float64(row.Calls), st.Time.Seconds()*1000/float64(row.Calls)
	}
	return row
}

// askedOf says in words what a permission allows.
func askedOf(p *manifest.Permission) asked {
	a := asked{Kind: p.Kind, Reason: p.Reason}
	switch p.Kind {
	case manifest.PermissionHTTP:
		a.What = strings.Join(p.Hosts, ", ")
		if len(p.Methods) > 0 {
			a.What += " (" + strings.Join(p.Methods, ", ") + ")"
		}
	case manifest.PermissionFiles:
		a.What = p.Guest + " (" + p.Mode + ")"
	case manifest.PermissionKV:
		a.What = p.Quota
	case manifest.PermissionService:
		a.What = p.Service
	}
	return a
}
