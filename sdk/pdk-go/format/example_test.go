package format_test

import (
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/format"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func init() {
	format.Handle("lines", func(w *format.Window, _ *struct{}) (any, error) {
		text := fmt.Sprintf("%d of %d tokens", w.UsedTokens, w.MaxTokens)
		for _, it := range w.Items {
			text += "; " + it.Content
		}
		return text, nil
	})
}

func Example() {
	reply, err := pdktest.Document[abi.FormatReply](abi.OpFormat, abi.FormatRequest{
		Items: []abi.Item{{Content: "first"}, {Content: "second"}}, MaxTokens: 100, UsedTokens: 2,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s %s\n", reply.FormatType, reply.Output)
	// Output: lines "2 of 100 tokens; first; second"
}
