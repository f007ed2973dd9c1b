package pdk

import "github.com/anchor-host/anchor-host/sdk/pdk-go/internal/mem"

// These exports appear in every plugin: the marker of the contract's version,
// which is never called, and the two functions by which the host finds the
// memory that the batch lane works in.

//go:wasmexport anchor_abi_1
func marker() {}

//go:wasmexport anchor_mailbox
func mailbox() uint32 { return mem.Mailbox() }

//go:wasmexport anchor_reserve
func reserve(n uint32) uint32 { return mem.Reserve(n) }
