// Package observe makes a plugin an observer of builds: the host calls it when a build and
// its steps begin and end. Importing it adds the export anchor_observe.
//
//	type Settings struct {
//		SlowMS float64 `json:"slow_ms"`
//	}
//
//	func init() {
//		observe.Handle(func(e *pdk.Event, s *Settings) error {
//			if e.Type == "step_end" && e.TimeMS > s.SlowMS {
//				pdk.Logf(pdk.LevelWarn, "step %s took %.0f ms", e.Step, e.TimeMS)
//			}
//			return nil
//		})
//	}
package observe

import (
	"encoding/json"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

var lane = serve.NewDocument(abi.OpObserve)

func init() { lane.Export(onJSON) }

// Handle registers f. The host logs its errors; they never fail a build.
func Handle[S any](f func(e *pdk.Event, s *S) error) {
	serve.HandleDocument(lane, settingsOf, func(e *pdk.Event, s *S) (any, error) {
		return nil, f(e, s)
	})
}

func settingsOf(e *pdk.Event) json.RawMessage { return e.Settings }

//go:wasmexport anchor_observe
func onJSON() int32 { return lane.JSON() }
