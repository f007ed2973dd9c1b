// Command pii-redact is a plugin that replaces personal data with labels.
package main

import (
	"github.com/anchor-host/anchor-host/plugins/examples/pii-redact/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/process"
)

func init() {
	process.Handle(func(r *pdk.Request, s *plugin.Settings, c *pdk.Changes) error {
		var total plugin.Counts
		for i := range r.Items.Len() {
			text, counts := plugin.Redact(r.Items.Text(i), s)
			if counts.Total() > 0 {
				c.SetText(i, text)
				total.Add(counts)
				if s.Counts != "" {
					metadata := r.Items.Metadata(i)
					metadata[s.Counts] = counts.Object()
					c.SetMetadata(i, metadata)
				}
			}
		}
		if total.Total() > 0 {
			pdk.Logf(pdk.LevelInfo, "replaced %s", total)
		}
		return nil
	})
}

func main() {}
