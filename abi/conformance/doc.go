// Package conformance says whether a guest keeps to the contract, and which
// rule it breaks where it does not.
//
// [Run] puts a guest through the [Cases]: for each of its operations, in each
// lane, ordinary requests and uncommon ones (nothing, one item, thousands, ten
// megabytes, every script, control characters, members of a later version), the
// same request again, a cancelled one and ten thousand in a row. Every answer is
// held against the rules of ABI.md. A fault shows as the case that names it: a
// filter that adds an item fails filter/subset and nothing else.
//
// The kit knows no host and no test framework. What it needs of a host is the
// interface [Target]; package host/conform has the one of anchor-host.
//
// The answers of a guest are data: nothing in them makes the kit panic or
// block.
package conformance
