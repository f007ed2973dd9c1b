// Package process makes a plugin a postprocessor: it may change items in any
// way that its manifest lists under writes. Importing it adds the exports
// anchor_process and anchor_batch_process.
//
//	type Settings struct {
//		MaxAge float64 `json:"max_age_days"`
//	}
//
//	func init() {
//		process.Handle(func(r *pdk.Request, s *Settings, c *pdk.Changes) error {
//			for it := range r.Items.All() {
//				if days := time.Since(it.CreatedAt()).Hours() / 24; days > s.MaxAge {
//					c.SetText(it.Row(), "[outdated] "+it.Text())
//					c.SetPriority(it.Row(), 1)
//				}
//			}
//			return nil
//		})
//	}
package process

import (
	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

var lanes = serve.NewItems(abi.OpProcess)

func init() { lanes.Export(onJSON, onBatch) }

// Handle registers f, which writes its changes into c. If it writes none, the items stay as
// they are.
func Handle[S any](f func(r *pdk.Request, s *S, c *pdk.Changes) error) {
	serve.HandleItems(lanes, f)
}

// Texts registers f, which returns the new text of each item. The same text means no
// change.
//
//	process.Texts(func(it pdk.Item, s *Settings) (string, error) {
//		return phone.ReplaceAllString(it.Text(), s.Mask), nil
//	})
func Texts[S any](f func(it pdk.Item, s *S) (string, error)) {
	serve.HandleItems(lanes, func(r *pdk.Request, s *S, c *pdk.Changes) error {
		for i := range r.Items.Len() {
			it := r.Items.At(i)
			text, err := f(it, s)
			if err != nil {
				return pdk.Errorf("row %d: %w", i, err)
			}
			if text != it.Text() {
				c.SetText(i, text)
			}
		}
		return nil
	})
}

//go:wasmexport anchor_process
func onJSON() int32 { return lanes.JSON() }

//go:wasmexport anchor_batch_process
func onBatch(ptr, n uint32) int32 { return lanes.Batch(ptr, n) }
