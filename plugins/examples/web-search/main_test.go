package main

import (
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

// The plugin sends one request, with the query escaped, and none for a blank query.
func TestRetrieve(t *testing.T) {
	var asked []pdk.HTTPRequest
	pdktest.Use(t, pdktest.Services{HTTP: func(r pdk.HTTPRequest) pdk.HTTPResponse {
		asked = append(asked, r)
		return pdk.HTTPResponse{Status: 200, Body: []byte(`{"results": [{"url": "https://a.example", "title": "A", "content": "an excerpt that is long enough"}]}`)}
	}})
	got := pdktest.Run(t, abi.OpRetrieve, &abi.ItemsRequest{Query: abi.Query{Text: "a & b"}, TopK: 3})
	if len(got.Items) != 1 || !strings.HasPrefix(got.Items[0].Content, "A\n") {
		t.Errorf("%+v", got)
	}
	for _, r := range asked { // one in each lane
		if !strings.HasSuffix(r.URL, "?format=json&q=a+%26+b") || r.Timeout <= 0 {
			t.Errorf("%+v", r)
		}
	}
	asked = nil
	if got := pdktest.Run(t, abi.OpRetrieve, &abi.ItemsRequest{Query: abi.Query{Text: " "}, TopK: 3}); len(got.Items) != 0 || asked != nil {
		t.Errorf("%+v, asked %v", got, asked)
	}
}
