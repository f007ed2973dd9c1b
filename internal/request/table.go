package request

import "slices"

// What goes together with a request: fields of anchor.BuildOptions, and flags of "anchor-host build". A request
// states all others itself, or leaves them out on purpose.
var (
	BesideFields = []string{
		"Conversation", "Remember", "Only", "Skip", "Tenant", "User", "Session", "Timeout", "Previous", "Callbacks", "ID", "Key", "RequestID",
	}
	BesideFlags = []string{
		"conversation", "remember", "only-steps", "skip-steps", "tenant", "user", "session", "timeout", "previous",
		"store", "request", "config", "plugins", "cache-dir", "log-level", "strict", "record", "output",
	}
)

// Refused says why a field or a flag cannot be combined with a request. It returns "" if it can: if it is beside.
func Refused(name string, beside []string) string {
	if slices.Contains(beside, name) {
		return ""
	}
	return "the request states it"
}
