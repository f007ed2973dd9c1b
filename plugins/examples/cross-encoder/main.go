// Command cross-encoder is a plugin that rates items by a model behind a rerank API.
package main

import (
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/plugins/examples/cross-encoder/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/rerank"
)

func init() {
	rerank.Scores(func(r *pdk.Request, s *plugin.Settings, scores []float64) error {
		query := r.Items.QueryText()
		batches := s.Batches(r.Items)
		if len(batches) == 0 || strings.TrimSpace(query) == "" {
			return nil
		}
		requests := make([]pdk.HTTPRequest, len(batches))
		for i, batch := range batches {
			body, err := s.Body(query, r.Items, batch)
			if err != nil {
				return err
			}
			requests[i] = pdk.HTTPRequest{
				Method: "POST", URL: s.URL, Body: body, Timeout: time.Duration(s.TimeoutMS) * time.Millisecond,
				Header: map[string]string{"Content-Type": "application/json", "Accept": "application/json"},
			}
		}
		answers, err := pdk.HTTPBatch(requests)
		if err != nil {
			return err
		}
		rated := make([][]float64, len(answers))
		for i, a := range answers {
			if a.Status == 0 {
				return pdk.Errorf("rerank: %s: no answer: %s", s.URL, a.Error)
			}
			if rated[i], err = plugin.Read(a.Status, a.Body, len(batches[i])); err != nil {
				return pdk.Errorf("rerank: %s: %w", s.URL, err)
			}
		}
		plugin.Apply(batches, rated, scores)
		return nil
	})
}

func main() {}
