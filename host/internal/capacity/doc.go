// Package capacity divides the room of a host between the owners of instances: how many instances
// there may be, and how much memory they may hold together.
//
// A [Room] has both bounds. Each owner has a [Share] of it. An owner that is open always has
// one place for an instance, even while it has none. It takes further places as long as there
// are any. The memory of an owner's instances together is bounded as soon as there is more
// than one.
//
// An idle instance is closed after its owner's time for that. It is evicted earlier when there
// is no room for something else: of all owners' instances the one that was used longest ago
// goes first. Each owner keeps as many as its pool says, which is at least one.
//
// An owner that has no instance at all can wait for room; see [Room.Wait]. As long as it
// waits, the owners that have the most instances close those that come back. Owners must ask
// [Room.Waiting] before they make further instances.
//
// The package knows neither plugins nor what an instance is. It closes instances through the
// interface [Instances], which pools implement.
//
// The owners are not equally honest. So one owner has at most its part of the memory, half by
// default, as soon as it has a second instance; a single instance may have more.
package capacity
