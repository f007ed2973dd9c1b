// Command recency-rerank is a plugin that raises recent items.
package main

import (
	"time"

	"github.com/anchor-host/anchor-host/plugins/examples/recency-rerank/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/rerank"
)

func init() {
	rerank.Scores(func(r *pdk.Request, s *plugin.Settings, scores []float64) error {
		now := s.Time(time.Now)
		for i, score := range scores {
			scores[i] = s.Score(score, r.Items.CreatedAt(i), now)
		}
		return nil
	})
}

func main() {}
