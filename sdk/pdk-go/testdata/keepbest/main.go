package main

import (
	"github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/filter"
)

type Settings struct {
	Min float64 `json:"min"`
}

func init() {
	filter.Each(func(it pdk.Item, s *Settings) bool { return it.Score() >= s.Min })
}

func main() {}
