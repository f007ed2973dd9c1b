// Command injection-screen is a plugin that drops texts which try to give the model instructions.
package main

import (
	"github.com/anchor-host/anchor-host/plugins/examples/injection-screen/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/filter"
)

func init() {
	filter.Handle(func(r *pdk.Request, s *plugin.Settings) ([]uint32, error) {
		keep := make([]uint32, 0, r.Items.Len())
		for i := range r.Items.Len() {
			found := plugin.Rate(r.Items.Text(i), s)
			if found.Suspicion < s.Threshold {
				keep = append(keep, uint32(i))
				continue
			}
			pdk.Logf(pdk.LevelWarn, "dropped row %d: %s", i, found)
		}
		return keep, nil
	})
}

func main() {}
