//go:build !wasip1

package pdktest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/sdk/pdk-go"
)

// exchange is one entry of tests/http.json, in the form that "anchor-host plugin test" reads.
type exchange struct {
	Request struct {
		Method  string            `json:"method"`
		URL     string            `json:"url"`
		Headers map[string]string `json:"headers"`
		Body    json.RawMessage   `json:"body"`
	} `json:"request"`
	Response struct {
		Status  int               `json:"status"`
		Headers map[string]string `json:"headers"`
		Body    json.RawMessage   `json:"body"`
		Error   string            `json:"error"`
	} `json:"response"`
}

// Responses reads a file of requests and responses, such as tests/http.json of "anchor-host
// plugin test", for Services.HTTP. The first entry that fits answers a request; * in a URL
// stands for any characters. A request without a response fails the test.
func Responses(tb testing.TB, file string) func(pdk.HTTPRequest) pdk.HTTPResponse {
	tb.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	var list []exchange
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	return func(r pdk.HTTPRequest) pdk.HTTPResponse {
		for i := range list {
			if list[i].answers(&r) {
				return list[i].response()
			}
		}
		tb.Errorf("%s lists no response for %s %s", file, r.Method, r.URL)
		return pdk.HTTPResponse{Error: "network"}
	}
}

// answers reports whether the entry is for a request.
func (e *exchange) answers(r *pdk.HTTPRequest) bool {
	method := e.Request.Method
	if method == "" {
		method = "GET"
	}
	if !strings.EqualFold(method, r.Method) || !fits(e.Request.URL, r.URL) {
		return false
	}
	stated := http.Header{}
	for name, value := range r.Header {
		stated.Set(name, value)
	}
	for name, value := range e.Request.Headers {
		if stated.Get(name) != value {
			return false
		}
	}
	var text string
	switch {
	case e.Request.Body == nil:
		return true
	case json.Unmarshal(e.Request.Body, &text) == nil:
		return text == string(r.Body)
	}
	var want, got any
	return json.Unmarshal(e.Request.Body, &want) == nil && json.Unmarshal(r.Body, &got) == nil && reflect.DeepEqual(want, got)
}

// fits reports whether a text fits a pattern in which * stands for any characters.
func fits(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
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
	if json.Unmarshal(e.Response.Body, &text) == nil {
		r.Body = []byte(text)
	} else if json.Compact(&b, e.Response.Body) == nil {
		r.Body, r.Header["content-type"] = b.Bytes(), "application/json"
	}
	for name, value := range e.Response.Headers {
		r.Header[strings.ToLower(name)] = value
	}
	return r
}
