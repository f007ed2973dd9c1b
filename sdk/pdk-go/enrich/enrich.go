// Package enrich makes a plugin a query enricher: it rewrites the query text with the help
// of the memory items, before any step runs. Importing it adds the export
// anchor_enrich_query.
//
//	type Settings struct {
//		Max int `json:"max_items"`
//	}
//
//	func init() {
//		enrich.Handle(func(r *pdk.Request, s *Settings) (string, error) {
//			text := r.Query().Text
//			for i := range min(r.Items.Len(), s.Max) {
//				text += "\n" + r.Items.Text(i)
//			}
//			return text, nil
//		})
//	}
package enrich

import (
	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

var lane = serve.NewDocument(abi.OpEnrichQuery)

func init() { lane.Export(onJSON) }

// Handle registers f, which returns the new query text. r.Items are the memory
// items. Return [pdk.ErrNoChange] to leave the query as it is.
func Handle[S any](f func(r *pdk.Request, s *S) (text string, err error)) {
	serve.HandleRequest(lane, func(r *pdk.Request, s *S) (abi.EnrichReply, error) {
		text, err := f(r, s)
		return abi.EnrichReply{QueryText: text}, err
	})
}

//go:wasmexport anchor_enrich_query
func onJSON() int32 { return lane.JSON() }
