// Command intent-classifier is a plugin that labels queries by keywords.
package main

import (
	"github.com/anchor-host/anchor-host/plugins/examples/intent-classifier/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/classify"
)

func init() {
	classify.Handle(func(q *pdk.Query, s *plugin.Settings) (string, error) {
		label, points := plugin.Classify(q.Text, s)
		pdk.Logf(pdk.LevelDebug, "label %s with %v points", label, points)
		return label, nil
	})
}

func main() {}
