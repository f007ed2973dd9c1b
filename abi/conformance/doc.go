// Package conformance checks whether a guest keeps the contract, and names each rule that
// it breaks.
//
// [Run] runs the [Cases]. For each operation and lane of a guest they send ordinary requests
// and uncommon ones (nothing, one item, thousands, ten megabytes, every script, control
// characters, members of a later version). They repeat a request, cancel one, and make ten
// thousand in a row. Every answer is checked against the rules of ABI.md. Each fault fails
// the case of its rule: a filter that adds an item fails filter/subset and no other case.
//
// The kit depends on no host and no test framework. A host implements the interface
// [Target]; package host/conform does so for anchor-host.
//
// The answers of a guest are data: nothing in them makes the kit panic or
// block.
//
// The kit reads the bytes of an answer itself, because a host that refuses an answer does not say
// which rule it breaks.
package conformance
