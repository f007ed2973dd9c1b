// Command echo is a plugin that answers each document with itself. With it, benchmarks
// measure the cost of passing a document to a guest and back.
package main

import (
	"github.com/anchor-host/anchor-host/abi"
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/serve"
)

//go:wasmexport anchor_provide
func provide() int32 {
	return serve.JSON(abi.OpProvide, func(in []byte) ([]byte, error) { return in, nil })
}

func main() {}
