// Command score-filter is a plugin that drops items with a low score.
package main

import (
	"github.com/anchor-host/anchor-host/plugins/examples/score-filter/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/filter"
)

func init() {
	filter.Handle(func(r *pdk.Request, s *plugin.Settings) ([]uint32, error) {
		return plugin.Keep(r.Items.Scores(), s), nil
	})
}

func main() {}
