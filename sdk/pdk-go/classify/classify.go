// Package classify makes a plugin a query classifier: its label decides which
// retriever a classified step uses. Importing it adds the export anchor_classify.
//
//	type Settings struct {
//		Code []string `json:"code_words"`
//	}
//
//	func init() {
//		classify.Handle(func(q *pdk.Query, s *Settings) (string, error) {
//			for _, word := range s.Code {
//				if strings.Contains(q.Text, word) {
//					return "code", nil
//				}
//			}
//			return "prose", nil
//		})
//	}
package classify

import (
	"encoding/json"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

var lane = serve.NewDocument(abi.OpClassify)

func init() { lane.Export(onJSON) }

// Handle registers f, which returns the label of the query. If the step has no route for
// the label, the query takes the default route.
func Handle[S any](f func(q *pdk.Query, s *S) (label string, err error)) {
	serve.HandleDocument(lane, settingsOf, func(req *abi.QueryRequest, s *S) (abi.ClassifyReply, error) {
		label, err := f(&req.Query, s)
		return abi.ClassifyReply{Label: label}, err
	})
}

func settingsOf(r *abi.QueryRequest) json.RawMessage { return r.Settings }

//go:wasmexport anchor_classify
func onJSON() int32 { return lane.JSON() }
