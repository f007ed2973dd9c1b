package counttokens_test

import (
	"encoding/json"
	"fmt"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/counttokens"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

type Settings struct {
	BytesPerToken int `json:"bytes_per_token"`
}

// Defaults hold for settings that are left out.
func (s *Settings) Defaults() { s.BytesPerToken = 4 }

func init() {
	counttokens.Each(func(text string, s *Settings) int {
		return (len(text) + s.BytesPerToken - 1) / s.BytesPerToken
	})
}

func Example() {
	for _, settings := range []string{`{}`, `{"bytes_per_token": 2}`} {
		reply, err := pdktest.Document[abi.CountReply](abi.OpCountTokens, abi.CountRequest{
			Texts: []string{"", "four", "and more"}, Settings: json.RawMessage(settings),
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(reply.Counts)
	}
	// Output:
	// [0 1 2]
	// [0 2 4]
}
