// Package retrieve makes a plugin a retriever: it answers a query with new
// items. Importing it adds the exports anchor_retrieve and
// anchor_batch_retrieve.
//
//	type Settings struct {
//		MinScore float64 `json:"min_score"`
//	}
//
//	func init() {
//		retrieve.Handle(func(r *pdk.Request, s *Settings) ([]pdk.NewItem, error) {
//			hits := index.Search(r.Items.QueryText(), r.TopK)
//			var items []pdk.NewItem
//			for _, h := range hits {
//				items = append(items, pdk.NewItem{Key: h.Path, Content: h.Text, Score: h.Score})
//			}
//			return items, nil
//		})
//	}
package retrieve

import (
	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

var lanes = serve.NewItems(abi.OpRetrieve)

func init() { lanes.Export(onJSON, onBatch) }

// Handle registers f, which returns new items, best first. If r.TopK is not 0, the host drops
// the items after the first r.TopK. Scores are 0 to 1. The same Key gives an item the same
// id each time.
func Handle[S any](f func(r *pdk.Request, s *S) ([]pdk.NewItem, error)) {
	serve.HandleItems(lanes, func(r *pdk.Request, s *S, c *pdk.Changes) error {
		items, err := f(r, s)
		if err != nil {
			return err
		}
		for _, item := range items {
			c.Add(item)
		}
		return nil
	})
}

//go:wasmexport anchor_retrieve
func onJSON() int32 { return lanes.JSON() }

//go:wasmexport anchor_batch_retrieve
func onBatch(ptr, n uint32) int32 { return lanes.Batch(ptr, n) }
