package extract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/extract"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func init() {
	extract.Handle(func(r *extract.Request, _ *struct{}) (reply extract.Reply, err error) {
		for _, t := range r.Turns {
			if strings.HasPrefix(t.Content, "I ") {
				reply.Add = append(reply.Add, extract.Fact{Content: t.Content})
			}
		}
		return reply, nil
	})
}

func Example() {
	reply, err := pdktest.Document[abi.ExtractReply](abi.OpExtract, abi.ExtractRequest{
		Turns: []abi.Turn{{Role: "user", Content: "I live in Oslo"}, {Role: "assistant", Content: "How nice"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Add[0].Content)
	// Output: I live in Oslo
}

func TestNothingFoundIsNoChange(t *testing.T) {
	reply, err := pdktest.Document[abi.ExtractReply](abi.OpExtract, abi.ExtractRequest{})
	if reply != nil || err != nil {
		t.Errorf("%+v, %v", reply, err)
	}
}
