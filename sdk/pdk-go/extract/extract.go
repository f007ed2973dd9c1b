// Package extract makes a plugin an extractor: it takes facts from the turns of a
// conversation, and puts facts in order. Importing it adds the export anchor_extract.
//
//	type Settings struct {
//		Words []string `json:"words"`
//	}
//
//	func init() {
//		extract.Handle(func(r *extract.Request, s *Settings) (extract.Reply, error) {
//			var reply extract.Reply
//			for _, t := range r.Turns {
//				if t.Role == "user" && strings.Contains(t.Content, "I am") {
//					reply.Add = append(reply.Add, extract.Fact{Content: t.Content})
//				}
//			}
//			return reply, nil
//		})
//	}
package extract

import (
	"encoding/json"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

// Request has the turns, oldest first, and the facts that are known. Without turns the
// facts are to be put in order.
type Request = abi.ExtractRequest

// Known is a fact of a [Request].
type Known = abi.Fact

// Fact is a new fact. Only its content is needed.
type Fact = abi.NewFact

// Edit gives a fact of the request another text.
type Edit = abi.FactEdit

// Reply has the new facts, those with another text, and the ids of those that are to be
// forgotten. Only facts of the request can be changed or forgotten, each once.
type Reply = abi.ExtractReply

var lane = serve.NewDocument(abi.OpExtract)

func init() { lane.Export(onJSON) }

// Handle registers f. The zero Reply means that all facts stay as they are.
func Handle[S any](f func(r *Request, s *S) (Reply, error)) {
	serve.HandleDocument(lane, settingsOf, func(r *Request, s *S) (Reply, error) {
		reply, err := f(r, s)
		if err == nil && len(reply.Add)+len(reply.Update)+len(reply.Remove) == 0 {
			err = pdk.ErrNoChange
		}
		return reply, err
	})
}

func settingsOf(r *Request) json.RawMessage { return r.Settings }

//go:wasmexport anchor_extract
func onJSON() int32 { return lane.JSON() }
