//go:build !wasip1

package pdktest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
)

// exchange is one entry of tests/http.json, in the form that "anchor-host plugin test" reads.
type exchange struct {
	Request struct {
		Method     string            `json:"method"`
		URL        string            `json:"url"`
		Headers    map[string]string `json:"headers"`
		Body       json.RawMessage   `json:"body"`
		BodyBase64 []byte            `json:"body_base64"`
	} `json:"request"`
	Response struct {
		Status     int               `json:"status"`
		Headers    map[string]string `json:"headers"`
		Body       json.RawMessage   `json:"body"`
		BodyBase64 []byte            `json:"body_base64"`
		Error      string            `json:"error"`
	} `json:"response"`
}

// Responses reads a file of requests and responses for Services.HTTP: tests/http.json of
// "anchor-host plugin test", or cases with requests, such as those that "anchor-host plugin call
// --record" saves. The first entry that fits answers a request. Where several entries of a case
// fit, each answers once, and the last one also what follows. * in a URL stands for any
// characters, and *** in a header or a body. A request without a response fails the test.
func Responses(tb testing.TB, file string) func(pdk.HTTPRequest) pdk.HTTPResponse {
	tb.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	list, inOrder, err := exchanges(b)
	if err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	used := make([]bool, len(list))
	return func(r pdk.HTTPRequest) pdk.HTTPResponse {
		found := -1
		for i := range list {
			if !list[i].answers(&r) {
				continue
			}
			if found = i; !inOrder || !used[i] {
				break
			}
		}
		if found < 0 {
			tb.Errorf("%s lists no response for %s %s", file, r.Method, r.URL)
			return pdk.HTTPResponse{Error: "network"}
		}
		used[found] = true
		return list[found].response()
	}
}

// exchanges reads a list of exchanges, or the exchanges of cases, which are used in their order.
func exchanges(b []byte) (list []exchange, inOrder bool, err error) {
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '{' { // one case
		b = append(append([]byte{'['}, b...), ']')
	}
	var cases []struct {
		HTTP []json.RawMessage `json:"http"`
	}
	var entries []json.RawMessage
	if err := json.Unmarshal(b, &entries); err != nil {
		return nil, false, err
	}
	if err := json.Unmarshal(b, &cases); err != nil {
		return nil, false, err
	}
	for _, c := range cases {
		if c.HTTP != nil && !inOrder {
			entries, inOrder = nil, true
		}
		entries = append(entries, c.HTTP...)
	}
	for i, entry := range entries {
		var e exchange
		d := json.NewDecoder(bytes.NewReader(entry))
		d.DisallowUnknownFields()
		if err := d.Decode(&e); err != nil {
			return nil, false, fmt.Errorf("entry %d: %w (want a request with its response, or a case with http)", i, err)
		}
		if e.Request.URL == "" {
			return nil, false, fmt.Errorf("entry %d: the request has no url", i)
		}
		list = append(list, e)
	}
	if entries == nil {
		return nil, false, errors.New("no list of requests with their responses, and no case")
	}
	return list, inOrder, nil
}

// answers reports whether the entry is for a request.
func (e *exchange) answers(r *pdk.HTTPRequest) bool {
	method := e.Request.Method
	if method == "" {
		method = "GET"
	}
	if !strings.EqualFold(method, r.Method) || !fits(e.Request.URL, "*", r.URL) {
		return false
	}
	stated := http.Header{}
	for name, value := range r.Header {
		stated.Set(name, value)
	}
	for name, value := range e.Request.Headers {
		if !fits(value, hidden, stated.Get(name)) {
			return false
		}
	}
	var text string
	switch {
	case e.Request.BodyBase64 != nil:
		return bytes.Equal(e.Request.BodyBase64, r.Body)
	case e.Request.Body == nil:
		return true
	case json.Unmarshal(e.Request.Body, &text) == nil:
		return fits(text, hidden, string(r.Body))
	}
	var want, got any
	return json.Unmarshal(e.Request.Body, &want) == nil && json.Unmarshal(r.Body, &got) == nil && equal(want, got)
}

// hidden stands in recordings in the place of a secret.
const hidden = "***"

// equal reports whether a JSON value is the expected one, whose texts may have secrets hidden.
func equal(want, got any) bool {
	switch w := want.(type) {
	case string:
		g, ok := got.(string)
		return ok && fits(w, hidden, g)
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(w, g, equal)
	case map[string]any:
		g, ok := got.(map[string]any)
		return ok && maps.EqualFunc(w, g, equal)
	}
	return want == got
}

// fits reports whether a text fits a pattern in which sign stands for any characters.
func fits(pattern, sign, text string) bool {
	parts := strings.Split(pattern, sign)
	if len(parts) == 1 {
		return pattern == text
	}
	rest, ok := strings.CutPrefix(text, parts[0])
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(rest, part)
		if !found {
			return false
		}
		rest = after
	}
	return ok && strings.HasSuffix(rest, last)
}

func (e *exchange) response() pdk.HTTPResponse {
	r := pdk.HTTPResponse{Status: e.Response.Status, Header: map[string]string{}, Error: e.Response.Error}
	if r.Error != "" {
		return pdk.HTTPResponse{Error: r.Error}
	}
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
	var text string
	var b bytes.Buffer
	switch {
	case e.Response.BodyBase64 != nil:
		r.Body = e.Response.BodyBase64
	case json.Unmarshal(e.Response.Body, &text) == nil:
		r.Body = []byte(text)
	case json.Compact(&b, e.Response.Body) == nil:
		r.Body, r.Header["content-type"] = b.Bytes(), "application/json"
	}
	for name, value := range e.Response.Headers {
		r.Header[strings.ToLower(name)] = value
	}
	return r
}
