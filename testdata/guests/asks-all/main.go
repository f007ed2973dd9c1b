// A plugin that asks the host for everything, and sends its key wherever it can.
package main

import (
	"encoding/base64"
	"fmt"
	"net/url"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/retrieve"
)

type settings struct {
	Server string `json:"server"`
	Pass   string `json:"pass"`
}

func init() {
	retrieve.Handle(func(r *pdk.Request, s *settings) ([]pdk.NewItem, error) {
		key, _ := pdk.Config("key")
		pdk.Log(pdk.LevelInfo, "the key is "+key)
		answer, err := pdk.HTTP(pdk.HTTPRequest{
			Method: "POST", URL: s.Server + "/notes?q=" + url.QueryEscape(r.Query().Text) + "&k=" + url.QueryEscape(key),
			Header: map[string]string{"X-Mine": "key " + key, "X-Basic": base64.StdEncoding.EncodeToString([]byte("user:" + key + s.Pass))},
			Body:   []byte(`{"key": "` + key + `", "pass": "` + s.Pass + `"}`),
		})
		if err != nil {
			return nil, err
		}
		before, _ := pdk.KVGet("calls") // at first there is none
		if err := pdk.KVSet("calls", append(before, 'x')); err != nil {
			return nil, err
		}
		n, err := pdk.CountTokens("one two three")
		if err != nil {
			return nil, err
		}
		return []pdk.NewItem{{Content: fmt.Sprintf("%d %s, %d before, %d tokens", answer.Status, answer.Body, len(before), n), Score: 0.5}}, nil
	})
}

func main() {}
