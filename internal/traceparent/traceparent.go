// Package traceparent carries the trace context of W3C, which a client sends with a request, to the
// requests that are made for it.
package traceparent

import (
	"context"
	"net/http"
	"strings"
)

// Header is the name of the field.
const Header = "Traceparent"

type key struct{}

// Of returns the trace context of a request, and "" if it has none or one that is not valid, which
// counts as none.
func Of(h http.Header) string {
	values := h.Values(Header)
	if len(values) != 1 || !valid(values[0]) {
		return ""
	}
	return values[0]
}

// With returns a context for what is done under a trace context. An empty one changes nothing.
func With(ctx context.Context, parent string) context.Context {
	if parent == "" {
		return ctx
	}
	return context.WithValue(ctx, key{}, parent)
}

// Set adds the trace context of ctx, if it has one, to the header of a request that is sent.
func Set(ctx context.Context, h http.Header) {
	if parent, ok := ctx.Value(key{}).(string); ok {
		h.Set(Header, parent)
	}
}

// valid reports whether a text is version-trace-parent-flags, as lower-case hex digits. Versions
// after 00 may have more behind them.
func valid(s string) bool {
	const length = len("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if len(s) < length || len(s) > 512 || len(s) > length && (s[:2] == "00" || s[length] != '-') {
		return false
	}
	for i, c := range []byte(s) {
		switch {
		case i == 2 || i == 35 || i == 52:
			if c != '-' {
				return false
			}
		case i >= length:
			if c <= ' ' || c > '~' {
				return false
			}
		case !strings.ContainsRune("0123456789abcdef", rune(c)):
			return false
		}
	}
	return s[:2] != "ff" && strings.Trim(s[3:35], "0") != "" && strings.Trim(s[36:52], "0") != ""
}
