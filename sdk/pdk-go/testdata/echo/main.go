// Command echo is a plugin that answers each document with itself, to measure what
// the way of a document to a guest and back costs.
package main

import (
	_ "github.com/anchor-host/anchor-host/sdk/pdk-go"
	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/imports"
)

//go:wasmexport anchor_provide
func provide() int32 {
	imports.Output(imports.Input())
	return 0
}

func main() {}
