package pdk

import "github.com/anchor-host/anchor-host/sdk/pdk-go/internal/mem"

// Every plugin has these exports. anchor_abi_1 marks the version of the contract and is
// never called. The host calls the other two to find the memory for the batch lane.

//go:wasmexport anchor_abi_1
func marker() {}

//go:wasmexport anchor_mailbox
func mailbox() uint32 { return mem.Mailbox() }

//go:wasmexport anchor_reserve
func reserve(n uint32) uint32 { return mem.Reserve(n) }
