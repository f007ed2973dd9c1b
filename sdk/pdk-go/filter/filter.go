// Package filter makes a plugin a filter: it says which items stay. Importing
// it adds the exports anchor_filter and anchor_batch_filter.
//
//	type Settings struct {
//		Min float64 `json:"min"`
//	}
//
//	func init() {
//		filter.Each(func(it pdk.Item, s *Settings) bool {
//			return it.Score() >= s.Min
//		})
//	}
//
// Each calls the function once per row, which costs about 20 ns per row in stock Go. Handle
// calls it once for all rows; a loop over r.Items.Scores() in it takes a quarter of that
// time.
package filter

import (
	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/mem"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

var lanes = serve.NewItems(abi.OpFilter)

func init() { lanes.Export(onJSON, onBatch) }

// Handle registers f, which returns the rows that stay, ascending and each once, as []int or
// []uint32. An empty list drops every item, and so does nil.
//
//	filter.Handle(func(r *pdk.Request, s *Settings) (keep []int, err error) {
//		seen := map[string]bool{}
//		for it := range r.Items.All() {
//			if !seen[it.Text()] {
//				seen[it.Text()] = true
//				keep = append(keep, it.Row())
//			}
//		}
//		return keep, nil
//	})
func Handle[S any, R pdk.Row](f func(r *pdk.Request, s *S) (keep []R, err error)) {
	serve.HandleItems(lanes, func(r *pdk.Request, s *S, c *pdk.Changes) error {
		keep, err := f(r, s)
		if err != nil {
			return err
		}
		pdk.KeepRows(c, keep)
		return nil
	})
}

// Each registers f, which reports whether an item stays.
func Each[S any](f func(it pdk.Item, s *S) bool) {
	var keep []uint32
	mem.Warm(func() { keep = make([]uint32, 0, mem.WarmRows) })
	serve.HandleItems(lanes, func(r *pdk.Request, s *S, c *pdk.Changes) error {
		items, rows := r.Items, keep[:0]
		for i := range items.Len() {
			if f(items.At(i), s) {
				rows = append(rows, uint32(i))
			}
		}
		keep = rows
		pdk.KeepRows(c, rows)
		return nil
	})
}

//go:wasmexport anchor_filter
func onJSON() int32 { return lanes.JSON() }

//go:wasmexport anchor_batch_filter
func onBatch(ptr, n uint32) int32 { return lanes.Batch(ptr, n) }
