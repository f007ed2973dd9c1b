// Command mmr-reranker is a plugin that orders items by relevance and novelty.
package main

import (
	"github.com/anchor-host/anchor-host/plugins/examples/mmr-reranker/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/rerank"
)

func init() {
	rerank.Order(func(r *pdk.Request, s *plugin.Settings) ([]int, error) {
		return plugin.Order(r.Items, r.TopK, s), nil
	})
}

func main() {}
