package apiclient

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/internal/plain"
)

const (
	// maxProblem bounds what is read of an answer that says what went wrong, in bytes, and
	// maxShown what an error shows of it.
	maxProblem, maxShown = 8 << 10, 200
	// minSecret is the length from which secrets are looked for in texts of servers, in bytes.
	// Shorter ones would be found in every word.
	minSecret = 4
)

// Kind says what an error means for the caller.
type Kind int

// The kinds of errors.
const (
	// Unavailable: the server cannot be reached, or refuses for now.
	Unavailable Kind = iota
	// Timeout: there was no answer in time.
	Timeout
	// Refused: the server refuses this request.
	Refused
	// TooLarge: the answer has more bytes than it may.
	TooLarge
)

// Error is why a request has no answer. Its text has no secret.
type Error struct {
	Kind Kind
	// Status is that of the answer, 0 if there was none.
	Status int

	text  string
	after time.Duration // how long the server asks to wait
	again bool          // a repetition may help
}

// Error says what went wrong and what to do.
func (e *Error) Error() string { return e.text }

// did says what the server did, for a line about the wait before it is asked again.
func (e *Error) did() string {
	if e.Status == 0 {
		return "gives no answer"
	}
	return fmt.Sprintf("answers %d %s", e.Status, http.StatusText(e.Status))
}

// Public says what went wrong without the address of the server and without what it has answered.
func (e *Error) Public() string {
	switch e.Kind {
	case Timeout:
		return "the server gives no answer in time"
	case Refused:
		return "the server refuses the request"
	case TooLarge:
		return e.text
	}
	return "the server cannot be reached, or refuses for now"
}

// refused says what an answer with another status than 200 means.
func (c *Client) refused(answer *http.Response) *Error {
	said, _ := io.ReadAll(io.LimitReader(answer.Body, maxProblem)) // what was read is enough
	e := &Error{Kind: Unavailable, Status: answer.StatusCode}
	remedy := ""
	switch status := answer.StatusCode; {
	case status == http.StatusTooManyRequests:
		e.again, e.after, remedy = true, retryAfter(answer.Header), "it has too many requests: "+c.o.Advice.Busy
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status >= 500:
		e.again, e.after, remedy = true, retryAfter(answer.Header), "try later, or look at the log of the server"
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		remedy = "check key"
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		remedy = "check base_url and model"
	case status >= 300 && status < 400:
		remedy = "redirects are not followed: write the right address as base_url"
	default:
		e.Kind, remedy = Refused, c.o.Advice.Refused
	}
	if longest := max(longestPause, c.o.Timeout); e.after > longest {
		e.again, remedy = false, fmt.Sprintf("it asks to wait %s, at most %s is waited for it: wait as long, or raise timeout", e.after.Round(time.Second), longest)
	}
	e.text = fmt.Sprintf("the server answers %d %s%s (%s)", e.Status, http.StatusText(e.Status), c.problem(said), remedy)
	return e
}

// problem returns what an answer says went wrong, after a colon.
func (c *Client) problem(said []byte) string {
	var form struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	text := string(said)
	if json.Unmarshal(said, &form) == nil {
		var inner struct {
			Message string `json:"message"`
		}
		switch {
		case json.Unmarshal(form.Error, &text) == nil:
		case json.Unmarshal(form.Error, &inner) == nil && inner.Message != "":
			text = inner.Message
		case form.Message != "":
			text = form.Message
		}
	}
	if text = c.Safe(text); text == "" {
		return ""
	}
	return ": " + text
}

// Safe returns a text of a server for an error: short, safe to print, and without the secrets.
func (c *Client) Safe(text string) string {
	for _, s := range c.o.Secrets {
		text = strings.ReplaceAll(text, s, "***")
	}
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return plain.Line(text)
}

// longestFirst returns the secrets to look for, the longest first, because one may be a part of
// another.
func longestFirst(secrets []string) []string {
	all := slices.DeleteFunc(slices.Clone(secrets), func(s string) bool { return len(s) < minSecret })
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// retryAfter returns how long a server asks to wait, 0 if it does not. If it names a time, the wait is
// counted from the time of the answer by the clock of the server: if that is an hour ahead of this one,
// nobody waits for an hour.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return time.Duration(min(s, 1e9) * float64(time.Second)) // more does not fit
	}
	if at, err := http.ParseTime(v); err == nil {
		if now, err := http.ParseTime(h.Get("Date")); err == nil {
			return max(0, at.Sub(now))
		}
		return max(0, time.Until(at))
	}
	return 0
}
