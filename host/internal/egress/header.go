package egress

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/host/internal/guesttext"
)

// connectionHeaders are the headers that the host's client sets itself, as they are
// about the connection and the length of the body. A guest that sets them could say
// something else than what was checked and what is sent. They are left out, since
// common libraries set them for no reason of the plugin's. Others that begin with
// Proxy- are too.
var connectionHeaders = map[string]bool{
	"Connection": true, "Content-Length": true, "Expect": true, "Host": true, "Http2-Settings": true, "Keep-Alive": true,
	"Te": true, "Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

// maxName bounds the name of a header in an error, in bytes.
const maxName = 160

// SetHeaders adds the headers that a guest states to those of a request, except for those
// of the connection. A malformed one is an error: no library makes one, and what it
// smuggles in is nothing to guess about. Of names that differ in case only, the same
// one wins every time.
func SetHeaders(to http.Header, stated map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(stated)) {
		if !headerName(name) {
			return fmt.Errorf("header %q: the name is malformed", guesttext.Clip(name, maxName))
		}
		if !headerValue(stated[name]) { // which may be a secret
			return fmt.Errorf("header %q: the value has a line break or another control character", guesttext.Clip(name, maxName))
		}
		key := http.CanonicalHeaderKey(name)
		if connectionHeaders[key] || strings.HasPrefix(key, "Proxy-") {
			continue
		}
		to.Set(key, stated[name])
	}
	return nil
}

// headerName reports whether a text is a token of RFC 9110.
func headerName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// headerValue reports whether a text has no control characters but tabs.
func headerValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// harmlessHeaders are the headers of a guest that a redirect to another origin takes
// along. They say what kind of answer is wanted. Any other may be a credential,
// whatever its name.
var harmlessHeaders = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "Accept-Language": true,
	"Content-Encoding": true, "Content-Language": true, "Content-Type": true, "User-Agent": true,
}

// LeaveOrigin takes what a guest shows to one server out of a request by which a
// redirect leads to another scheme, host or port, and out of all that follow: each hop
// begins with the headers of the first request. A redirect from https to http is not
// followed: all could read what was meant for one. The error is a [Refusal].
//
// net/http leaves out Authorization and Cookie only, goes by the host alone, and
// trusts all hosts below it.
func LeaveOrigin(req *http.Request, via []*http.Request) error {
	if last := via[len(via)-1].URL; last.Scheme == "https" && req.URL.Scheme != "https" {
		return &Refusal{
			What:   fmt.Sprintf("http redirect from https to %q", guesttext.Line(req.URL.Scheme+"://"+req.URL.Host)),
			Remedy: "have the server redirect to https",
		}
	}
	if leavesOrigin(req, via) {
		maps.DeleteFunc(req.Header, func(name string, _ []string) bool { return !harmlessHeaders[name] })
		req.URL.User = nil
	}
	return nil
}

// leavesOrigin reports whether a redirect or one before it leads to another scheme, host or
// port than the first request.
func leavesOrigin(req *http.Request, via []*http.Request) bool {
	first := via[0].URL
	other := func(u *url.URL) bool { return u.Scheme != first.Scheme || !strings.EqualFold(u.Host, first.Host) }
	return other(req.URL) || slices.ContainsFunc(via, func(r *http.Request) bool { return other(r.URL) })
}
