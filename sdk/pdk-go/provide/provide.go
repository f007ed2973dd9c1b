// Package provide makes a plugin a context provider of an agent loop: it
// changes the message list before a model call. Importing it adds the exports
// anchor_provide and anchor_estimate_tokens.
//
//	type Settings struct {
//		Note string `json:"note"`
//	}
//
//	func init() {
//		provide.Handle(func(r *provide.Request, s *Settings) (provide.Reply, error) {
//			note := pdk.Message{Role: "system", Content: s.Note}
//			return provide.Reply{Messages: append([]pdk.Message{note}, r.Messages...)}, nil
//		})
//	}
//
// If the manifest names message_parts, messages have Parts. An answer edits a message if it has
// the message with other Parts and nothing else changed: leave out a part, change the Text of a
// text, or add a text. A message with another Content must have no Parts.
package provide

import (
	"encoding/json"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

// Request is the state of the agent, the messages so far, and the budget in tokens.
// Budget.Phase is "llm" or "synthesize".
type Request = abi.ProvideRequest

// Reply is the new message list, nil for no change, and the parts of the state to replace:
// Observations, Reflection and Data. A part that is nil stays; one that is empty is removed.
type Reply = abi.ProvideReply

var (
	lane     = serve.NewDocument(abi.OpProvide)
	estimate = serve.NewDocument(abi.OpEstimateTokens)
)

func init() {
	lane.Export(onProvide)
	estimate.Export(onEstimate)
}

// Handle registers f, which returns the new message list. The zero Reply means no change.
func Handle[S any](f func(r *Request, s *S) (Reply, error)) {
	serve.HandleDocument(lane, settingsOf, func(r *Request, s *S) (Reply, error) {
		reply, err := f(r, s)
		if err == nil && reply.Messages == nil && reply.State == nil {
			err = pdk.ErrNoChange
		}
		return reply, err
	})
}

// Estimate registers f, which returns how many tokens the function of Handle would add. A
// plugin needs it if its manifest lists estimate_tokens.
func Estimate[S any](f func(r *Request, s *S) (tokens int, err error)) {
	serve.HandleDocument(estimate, settingsOf, func(r *Request, s *S) (abi.EstimateReply, error) {
		tokens, err := f(r, s)
		return abi.EstimateReply{Tokens: tokens}, err
	})
}

func settingsOf(r *Request) json.RawMessage { return r.Settings }

//go:wasmexport anchor_provide
func onProvide() int32 { return lane.JSON() }

//go:wasmexport anchor_estimate_tokens
func onEstimate() int32 { return estimate.JSON() }
