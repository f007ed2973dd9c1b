// Command turn-summary is a plugin that condenses the turns that leave a conversation: into
// one line for each, with its most informative sentence.
package main

import (
	"github.com/anchor-host/anchor-host/plugins/examples/turn-summary/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/compact"
)

func init() {
	compact.Handle(func(turns []pdk.Turn, previous string, s *plugin.Settings) (string, error) {
		return plugin.Summarize(turns, previous, s), nil
	})
}

func main() {}
