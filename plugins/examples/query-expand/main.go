// Command query-expand is a plugin that adds variants of the query with other
// words for the same thing.
package main

import (
	"github.com/anchor-host/anchor-host/plugins/examples/query-expand/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/transform"
)

func init() {
	transform.Handle(func(q *pdk.Query, s *plugin.Settings) ([]pdk.Query, error) {
		texts := plugin.Variants(q.Text, s)
		if len(texts) == 1 {
			return nil, nil
		}
		queries := []pdk.Query{*q}
		for _, text := range texts[1:] {
			variant := *q
			variant.Text = text
			variant.Embedding = nil // the embedding is that of the original text
			queries = append(queries, variant)
		}
		return queries, nil
	})
}

func main() {}
