package imports

import (
	"encoding/json"
	"net/url"
	"sync"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/egress"
	"github.com/anchor-host/anchor-host/host/internal/guest"
	"github.com/anchor-host/anchor-host/host/internal/guesttext"
)

// errorHeader is the name under which a guest finds why a request of http_request has no answer.
const errorHeader = "anchor-error"

const (
	// warnEvery is how often a server that gives no answer is logged, for one reason.
	warnEvery = 10 * time.Second
	// mostWarned bounds the servers and reasons that are known: a plugin may ask many.
	mostWarned = 200
	// maxServer bounds the name of a server in the log, in bytes.
	maxServer = 200
)

// unanswered are requests without an answer: which server and reason was logged when, and how
// often it came since. The zero value is ready.
type unanswered struct {
	mu    sync.Mutex
	kinds map[[2]string]*warned
}

type warned struct {
	at     time.Time
	unsaid int
}

// due reports whether a server is to be logged now, and how often it was not.
func (u *unanswered) due(server, reason string, now time.Time) (unsaid int, due bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := [2]string{server, reason}
	w := u.kinds[key]
	if w == nil {
		if u.kinds == nil || len(u.kinds) >= mostWarned {
			u.kinds = map[[2]string]*warned{}
		}
		u.kinds[key] = &warned{at: now}
		return 0, true
	}
	if now.Sub(w.at) < warnEvery {
		w.unsaid++
		return 0, false
	}
	unsaid, w.at, w.unsaid = w.unsaid, now, 0
	return unsaid, true
}

// warnUnanswered logs why a request has no answer. It names the server without the path, which may
// hold secrets.
func warnUnanswered(c *guest.Call, f *egress.Failure) {
	server := "a server"
	if u, err := url.Parse(f.URL); err == nil {
		server = guesttext.Clip(u.Host, maxServer)
	}
	unsaid, due := of(c).unanswered.due(server, f.Word(), time.Now())
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
