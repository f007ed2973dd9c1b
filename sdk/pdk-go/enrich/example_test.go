package enrich_test

import (
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/enrich"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func init() {
	enrich.Handle(func(r *pdk.Request, _ *struct{}) (string, error) {
		if r.Items.Len() == 0 {
			return "", pdk.ErrNoChange
		}
		return r.Query().Text + " (about " + r.Items.Text(0) + ")", nil
	})
}

func Example() {
	reply, err := pdktest.Document[abi.EnrichReply](abi.OpEnrichQuery, abi.ItemsRequest{
		Query: abi.Query{Text: "how old is it"},
		Items: []abi.Item{{Content: "the Go project"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.QueryText)
	// Output: how old is it (about the Go project)
}
