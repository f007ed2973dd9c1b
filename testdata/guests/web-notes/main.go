// A plugin that asks a server of the operator's choice. Its setting server names it.
package main

import (
	"encoding/json"
	"net/url"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/retrieve"
)

type settings struct {
	Server string `json:"server"`
}

func init() {
	retrieve.Handle(func(r *pdk.Request, s *settings) ([]pdk.NewItem, error) {
		answers, err := pdk.HTTPBatch([]pdk.HTTPRequest{{URL: s.Server + "/notes?q=" + url.QueryEscape(r.Query().Text)}, {URL: s.Server + "/news"}})
		if err != nil {
			return nil, err
		}
		var items []pdk.NewItem
		for _, a := range answers {
			var texts []string
			if a.Status != 200 || json.Unmarshal(a.Body, &texts) != nil {
				return nil, pdk.Errorf("no notes: %d %s", a.Status, a.Error)
			}
			for i, text := range texts {
				items = append(items, pdk.NewItem{Content: text, Score: 1 / float64(i+1)})
			}
		}
		return items[:min(len(items), r.TopK)], nil
	})
}

func main() {}
