// Package distill makes a plugin a distiller: it turns messages of an agent into
// observations, and observations into a reflection. Importing it adds the export
// anchor_distill.
//
//	type Settings struct {
//		MaxNotes int `json:"max_notes"`
//	}
//
//	func init() {
//		distill.Handle(func(r *distill.Request, s *Settings) (distill.Reply, error) {
//			if r.Mode == distill.Reflect {
//				return distill.Reflection(strings.Join(r.Observations, "; ")), nil
//			}
//			var notes []string
//			for _, m := range r.Messages[:min(s.MaxNotes, len(r.Messages))] {
//				notes = append(notes, m.Role+": "+m.Content)
//			}
//			return distill.Add(notes...), nil
//		})
//	}
package distill

import (
	"encoding/json"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

// The modes of a [Request].
const (
	// Observe asks for observations of r.Messages, which then leave the list of the agent.
	Observe = abi.DistillObserve
	// Reflect asks for a reflection in the place of r.Observations.
	Reflect = abi.DistillReflect
)

// Request is what is to be distilled. MaxTokens is how many tokens the answer may have; a
// host refuses a longer one.
type Request = abi.DistillRequest

// Reply is the answer: Add and Replace in the mode [Observe], Reflection in the mode
// [Reflect]. The functions [Add] and [Reflection] make one.
type Reply = abi.DistillReply

var lane = serve.NewDocument(abi.OpDistill)

func init() { lane.Export(onJSON) }

// Handle registers f. The zero Reply means no change: the messages stay in the list of the
// agent, and the observations as they are.
func Handle[S any](f func(r *Request, s *S) (Reply, error)) {
	serve.HandleDocument(lane, settingsOf, func(r *Request, s *S) (Reply, error) {
		reply, err := f(r, s)
		if err == nil && reply.Add == nil && reply.Replace == nil && reply.Reflection == nil {
			err = pdk.ErrNoChange
		}
		return reply, err
	})
}

// Add returns the answer that adds observations. It leaves out those that are blank, and of
// more than 256 the first ones. Without any it says that nothing is worth a note.
func Add(observations ...string) Reply {
	notes := make([]string, 0, len(observations))
	for _, text := range observations {
		if strings.TrimSpace(text) != "" {
			notes = append(notes, text)
		}
	}
	return Reply{Add: notes[max(0, len(notes)-abi.MaxObservations):]}
}

// Reflection returns the answer with a reflection. A blank text is no change.
func Reflection(text string) Reply {
	if strings.TrimSpace(text) == "" {
		return Reply{}
	}
	return Reply{Reflection: &text}
}

func settingsOf(r *Request) json.RawMessage { return r.Settings }

//go:wasmexport anchor_distill
func onJSON() int32 { return lane.JSON() }
