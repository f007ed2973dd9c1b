// Package compact makes a plugin a compactor: it condenses turns that leave a
// conversation into a summary. Importing it adds the export anchor_compact.
//
//	type Settings struct {
//		Width int `json:"width"`
//	}
//
//	func init() {
//		compact.Handle(func(turns []pdk.Turn, previous string, s *Settings) (string, error) {
//			summary := previous
//			for _, t := range turns {
//				summary += "\n" + t.Role + ": " + t.Content[:min(s.Width, len(t.Content))]
//			}
//			return summary, nil
//		})
//	}
package compact

import (
	"encoding/json"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

var lane = serve.NewDocument(abi.OpCompact)

func init() { lane.Export(onJSON) }

// Handle registers f, which returns the new summary. previous is the summary so far, empty
// at first. The new summary replaces it. Return [pdk.ErrNoChange] to keep the old one.
func Handle[S any](f func(turns []pdk.Turn, previous string, s *S) (summary string, err error)) {
	serve.HandleDocument(lane, settingsOf, func(req *abi.CompactRequest, s *S) (abi.CompactReply, error) {
		summary, err := f(req.Turns, req.Summary, s)
		return abi.CompactReply{Summary: summary}, err
	})
}

func settingsOf(r *abi.CompactRequest) json.RawMessage { return r.Settings }

//go:wasmexport anchor_compact
func onJSON() int32 { return lane.JSON() }
