// Package hooks answers the hooks of coding agents: Claude Code, Codex and the Copilot CLI run a command at certain
// moments of a session, give it an event as JSON, and take JSON back.
//
//	h := &hooks.Handler{Store: s, Tenant: "default", Knowledge: k}
//	answer := h.Answer(ctx, hooks.Request{Client: hooks.Claude, Body: data})
//
// An event can only add context, or put a cut text in the place of a large result. Whatever goes wrong, the answer is
// empty, which changes nothing for the user, and the [Report] of the event says why.
package hooks
