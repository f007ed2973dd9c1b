// Package fairness shares a processor's time between accounts, and rests who fails again
// and again. It knows nothing of guests: a plugin is an [Account], a call of it a [Turn].
//
// # Turns
//
// A [Queue] has a number of slots. Who works has one, or has worked for less than
// [Grace]: so short turns cost nothing as long as nobody waits. At its safe points a turn
// calls [Turn.Yields]. Where another account waits that has used less lately, it hands its
// slot over and waits in its place.
//
// Who has used least lately is next, and within an account who came first. What an
// account used counts for half after [HalfLife], so a burst is forgiven and a hog that
// stops is like any other after a second. Two accounts that both want all they can get
// take turns of about twice [Grain].
//
// # Rests
//
// A [Rest] counts the failures of an account that follow each other. After so many it
// refuses for a time, then admits one probe at a time: a good one ends the rest, a bad
// one begins another of twice the length.
package fairness
