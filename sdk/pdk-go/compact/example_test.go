package compact_test

import (
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/compact"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func init() {
	compact.Handle(func(turns []pdk.Turn, previous string, _ *struct{}) (string, error) {
		summary := previous
		for _, t := range turns {
			if t.Role == "user" {
				summary += " Asked: " + t.Content
			}
		}
		return summary, nil
	})
}

func Example() {
	reply, err := pdktest.Document[abi.CompactReply](abi.OpCompact, abi.CompactRequest{
		Summary: "A talk about Go.",
		Turns:   []abi.Turn{{Role: "user", Content: "what is a slice?"}, {Role: "assistant", Content: "a view"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Summary)
	// Output: A talk about Go. Asked: what is a slice?
}
