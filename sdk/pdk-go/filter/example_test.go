package filter_test

import (
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/filter"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

type Settings struct {
	Min float64 `json:"min"`
}

func init() {
	filter.Each(func(it pdk.Item, s *Settings) bool { return it.Score() >= s.Min })
}

func Example() {
	call := pdktest.Call{Op: abi.OpFilter, Reads: []string{"score"}, Request: &abi.ItemsRequest{
		Items:    []abi.Item{{Score: 0.9}, {Score: 0.2}, {Score: 0.6}},
		Settings: json.RawMessage(`{"min": 0.5}`),
	}}
	for _, lane := range []pdktest.Lane{pdktest.JSON, pdktest.Batch} {
		changes, err := call.In(lane)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(lane, "keeps", changes.Keep)
	}
	// Output:
	// json keeps [0 2]
	// batch keeps [0 2]
}
