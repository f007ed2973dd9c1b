package console

import (
	"net/http"
	"strings"

	"github.com/anchor-host/anchor-host/anchor"
	"github.com/anchor-host/anchor-host/internal/failure"
)

// configurationData is what the page of the configuration shows.
type configurationData struct {
	Status      anchor.Status
	Reload      *failure.Detail // why the last reload changed nothing
	Generations []generation
	Reloads     []reload
	Find        string
	Changed     bool // only values that are not defaults
	Settings    []anchor.Setting
	All         int
}

// configuration shows the values in effect, and the versions of the configuration.
func (v *visit) configuration() error {
	d := configurationData{Status: v.c.o.App.Status(), Find: v.query.Get("find"), Changed: v.query.Get("changed") != ""}
	if err := d.Status.Last.Err; err != nil {
		detail := failure.Of(err).Error
		d.Reload = &detail
	}
	v.c.history.note(d.Status)
	_, d.Generations = v.c.history.read()
	d.Reloads = v.c.history.attempts()
	list := v.c.o.App.Settings()
	d.All = len(list)
	for i := range list {
		if strings.Contains(list[i].Path, d.Find) && (!d.Changed || list[i].Origin != "default") {
			d.Settings = append(d.Settings, list[i])
		}
	}
	v.show(http.StatusOK, "configuration", "Configuration", d)
	return nil
}
