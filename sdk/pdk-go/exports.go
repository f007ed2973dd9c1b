package pdk

import "github.com/anchor-host/anchor-host/sdk/pdk-go/internal/mem"

// Every plugin has these exports: the marker of the contract's version, which is never
// called, and the two functions by which the host finds the memory for the batch lane.

//go:wasmexport anchor_abi_1
func marker() {}

//go:wasmexport anchor_mailbox
func mailbox() uint32 { return mem.Mailbox() }

//go:wasmexport anchor_reserve
func reserve(n uint32) uint32 { return mem.Reserve(n) }
