// Command dedupe is a plugin that drops near duplicates.
package main

import (
	"github.com/anchor-host/anchor-host/plugins/examples/dedupe/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/filter"
)

func init() {
	filter.Handle(func(r *pdk.Request, s *plugin.Settings) ([]uint32, error) {
		return plugin.Keep(r.Items, s), nil
	})
}

func main() {}
