// Package fairness shares the time of the processors between accounts, and pauses accounts
// that fail several times in a row. It knows nothing of guests. The host has an [Account] for
// each plugin and a [Turn] for each of its instances.
//
// # Turns
//
// A [Queue] has a number of slots. A turn that works has a slot, or has worked for less than
// [Grace]: a short turn costs nothing as long as no turn waits. At its safe points a turn
// calls [Turn.Yields]. If another account waits that has used less time lately, the turn
// hands its slot over and waits.
//
// The next slot goes to the account that has used least lately, and within an account to the
// turn that came first. The time that an account used counts for half after [HalfLife], so a
// burst is forgiven, and an account that stops working is like any other after a second. Two
// accounts that both always have work take turns of about twice [Grain].
//
// # Breakers
//
// A [Breaker] counts the failures in a row of an account. After a given number it refuses work
// for a time, then admits one probe at a time. A good probe ends the pause. A bad one begins a
// pause of twice the length.
package fairness
