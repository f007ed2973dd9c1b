// Command web-search is a plugin that finds pages of the web through a search engine.
package main

import (
	"time"

	"github.com/anchor-host/anchor-host/plugins/examples/web-search/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/retrieve"
)

func init() {
	retrieve.Handle(func(r *pdk.Request, s *plugin.Settings) ([]pdk.NewItem, error) {
		address := s.Address(r.Query().Text)
		if address == "" {
			return nil, nil
		}
		response, err := pdk.HTTP(pdk.HTTPRequest{
			URL: address, Header: map[string]string{"Accept": "application/json"},
			Timeout: time.Duration(s.TimeoutMS) * time.Millisecond,
		})
		if err != nil {
			return nil, pdk.Errorf("search: %w", err)
		}
		if response.Status == plugin.TooMany {
			pdk.Logf(pdk.LevelWarn, "the search engine wants a pause of %s s", response.Header["Retry-After"])
		}
		items, err := s.Items(response.Status, response.Body, r.TopK)
		if err != nil {
			return nil, pdk.Errorf("search: %w", err)
		}
		return items, nil
	})
}

func main() {}
