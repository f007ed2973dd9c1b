package retrieve_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/retrieve"
)

type Settings struct {
	Score float64 `json:"score"`
}

var facts = []string{"go test runs tests", "go vet reports mistakes", "make runs recipes"}

func init() {
	retrieve.Handle(func(r *pdk.Request, s *Settings) (items []pdk.NewItem, err error) {
		for _, fact := range facts {
			if strings.HasPrefix(fact, r.Query().Text) && len(items) < r.TopK {
				items = append(items, pdk.NewItem{Key: fact, Content: fact, Score: s.Score})
			}
		}
		return items, nil
	})
}

func Example() {
	call := pdktest.Call{Op: abi.OpRetrieve, Request: &abi.ItemsRequest{
		Query: abi.Query{Text: "go"}, TopK: 5, Settings: json.RawMessage(`{"score": 0.5}`),
	}}
	changes, err := call.In(pdktest.Batch)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, item := range changes.Items {
		fmt.Println(item.Score, item.Content)
	}
	// Output:
	// 0.5 go test runs tests
	// 0.5 go vet reports mistakes
}
