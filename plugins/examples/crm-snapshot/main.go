// Command crm-snapshot is a plugin that adds the record of the customer in the CRM to the
// messages, anew before every model call.
package main

import (
	"github.com/anchor-host/anchor-host/plugins/examples/crm-snapshot/plugin"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/provide"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/setup"
)

func init() {
	setup.Handle(func(*plugin.Settings) error { return nil })
	provide.Handle(func(r *provide.Request, _ *struct{}) (provide.Reply, error) {
		s, err := pdk.InitSettings[plugin.Settings]()
		if err != nil {
			return provide.Reply{}, err
		}
		record, err := lookUp(r, s)
		if err != nil || record == "" {
			return provide.Reply{}, err
		}
		return provide.Reply{Messages: plugin.Insert(r.Messages, s.Heading+"\n"+record)}, nil
	})
	provide.Estimate(func(r *provide.Request, _ *struct{}) (int, error) {
		s, err := pdk.InitSettings[plugin.Settings]()
		if err != nil {
			return 0, err
		}
		if url, err := s.URL(r.State.Data); url == "" || err != nil {
			return 0, nil // Apply will add nothing
		}
		return s.EstimatedTokens, nil
	})
}

// lookUp returns the record of the account, or "" if there is none.
func lookUp(r *provide.Request, s *plugin.Settings) (string, error) {
	url, err := s.URL(r.State.Data)
	if err != nil || url == "" {
		return "", err
	}
	request := pdk.HTTPRequest{URL: url, Header: map[string]string{"Accept": "application/json"}}
	if token, ok := pdk.Config("token"); ok {
		request.Header["Authorization"] = "Bearer " + token
	}
	response, err := pdk.HTTP(request)
	if err != nil {
		return "", pdk.Errorf("look up account: %w", err)
	}
	record, err := s.Record(response.Status, response.Body)
	if err != nil {
		return "", pdk.Errorf("look up account: %w", err)
	}
	return record, nil
}

func main() {}
