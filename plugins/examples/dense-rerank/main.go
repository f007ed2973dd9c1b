// Command dense-rerank is a plugin that rates items by the nearness of their vectors to the query.
package main

import (
	"github.com/anchor-host/anchor-host/plugins/examples/dense-rerank/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/rerank"
)

func init() {
	rerank.Scores(func(r *pdk.Request, s *plugin.Settings, scores []float64) error {
		return plugin.Rate(r.Items, r.Items.QueryEmbedding(), s, scores)
	})
}

func main() {}
