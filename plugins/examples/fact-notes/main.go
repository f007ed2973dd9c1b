// Command fact-notes is a plugin that takes facts from sentences in which users speak of
// themselves, and removes facts that other facts contain.
package main

import (
	"github.com/anchor-host/anchor-host/plugins/examples/fact-notes/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/extract"
)

func init() {
	extract.Handle(func(r *extract.Request, s *plugin.Settings) (extract.Reply, error) {
		if len(r.Turns) == 0 {
			return plugin.Tidy(r.Facts), nil
		}
		return plugin.Learn(r.Turns, r.Facts, s), nil
	})
}

func main() {}
