// Package cluster lets hosts that share a store follow one configuration.
//
// One record, [Desired], says which version of the configuration all hosts load, which version is tried on a
// share of the conversations, and how far that has come. It is changed as a whole and on the condition that
// nobody else has changed it, so every state that a reader can see is one that hosts can follow. Hosts poll
// it. Each writes a record of its own, [Member]: what it has loaded, and what it has measured. One of them,
// which holds a lease, sums what all have measured and moves the rollout on or takes it back; see [Judge].
//
// No decision compares clocks of two machines. A reader knows that a host is alive because the number of its
// beats goes up while the reader watches.
package cluster
