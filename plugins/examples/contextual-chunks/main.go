// Command contextual-chunks is a plugin that writes into the metadata of the chunks of a document
// where they stand in it.
package main

import (
	"github.com/anchor-host/anchor-host/plugins/examples/contextual-chunks/plugin"
	"github.com/anchor-host/anchor-host/plugins/examples/internal/ask"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/process"
)

func init() {
	process.Handle(func(r *pdk.Request, s *plugin.Settings, c *pdk.Changes) error {
		if r.Items.Len() == 0 {
			return nil
		}
		title, _ := r.Items.MetaString(0, "title")
		groups := s.Groups(r.Items)
		questions := make([]ask.Question, len(groups))
		for i, group := range groups {
			questions[i] = s.Question(title, r.Items, group)
		}
		answers, err := ask.All[plugin.Answer](questions)
		if err != nil {
			return err
		}
		for i := range answers {
			err := answers[i].Apply(s, groups[i], func(row int, context string) {
				metadata := r.Items.Metadata(row)
				metadata["context"] = context
				c.SetMetadata(row, metadata)
			})
			if err != nil {
				return pdk.Errorf("chunks %d to %d: %w", groups[i][0]+1, groups[i][len(groups[i])-1]+1, err)
			}
		}
		return nil
	})
}

func main() {}
