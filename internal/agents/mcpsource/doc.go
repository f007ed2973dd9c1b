// Package mcpsource lets builds ask servers of the Model Context Protocol: a step with "use: mcp" is a retriever that
// calls a tool, or reads resources, and makes items of what comes back.
//
//	steps:
//	  - {name: tickets, use: mcp, settings: {server: tickets, url: "https://mcp.example/mcp", tool: search, items: results}}
//
// A server is a stranger. It is asked only after somebody has approved it: "anchor-host mcp approve NAME" shows its
// tools and writes their digests into anchor.lock. A tool whose description or schema has changed since is not
// called. A server on stdio runs with an empty environment. One on HTTP has a public address, unless the settings say
// private. What it returns is bounded, and marked "trust: external".
//
// Read source.go, then peer.go.
package mcpsource
