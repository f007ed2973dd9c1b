// Command steps is a plugin made with the SDK. The benchmarks of the engine call it in its
// own lane.
package main

import (
	"time"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/process"
)

type settings struct{}

func init() {
	// Return each text without its first byte, so that the host sees a change.
	process.Handle(func(r *pdk.Request, _ *settings, c *pdk.Changes) error {
		for i := range r.Items.Len() {
			c.SetText(i, r.Items.At(i).Text()[1:])
		}
		return nil
	})
}

// noop does nothing.
//
//go:wasmexport noop
func noop() int32 { return 0 }

// hold logs that it began, and keeps its instance busy until it is cancelled.
//
//go:wasmexport hold
func hold() int32 {
	pdk.Log(pdk.LevelInfo, "holding")
	time.Sleep(time.Hour)
	return 0
}

func main() {}
