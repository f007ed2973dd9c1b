// Package transform makes a plugin a query transformer: it turns a query into variants. The
// host retrieves with each variant and fuses the results. Importing it adds the export
// anchor_transform_query.
//
//	type Settings struct {
//		Synonyms map[string]string `json:"synonyms"`
//	}
//
//	func init() {
//		transform.Handle(func(q *pdk.Query, s *Settings) ([]pdk.Query, error) {
//			variants := []pdk.Query{*q}
//			for word, other := range s.Synonyms {
//				if strings.Contains(q.Text, word) {
//					variants = append(variants, pdk.Query{Text: strings.ReplaceAll(q.Text, word, other)})
//				}
//			}
//			return variants, nil
//		})
//	}
package transform

import (
	"encoding/json"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

var lane = serve.NewDocument(abi.OpTransformQuery)

func init() { lane.Export(onJSON) }

// Handle registers f, which returns up to 32 queries. To search with the original as well, return
// it as one of them. No query means no change.
func Handle[S any](f func(q *pdk.Query, s *S) ([]pdk.Query, error)) {
	serve.HandleDocument(lane, settingsOf, func(req *abi.QueryRequest, s *S) (abi.TransformReply, error) {
		queries, err := f(&req.Query, s)
		if err == nil && len(queries) == 0 {
			err = pdk.ErrNoChange
		}
		return abi.TransformReply{Queries: queries}, err
	})
}

func settingsOf(r *abi.QueryRequest) json.RawMessage { return r.Settings }

//go:wasmexport anchor_transform_query
func onJSON() int32 { return lane.JSON() }
