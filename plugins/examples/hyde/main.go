// Command hyde is a plugin that also searches with a passage that a model makes up as an answer.
package main

import (
	"strings"

	"github.com/anchor-host/anchor-host/plugins/examples/hyde/plugin"
	"github.com/anchor-host/anchor-host/plugins/examples/internal/ask"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/transform"
)

func init() {
	transform.Handle(func(q *pdk.Query, s *plugin.Settings) ([]pdk.Query, error) {
		if strings.TrimSpace(q.Text) == "" {
			return nil, nil
		}
		passages, err := ask.Texts(s.Questions(q.Text)...)
		return ask.Variants(q, s.KeepQuery, s.Passages+1, plugin.Texts(q.Text, passages), err), nil
	})
}

func main() {}
