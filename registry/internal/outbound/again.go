package outbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/internal/plain"
)

const (
	// MaxRetries is how often a request is sent again.
	MaxRetries = 4
	// maxPause is the longest wait before a request is sent again. A registry that asks for a
	// longer one is not asked again.
	maxPause = 30 * time.Second
)

// again sends a request again where that can help.
type again struct{ from }

func (a again) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	for try := range MaxRetries {
		answer, err := a.from.RoundTrip(req)
		if ctx.Err() != nil || !passing(answer, err) {
			return answer, err
		}
		wait := a.pause(try, answer)
		if wait > maxPause || rewind(req) != nil {
			return answer, err
		}
		if answer != nil {
			_ = answer.Body.Close() // nothing is read from it
		}
		if until, bounded := ctx.Deadline(); answer != nil && bounded && time.Until(until) < wait {
			return nil, errkind.As(context.DeadlineExceeded, fmt.Errorf("%s: a wait of %s is longer than --timeout allows (raise it, or try again later)", did(answer), wait))
		}
		a.tell(req, answer, wait)
		if sleep(ctx, wait) != nil {
			return nil, context.Cause(ctx)
		}
	}
	return a.from.RoundTrip(req)
}

// passing says whether a failure may pass.
func passing(answer *http.Response, err error) bool {
	if err != nil {
		var network net.Error
		return errors.As(err, &network) && network.Timeout() || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrUnexpectedEOF)
	}
	return answer.StatusCode == http.StatusRequestTimeout || answer.StatusCode == http.StatusTooManyRequests || answer.StatusCode >= 500
}

// pause is how long to wait before a request is sent again.
func (a again) pause(try int, answer *http.Response) time.Duration {
	wait := a.Pause << try
	wait += rand.N(wait/4 + 1)
	if answer != nil {
		wait = max(wait, RetryAfter(answer.Header))
	}
	return wait
}

// rewind makes the body of a request one that was not read.
func rewind(req *http.Request) (err error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil
	}
	if req.GetBody == nil {
		return errors.New("the body cannot be sent again")
	}
	req.Body, err = req.GetBody()
	return err
}

// tell says why nothing happens for a while. Nobody notices less than a second.
func (a again) tell(req *http.Request, answer *http.Response, wait time.Duration) {
	if a.Tell == nil || answer != nil && wait < time.Second {
		return
	}
	a.Tell(fmt.Sprintf("%s: %s: asks again in %s", plain.Line(req.URL.Host), did(answer), wait.Round(100*time.Millisecond)))
}

// did says what a server did that is asked again.
func did(answer *http.Response) string {
	if answer == nil {
		return "gives no answer"
	}
	return fmt.Sprintf("answers %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
}

// RetryAfter is how long a registry asks to wait, 0 if it does not say. A time that it names is counted
// from the time of its answer, because its clock may be an hour ahead of this one.
func RetryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		if now, err := http.ParseTime(h.Get("Date")); err == nil {
			return max(0, at.Sub(now))
		}
		return max(0, time.Until(at).Round(time.Second))
	}
	return 0
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
