// Package egress sends the HTTP requests of plugins. It decides where they may go, and what
// they may say there.
//
// A [Rule] holds each request and each redirect to what an operator grants and a manifest
// asks for, by scheme, host, port and method, and each address that a name resolves to
// before it is connected to. Names are no proof: one that the grant allows may point into a
// private network, or to the service by which a cloud hands credentials to its machines.
//
// [SetHeaders] takes the headers that a guest states, but for those that are about the
// connection. [LeaveOrigin] takes what was meant for one server out of a redirect to another.
//
// A [Client] sends requests, with a transport of its own or with one of the embedder's. It
// bounds what it reads.
//
// What is not permitted is a [Refusal]. A request that got no answer is a [Failure].
package egress
