// Package mcpserver offers an anchor-host as a server of the Model Context Protocol.
//
// A tool, a resource or a prompt is one or a few requests to the HTTP API, which run in this process. So
// scopes, quotas, tenants, limits, the audit log and the version of the configuration are those of the API,
// whichever way a question comes. What goes out is bounded in tokens: a tool returns previews, and handles with
// which recall gets the rest.
//
// Read tools.go, then api.go.
package mcpserver
