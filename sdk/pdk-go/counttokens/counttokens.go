// Package counttokens makes a plugin a tokenizer. Importing it adds the export anchor_count_tokens.
//
//	type Settings struct {
//		BytesPerToken int `json:"bytes_per_token"`
//	}
//
//	func init() {
//		counttokens.Each(func(text string, s *Settings) int {
//			return (len(text) + s.BytesPerToken - 1) / s.BytesPerToken
//		})
//	}
package counttokens

import (
	"encoding/json"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

var lane = serve.NewDocument(abi.OpCountTokens)

func init() { lane.Export(onJSON) }

// Handle registers f, which returns one count per text, none negative.
func Handle[S any](f func(texts []string, s *S) (counts []int, err error)) {
	serve.HandleDocument(lane, settingsOf, func(req *abi.CountRequest, s *S) (abi.CountReply, error) {
		counts, err := f(req.Texts, s)
		if err == nil && len(counts) != len(req.Texts) {
			err = pdk.Errorf("count_tokens: %d counts for %d texts (return one per text)", len(counts), len(req.Texts))
		}
		return abi.CountReply{Counts: counts}, err
	})
}

// Each registers f, which counts one text.
func Each[S any](f func(text string, s *S) int) {
	Handle(func(texts []string, s *S) ([]int, error) {
		counts := make([]int, len(texts))
		for i, text := range texts {
			counts[i] = f(text, s)
		}
		return counts, nil
	})
}

func settingsOf(r *abi.CountRequest) json.RawMessage { return r.Settings }

//go:wasmexport anchor_count_tokens
func onJSON() int32 { return lane.JSON() }
