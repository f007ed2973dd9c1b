// Package pdk is for authors of anchor-host plugins in Go. A plugin is a
// package main that registers one function per operation; the SDK does the
// rest: exports, both lanes, settings, errors.
//
//	package main
//
//	import (
//		"github.com/anchor-host/anchor-host/sdk/pdk-go"
//		"github.com/anchor-host/anchor-host/sdk/pdk-go/filter"
//	)
//
//	type Settings struct {
//		Min float64 `json:"min"`
//	}
//
//	func init() {
//		filter.Each(func(it pdk.Item, s *Settings) bool { return it.Score() >= s.Min })
//	}
//
//	func main() {}
//
// Build it with stock Go as a reactor, and put plugin.yaml beside it:
//
//	GOOS=wasip1 GOARCH=wasm go build -trimpath -buildmode=c-shared -ldflags="-s -w" -o plugin.wasm .
//
// # Exports
//
// Importing a sub-package makes its exports appear, so that a plugin has only
// those it serves. Every plugin has anchor_abi_1, anchor_mailbox and
// anchor_reserve from this package.
//
//	retrieve     anchor_retrieve, anchor_batch_retrieve
//	process      anchor_process, anchor_batch_process
//	filter       anchor_filter, anchor_batch_filter
//	rerank       anchor_rerank, anchor_batch_rerank
//	transform    anchor_transform_query
//	classify     anchor_classify
//	enrich       anchor_enrich_query
//	memory       anchor_memory
//	compact      anchor_compact
//	provide      anchor_provide, anchor_estimate_tokens
//	format       anchor_format
//	counttokens  anchor_count_tokens
//	observe      anchor_observe
//	setup        anchor_init
//
// # Settings
//
// Each handler names its settings type S. The step's settings are decoded into
// it once and kept while they are the same, so a handler may keep what it
// derives from them, such as a compiled pattern, in unexported fields. S may
// have the methods Defaults(), run before decoding, and Validate() error, run
// after; both on *S. The host has checked the settings against the schema in
// the manifest already. Settings of the configured plugin, as opposed to those
// of a step, arrive through package setup.
//
// # Errors
//
// An error that a handler returns is shown to the operator with the names of
// plugin and step; [Errorf] makes one. [ErrNoChange] is no failure: the host
// goes on as if the plugin had not been called. A panic becomes a
// [*PanicError] and the instance stays usable; under TinyGo it traps.
//
// # Ownership
//
// Rows, and strings read from them, are views of memory that the next call
// overwrites: they are valid until the handler returns. Clone what must stay.
// An instance serves one call at a time, and goroutines started in a call only
// run while a call runs. By default the host resets an instance after each call
// to what init left, so package variables are no place for a state.
//
// # Services
//
// [Log], [Config], [HTTP], [KVGet] and its siblings, and [CountTokens] call the
// host. Only what a plugin uses is linked: one that uses neither the key-value
// store nor CountTokens runs on any Extism host.
//
// # Tests
//
// All packages build and run outside Wasm. Package pdktest calls the registered
// handlers in both lanes under go test.
package pdk
