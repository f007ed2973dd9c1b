package transform_test

import (
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/transform"
)

func init() {
	transform.Handle(func(q *pdk.Query, _ *struct{}) ([]pdk.Query, error) {
		if !strings.Contains(q.Text, "ctx") {
			return nil, nil
		}
		return []pdk.Query{*q, {Text: strings.ReplaceAll(q.Text, "ctx", "context")}}, nil
	})
}

func Example() {
	for _, text := range []string{"cancel ctx", "sort"} {
		reply, err := pdktest.Document[abi.TransformReply](abi.OpTransformQuery, abi.QueryRequest{Query: abi.Query{Text: text}})
		if err != nil {
			fmt.Println(err)
			return
		}
		if reply == nil {
			fmt.Printf("%s: no change\n", text)
			continue
		}
		for _, q := range reply.Queries {
			fmt.Printf("%s: %s\n", text, q.Text)
		}
	}
	// Output:
	// cancel ctx: cancel ctx
	// cancel ctx: cancel context
	// sort: no change
}
