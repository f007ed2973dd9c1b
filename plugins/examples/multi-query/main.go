// Command multi-query is a plugin that also searches with variants of the query by a model.
package main

import (
	"strings"

	"github.com/anchor-host/anchor-host/plugins/examples/internal/ask"
	"github.com/anchor-host/anchor-host/plugins/examples/multi-query/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/transform"
)

func init() {
	transform.Handle(func(q *pdk.Query, s *plugin.Settings) ([]pdk.Query, error) {
		if strings.TrimSpace(q.Text) == "" {
			return nil, nil
		}
		var answer plugin.Answer
		err := ask.Into(s.Question(q.Text), &answer)
		return ask.Variants(q, true, s.Queries+1, answer.Queries, err), nil
	})
}

func main() {}
