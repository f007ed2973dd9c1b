// Package rerank makes a plugin a reranker: it gives items new scores, a new
// order, or both. Importing it adds the exports anchor_rerank and
// anchor_batch_rerank.
//
//	type Settings struct {
//		HalfLifeDays float64 `json:"half_life_days"`
//	}
//
//	func init() {
//		rerank.Scores(func(r *pdk.Request, s *Settings, scores []float64) error {
//			for i := range scores {
//				days := time.Since(r.Items.CreatedAt(i)).Hours() / 24
//				scores[i] *= math.Exp2(-days / s.HalfLifeDays)
//			}
//			return nil
//		})
//	}
//
// Scores is for rerankers that rate items one by one, Order for those that
// arrange them, Handle for both at once. The host cuts to top_k afterwards.
package rerank

import (
	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/mem"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

var lanes = serve.NewItems(abi.OpRerank)

func init() { lanes.Export(onJSON, onBatch) }

// Handle registers f, which writes scores and order into c. If it sets no order, the host
// sorts by score and keeps the old order among equal scores. If it sets no scores, the host
// redistributes the existing scores in the new order.
func Handle[S any](f func(r *pdk.Request, s *S, c *pdk.Changes) error) {
	serve.HandleItems(lanes, f)
}

// Scores registers f, which overwrites scores, one per row, 0 to 1. Before, they hold the
// current scores if the manifest reads score, or else 0.
func Scores[S any](f func(r *pdk.Request, s *S, scores []float64) error) {
	var scores []float64
	mem.Warm(func() { scores = make([]float64, 0, mem.WarmRows) })
	serve.HandleItems(lanes, func(r *pdk.Request, s *S, c *pdk.Changes) error {
		scores = scores[:0]
		if r.Items.Columns().Has(abi.ColumnScore) {
			scores = append(scores, r.Items.Scores()...)
		}
		for len(scores) < r.Items.Len() {
			scores = append(scores, 0)
		}
		if err := f(r, s, scores); err != nil {
			return err
		}
		c.SetScores(scores)
		return nil
	})
}

// Order registers f, which returns all rows, best first, as []int or []uint32.
//
//	rerank.Order(func(r *pdk.Request, s *Settings) ([]int, error) {
//		return mmr(r, s.Lambda), nil
//	})
func Order[S any, R pdk.Row](f func(r *pdk.Request, s *S) (order []R, err error)) {
	serve.HandleItems(lanes, func(r *pdk.Request, s *S, c *pdk.Changes) error {
		order, err := f(r, s)
		if err != nil {
			return err
		}
		pdk.OrderRows(c, order)
		return nil
	})
}

//go:wasmexport anchor_rerank
func onJSON() int32 { return lanes.JSON() }

//go:wasmexport anchor_batch_rerank
func onBatch(ptr, n uint32) int32 { return lanes.Batch(ptr, n) }
