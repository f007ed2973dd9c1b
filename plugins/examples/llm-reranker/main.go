// Command llm-reranker is a plugin that lets a model order the best items, all in one call.
package main

import (
	"strings"

	"github.com/anchor-host/anchor-host/plugins/examples/internal/ask"
	"github.com/anchor-host/anchor-host/plugins/examples/llm-reranker/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/rerank"
)

func init() {
	rerank.Order(func(r *pdk.Request, s *plugin.Settings) ([]int, error) {
		query := r.Items.QueryText()
		order := plugin.ByScore(r.Items)
		n := min(s.Candidates, len(order))
		if n < 2 || strings.TrimSpace(query) == "" {
			return order, nil
		}
		var answer plugin.Answer
		if err := ask.Into(s.Question(query, r.Items, order[:n]), &answer); err != nil {
			return nil, err
		}
		return answer.Apply(order, n), nil
	})
}

func main() {}
