package rerank_test

import (
	"fmt"
	"math"
	"time"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/rerank"
)

var now = time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)

func init() {
	rerank.Scores(func(r *pdk.Request, _ *struct{}, scores []float64) error {
		for i := range scores {
			days := now.Sub(r.Items.CreatedAt(i)).Hours() / 24
			scores[i] *= math.Exp2(-days)
		}
		return nil
	})
}

func Example() {
	call := pdktest.Call{Op: abi.OpRerank, Reads: []string{"score", "created_at"}, Request: &abi.ItemsRequest{
		Items: []abi.Item{
			{Score: 0.8, CreatedAt: now.AddDate(0, 0, -2)},
			{Score: 0.6, CreatedAt: now.AddDate(0, 0, -1)},
		},
	}}
	changes, err := call.In(pdktest.Batch)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range changes.Scores {
		fmt.Printf("row %d: %.1f\n", s.Row, s.Score)
	}
	// Output:
	// row 0: 0.2
	// row 1: 0.3
}
