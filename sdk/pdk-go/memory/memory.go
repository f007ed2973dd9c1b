// Package memory makes a plugin a memory provider: it adds remembered items before any step
// runs. Importing it adds the export anchor_memory.
//
//	type Settings struct {
//		User string `json:"user"`
//	}
//
//	func init() {
//		memory.Handle(func(r *pdk.Request, s *Settings) ([]pdk.NewItem, error) {
//			notes, err := pdk.KVGet("notes/" + s.User)
//			if errors.Is(err, pdk.ErrNotFound) {
//				return nil, nil
//			}
//			return []pdk.NewItem{{Key: s.User, Content: string(notes), Source: "memory", Score: 1}}, err
//		})
//	}
package memory

import (
	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

var lane = serve.NewDocument(abi.OpMemory)

func init() { lane.Export(onJSON) }

// Handle registers f, which returns items of source memory or conversation. It may return
// none.
func Handle[S any](f func(r *pdk.Request, s *S) ([]pdk.NewItem, error)) {
	serve.HandleRequest(lane, func(r *pdk.Request, s *S) (abi.MemoryReply, error) {
		items, err := f(r, s)
		if err == nil && len(items) == 0 {
			err = pdk.ErrNoChange
		}
		return abi.MemoryReply{Items: items}, err
	})
}

//go:wasmexport anchor_memory
func onJSON() int32 { return lane.JSON() }
