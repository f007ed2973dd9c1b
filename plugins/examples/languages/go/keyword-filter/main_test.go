package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/pdktest"
)

func TestKeepsItemsWithTheWords(t *testing.T) {
	for settings, want := range map[string][]uint32{
		`{"keywords": "fox DOG"}`:                 {0, 1, 2},
		`{"keywords": "fox  dog","match": "all"}`: {2},
		`{"keywords": "zebra"}`:                   {},
	} {
		got := pdktest.Run(t, "filter", &abi.ItemsRequest{
			Items:    []abi.Item{{Content: "The Fox"}, {Content: "a dog"}, {Content: "foxes and dogs"}, {}},
			Settings: json.RawMessage(settings),
		})
		if !slices.Equal(got.Keep, want) {
			t.Errorf("%s: keep %v, want %v", settings, got.Keep, want)
		}
	}
}
