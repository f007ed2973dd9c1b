// Package pdk is for authors of anchor-host plugins in Go. A plugin is a
// package main that registers one function per operation. The SDK provides the exports,
// both lanes, settings and errors.
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
// Build it with stock Go as a reactor, and put plugin.yaml next to it:
//
//	GOOS=wasip1 GOARCH=wasm go build -trimpath -buildmode=c-shared -ldflags="-s -w" -o plugin.wasm .
//
// # Exports
//
// Importing a sub-package adds its exports to the module. So a plugin has only the exports
// that it serves. This package adds anchor_abi_1, anchor_mailbox and anchor_reserve to every
// plugin.
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
//	distill      anchor_distill
//	extract      anchor_extract
//	provide      anchor_provide, anchor_estimate_tokens
//	format       anchor_format
//	counttokens  anchor_count_tokens
//	observe      anchor_observe
//	setup        anchor_init
//
// # Settings
//
// Each handler names its settings type S. The SDK decodes the step's settings into an S once,
// and passes the same S until the settings change. A handler may therefore keep derived
// values, such as a compiled pattern, in unexported fields of S. *S may have two methods:
// Defaults() runs before decoding, and Validate() error runs after it. The host has already
// checked the settings against the schema in the manifest. The settings of the configured
// plugin, which are not those of a step, arrive through package setup.
//
// # Errors
//
// The host shows the error of a handler to the operator, with the names of the plugin and
// the step; [Errorf] makes such an error. [ErrNoChange] is not a failure: the host continues
// as if the plugin had not been called. A panic becomes a [*PanicError], and the instance
// stays usable. Under TinyGo a panic traps.
//
// # Ownership
//
// Rows, and strings read from them, are views of memory that the next call overwrites. They
// are valid until the handler returns; clone a string that must live longer. An instance
// serves one call at a time, and goroutines started in a call run only while a call runs. By
// default the host resets an instance after each call to its state after init, so package
// variables cannot carry state from call to call.
//
// # Services
//
// [Log], [Config], [HTTP], [HTTPBatch], the functions of the key-value store, [CountTokens],
// [Embed], [Search] and [LLM] call the host. Only the functions that a plugin uses are linked. A
// plugin that uses none but Log, Config and HTTP runs on any Extism host.
//
// # Tests
//
// All packages build and run outside Wasm. Package pdktest calls the registered
// handlers in both lanes under go test.
package pdk
