package imports

import (
	"encoding/json"
	"net/url"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/egress"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
)

// errorHeader is the name under which a guest finds why a request of http_request has no answer.
const errorHeader = "anchor-error"

// maxServer bounds the name of a server in the log, in bytes.
const maxServer = 200

// warnUnanswered logs why a request has no answer. It names the server without the path, which may
// hold secrets.
func warnUnanswered(c *guest.Call, f *egress.Failure) {
	server := "a server"
	if u, err := url.Parse(f.URL); err == nil {
		server = guesttext.Clip(u.Host, maxServer)
	}
	unsaid, due := of(c).unanswered.Due([2]string{server, f.Word()}, time.Now())
	if !due {
		return
	}
	args := []any{"server", server, "reason", f.Word(), "error", guesttext.Line(f.Err.Error())}
	if unsaid > 0 {
		args = append(args, "unsaid", unsaid)
	}
	c.Instance.Env.Log.WarnContext(c.Context, "http request has no answer", args...)
}

// errorHeaders is the document of headers of a request without an answer.
func errorHeaders(f *egress.Failure) []byte {
	doc, err := json.Marshal(map[string]string{errorHeader: f.Word()})
	if err != nil {
		return nil
	}
	return doc
}
