package memory_test

import (
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/memory"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

type Settings struct {
	User string `json:"user"`
}

func init() {
	memory.Handle(func(_ *pdk.Request, s *Settings) ([]pdk.NewItem, error) {
		if s.User == "" {
			return nil, nil
		}
		return []pdk.NewItem{{Key: s.User, Content: s.User + " likes short answers", Source: "memory", Score: 1}}, nil
	})
}

func Example() {
	reply, err := pdktest.Document[abi.MemoryReply](abi.OpMemory, abi.ItemsRequest{
		Settings: json.RawMessage(`{"user": "ada"}`),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Items[0].Source, reply.Items[0].Content)
	// Output: memory ada likes short answers
}
