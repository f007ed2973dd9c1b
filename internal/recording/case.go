package recording

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/conformance"
	"github.com/anchor-host/anchor-host/host/record"
	"github.com/anchor-host/anchor-host/internal/appendjson"
)

// errNoRequest is the error of a call without a document.
var errNoRequest = errors.New("the request is longer than the bound, or the plugin has only the batch lane")

// Case makes a case of a call. An error says why the call cannot be repeated.
func Case(name string, c record.Call) (*conformance.OwnCase, error) {
	switch {
	case c.LeftOut > 0:
		return nil, fmt.Errorf("the call took more than %d bytes with what it asked the host for", record.MaxBytes)
	case c.Err == "" && !c.NoChange && len(c.Answer) == 0:
		return nil, errors.New("the plugin gave no answer")
	}
	request, settings, err := split(c.Request)
	if err != nil {
		return nil, err
	}
	out := &conformance.OwnCase{Name: name, Plugin: c.Module, Operation: c.Operation, Request: request, Settings: settings, Log: c.Log}
	if out.Init, err = object(c.Init); err != nil {
		return nil, err
	}
	if len(out.Init) == 0 {
		out.Init = nil
	}
	if len(c.Config) > 0 {
		out.Config = c.Config
	}
	for i := range c.HTTP {
		out.HTTP = append(out.HTTP, exchange(&c.HTTP[i]))
	}
	for _, s := range c.Services {
		out.Services = append(out.Services, conformance.ServiceCall{Service: s.Name, Request: s.Request, Answer: s.Answer})
	}
	for _, n := range c.Counts {
		t := conformance.TokenCount{Text: n.Text, Count: n.Tokens}
		if !slices.Contains(out.Tokens, t) {
			out.Tokens = append(out.Tokens, t)
		}
	}
	out.KV, out.Expect.Stored = values(c.KV)
	switch {
	case c.Err != "":
		out.Expect.Error, _, _ = strings.Cut(c.Err, "\n")
	case c.NoChange:
		out.Expect.NoChange = true
	default:
		out.Expect.Output = c.Answer
	}
	return out, nil
}

// split takes the settings out of a request.
func split(doc []byte) (request json.RawMessage, settings map[string]any, err error) {
	if doc == nil {
		return nil, nil, errNoRequest
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(doc, &members); err != nil {
		return nil, nil, err
	}
	if settings, err = object(members["settings"]); err != nil {
		return nil, nil, err
	}
	if settings == nil {
		settings = map[string]any{}
	}
	delete(members, "settings")
	request, err = appendjson.Append(nil, members)
	return request, settings, err
}

// object reads a JSON object with its numbers as they are, nil for none.
func object(doc []byte) (out map[string]any, err error) {
	if len(doc) == 0 {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	err = d.Decode(&out)
	return out, err
}

// values are what the store held before a call, and after it of what the call stored. Without a
// use of the store they are nil.
func values(uses []record.KV) (before, after []conformance.Value) {
	read, stored := map[string][]byte{}, map[string][]byte{}
	for _, u := range uses {
		if u.Set {
			stored[u.Key] = u.Value
		} else if _, own := stored[u.Key]; !own {
			read[u.Key] = u.Value
		}
	}
	if len(uses) > 0 {
		before = []conformance.Value{}
	}
	for _, key := range slices.Sorted(maps.Keys(read)) {
		if len(read[key]) > 0 {
			before = append(before, conformance.NewValue(key, read[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(stored)) {
		after = append(after, conformance.NewValue(key, stored[key]))
	}
	return before, after
}

// exchange is an HTTP request in the form of cases.
func exchange(h *record.HTTP) conformance.Exchange {
	e := conformance.Exchange{Request: conformance.ExchangeRequest{Method: h.Method, URL: h.URL, Headers: h.Headers}}
	e.Request.Body, e.Request.BodyBase64 = body(h.Body)
	if h.Failure != "" {
		e.Response.Error = h.Failure
		return e
	}
	e.Response.Status = h.Status
	e.Response.Body, e.Response.BodyBase64 = body(h.ResponseBody)
	for name, value := range h.ResponseHeaders {
		if !slices.Contains(transportHeaders, strings.ToLower(name)) {
			if e.Response.Headers == nil {
				e.Response.Headers = map[string]string{}
			}
			e.Response.Headers[name] = value
		}
	}
	return e
}

// transportHeaders are headers of a response that are about its connection or its time.
var transportHeaders = []string{"connection", "content-encoding", "content-length", "date", "keep-alive", "transfer-encoding"}

// body is a body in the form of cases: JSON if that gives the same bytes, otherwise a text, or
// base64 for other bytes.
func body(b []byte) (value json.RawMessage, other string) {
	var compact bytes.Buffer
	switch {
	case len(b) == 0:
		return nil, ""
	case b[0] != '"' && json.Compact(&compact, b) == nil && bytes.Equal(compact.Bytes(), b):
		return b, ""
	case utf8.Valid(b):
		value, _ = appendjson.Append(nil, string(b)) // a text
		return value, ""
	}
	return nil, base64.StdEncoding.EncodeToString(b)
}

// recorded reports whether calls of an export can be cases.
func recorded(op abi.Operation) bool {
	_, ok := abi.LookupOperation(op)
	return ok && op != abi.OpInit
}
