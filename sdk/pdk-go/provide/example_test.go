package provide_test

import (
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/provide"
)

const note = "Answer in one sentence."

func init() {
	provide.Handle(func(r *provide.Request, _ *struct{}) (provide.Reply, error) {
		if r.Budget.Phase != "synthesize" {
			return provide.Reply{}, nil
		}
		return provide.Reply{Messages: append(r.Messages, pdk.Message{Role: "system", Content: note})}, nil
	})
	provide.Estimate(func(*provide.Request, *struct{}) (int, error) { return len(note) / 4, nil })
}

func Example() {
	request := abi.ProvideRequest{Messages: []abi.Message{{Role: "user", Content: "hello"}}}
	estimate, err := pdktest.Document[abi.EstimateReply](abi.OpEstimateTokens, request)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("tokens", estimate.Tokens)
	for _, phase := range []string{"llm", "synthesize"} {
		request.Budget.Phase = phase
		reply, err := pdktest.Document[abi.ProvideReply](abi.OpProvide, request)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(phase, "changes:", reply != nil)
	}
	// Output:
	// tokens 5
	// llm changes: false
	// synthesize changes: true
}
