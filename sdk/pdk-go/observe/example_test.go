package observe_test

import (
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/observe"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func init() {
	observe.Handle(func(e *pdk.Event, _ *struct{}) error {
		if e.Type == "step_end" && e.Items == 0 {
			return pdk.Errorf("step %s left no items", e.Step)
		}
		return nil
	})
}

func Example() {
	for _, items := range []int{3, 0} {
		_, err := pdktest.Document[struct{}](abi.OpObserve, abi.Event{Type: "step_end", Step: "dedupe", Items: items})
		fmt.Println(items, err)
	}
	// Output:
	// 3 <nil>
	// 0 step dedupe left no items
}
