package process_test

import (
	"fmt"
	"strings"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/process"
)

func init() {
	process.Handle(func(r *pdk.Request, _ *struct{}, c *pdk.Changes) error {
		for it := range r.Items.All() {
			switch text := strings.TrimSpace(it.Text()); {
			case text == "":
				c.Drop(it.Row())
			case text != it.Text():
				c.SetText(it.Row(), text)
			}
		}
		return nil
	})
}

func Example() {
	call := pdktest.Call{Op: abi.OpProcess, Reads: []string{"text"}, Request: &abi.ItemsRequest{
		Items: []abi.Item{{Content: "as it is"}, {Content: "  "}, {Content: " padded "}},
	}}
	changes, err := call.In(pdktest.Batch)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("keep", changes.Keep)
	for _, e := range changes.Edits {
		fmt.Printf("row %d: %q\n", e.Row, *e.Content)
	}
	// Output:
	// keep [0 2]
	// row 2: "padded"
}
