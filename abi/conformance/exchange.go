package conformance

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Exchange is an HTTP request that a plugin is expected to send, and the response that it gets.
type Exchange struct {
	Request  ExchangeRequest  `json:"request"`
	Response ExchangeResponse `json:"response"`
}

// ExchangeRequest describes requests. Absent members are not compared.
type ExchangeRequest struct {
	// Method is GET if it is absent.
	Method string `json:"method,omitempty"`
	// URL is the whole URL. * stands for any characters. Required.
	URL string `json:"url"`
	// Headers are some of the headers, by names in any case. In them and in Body, *** stands for
	// any characters.
	Headers map[string]string `json:"headers,omitempty"`
	// Body is the body: a text, or another JSON value that the body must equal as JSON.
	Body json.RawMessage `json:"body,omitempty"`
	// BodyBase64 is a body that is no text, in base64.
	BodyBase64 string `json:"body_base64,omitempty"`
}

// ExchangeResponse is a response, or none.
type ExchangeResponse struct {
	// Status is 200 if it is absent.
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Body is the body: a text, or another JSON value, which is sent as JSON.
	Body json.RawMessage `json:"body,omitempty"`
	// BodyBase64 is a body that is no text, in base64.
	BodyBase64 string `json:"body_base64,omitempty"`
	// Error says that there is no response: timeout, dns, connect, certificate, tls, reset,
	// short_body, too_large or network.
	Error string `json:"error,omitempty"`
}

// exchangeErrors are the values of ExchangeResponse.Error.
var exchangeErrors = []string{"timeout", "dns", "connect", "certificate", "tls", "reset", "short_body", "too_large", "network"}

// Bytes returns the body of a response.
func (r *ExchangeResponse) Bytes() []byte {
	if b, err := base64.StdEncoding.DecodeString(r.BodyBase64); err == nil && r.BodyBase64 != "" {
		return b
	}
	return bodyOf(r.Body)
}

// bodyOf is the body that a JSON value stands for.
func bodyOf(raw json.RawMessage) []byte {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []byte(text)
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil { // there is none
		return nil
	}
	return b.Bytes()
}

func checkExchanges(list []Exchange) error {
	for i, e := range list {
		switch r := e.Response; {
		case e.Request.URL == "":
			return fmt.Errorf("http[%d]: the request has no url", i)
		case r.Status != 0 && (r.Status < 100 || r.Status > 999):
			return fmt.Errorf("http[%d]: status %d (want 100 to 999)", i, r.Status)
		case r.Error != "" && !slices.Contains(exchangeErrors, r.Error):
			return fmt.Errorf("http[%d]: error %.100q (want one of %s)", i, r.Error, strings.Join(exchangeErrors, ", "))
		case checkBase64(r.Body != nil, r.BodyBase64) != nil:
			return fmt.Errorf("http[%d]: response.body_base64: %w", i, checkBase64(r.Body != nil, r.BodyBase64))
		case checkBase64(e.Request.Body != nil, e.Request.BodyBase64) != nil:
			return fmt.Errorf("http[%d]: request.body_base64: %w", i, checkBase64(e.Request.Body != nil, e.Request.BodyBase64))
		case r.Error != "" && (r.Status != 0 || r.Headers != nil || r.Body != nil || r.BodyBase64 != ""):
			return fmt.Errorf("http[%d]: error says that there is no response (leave out the others)", i)
		}
	}
	return nil
}

// matches reports whether a request is the expected one.
func (r *ExchangeRequest) matches(method, url string, header func(name string) string, body []byte) bool {
	want := r.Method
	if want == "" {
		want = "GET"
	}
	if !strings.EqualFold(want, method) || !likeText(r.URL, url) {
		return false
	}
	for name, value := range r.Headers {
		if !likeHidden(value, header(name)) {
			return false
		}
	}
	var text string
	switch {
	case r.BodyBase64 != "":
		return r.BodyBase64 == base64.StdEncoding.EncodeToString(body)
	case r.Body == nil:
		return true
	case json.Unmarshal(r.Body, &text) == nil:
		return likeHidden(text, string(body))
	}
	var a, b any
	return json.Unmarshal(r.Body, &a) == nil && json.Unmarshal(body, &b) == nil && likeValue(a, b)
}

// likeValue reports whether a JSON value is the expected one. In texts *** stands for any
// characters.
func likeValue(want, got any) bool {
	switch w := want.(type) {
	case string:
		g, ok := got.(string)
		return ok && likeHidden(w, g)
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(w, g, likeValue)
	case map[string]any:
		g, ok := got.(map[string]any)
		return ok && maps.EqualFunc(w, g, likeValue)
	}
	return reflect.DeepEqual(want, got)
}

// likeText reports whether a text fits a pattern in which * stands for any characters.
func likeText(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	return likeParts(parts, text)
}

// likeParts reports whether a text consists of parts, two at least, with any characters between
// them.
func likeParts(parts []string, text string) bool {
	rest, ok := strings.CutPrefix(text, parts[0])
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return ok && len(rest) >= len(last) && strings.HasSuffix(rest, last)
}

// maxUnlisted is how many requests without a response are remembered.
const maxUnlisted = 5

// Exchanges answer the requests of a guest. They are safe for concurrent use.
type Exchanges struct {
	list []Exchange
	// inOrder says that of several exchanges for a request each is used once, in their order,
	// and the last one for all further requests.
	inOrder bool

	mu       sync.Mutex
	used     []bool
	unlisted []string
}

// NewExchanges returns exchanges of which the first one that fits answers a request.
func NewExchanges(list []Exchange) *Exchanges {
	return &Exchanges{list: list, used: make([]bool, len(list))}
}

// ErrUnlisted is the error of a request that no exchange answers.
var ErrUnlisted = errors.New("no response is listed for this request, and tests send none")

// Respond returns the response to a request. header returns the value of a header by its name.
// Errors: ErrUnlisted.
func (e *Exchanges) Respond(method, url string, header func(name string) string, body []byte) (*ExchangeResponse, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	found := -1
	for i := range e.list {
		if !e.list[i].Request.matches(method, url, header, body) {
			continue
		}
		if found = i; !e.inOrder || !e.used[i] {
			break
		}
	}
	if found < 0 {
		text := fmt.Sprintf("%.10s %.300s", method, url)
		if len(e.unlisted) < maxUnlisted && !slices.Contains(e.unlisted, text) {
			e.unlisted = append(e.unlisted, text)
		}
		return nil, fmt.Errorf("%s %s: %w", method, url, ErrUnlisted)
	}
	e.used[found] = true
	return &e.list[found].Response, nil
}

// Unlisted returns the first requests that no exchange answered.
func (e *Exchanges) Unlisted() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.unlisted)
}

// problem says what a case expected and the guest did not do, "" for nothing.
func (e *Exchanges) problem() string {
	if list := e.Unlisted(); len(list) > 0 {
		return fmt.Sprintf("sent %s, which the case does not list in http", strings.Join(list, ", "))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := slices.Index(e.used, false); i >= 0 {
		r := &e.list[i].Request
		method := r.Method
		if method == "" {
			method = "GET"
		}
		return fmt.Sprintf("did not send %.10s %.300s, which the case expects (http[%d])", method, r.URL, i)
	}
	return ""
}

// exchangesKey is the key of the exchanges of a context.
type exchangesKey struct{}

// ExchangesOf returns the exchanges that a case of the author states for the calls under ctx,
// nil if it states none.
func ExchangesOf(ctx context.Context) *Exchanges {
	e, _ := ctx.Value(exchangesKey{}).(*Exchanges)
	return e
}
