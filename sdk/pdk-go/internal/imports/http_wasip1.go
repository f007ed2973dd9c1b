package imports

import (
	"encoding/json"
	"time"

	extism "github.com/extism/go-pdk"
)

//go:wasmimport extism:host/env http_request
func httpRequest(request, body uint64) uint64

//go:wasmimport extism:host/env http_status_code
func httpStatusCode() int32

//go:wasmimport extism:host/env http_headers
func httpHeaders() uint64

//go:wasmimport extism:host/user anchor_http_batch
func httpBatch(requests uint64) uint64

// stated is a request in the document that the host reads.
type stated struct {
	URL       string            `json:"url"`
	Method    string            `json:"method"`
	Headers   map[string]string `json:"headers,omitempty"`
	Body      uint64            `json:"body,omitempty"`
	TimeoutMS int64             `json:"timeout_ms,omitempty"`
}

func state(r HTTPRequest) stated {
	// A part of a millisecond is one: 0 would be no timeout.
	ms := (r.Timeout + time.Millisecond - 1) / time.Millisecond
	return stated{URL: r.URL, Method: r.Method, Headers: r.Header, TimeoutMS: int64(ms)}
}

// block puts bytes into a block of the host, 0 for none.
func block(b []byte) uint64 {
	if len(b) == 0 {
		return 0
	}
	m := extism.AllocateBytes(b)
	return m.Offset()
}

// unblock returns the bytes of a block, nil for handle 0, and frees the block.
func unblock(handle uint64) []byte {
	if handle == 0 {
		return nil
	}
	m := extism.FindMemory(handle)
	defer m.Free()
	return m.ReadBytes()
}

// document puts a document into a block of the host.
func document(v any) uint64 {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return block(b)
}

// HTTP sends a request. Status 0 means that there was no answer.
func HTTP(r HTTPRequest) HTTPResponse {
	resp := HTTPResponse{Body: unblock(httpRequest(document(state(r)), block(r.Body))), Status: int(httpStatusCode())}
	if b := unblock(httpHeaders()); b != nil {
		_ = json.Unmarshal(b, &resp.Header) // the host writes it
	}
	if resp.Status == 0 {
		resp.Error, resp.Header = resp.Header["anchor-error"], nil
	}
	return resp
}

// HTTPBatch sends requests at the same time. The answers are in the order of the requests.
func HTTPBatch(rs []HTTPRequest) ([]HTTPResponse, error) {
	var d struct {
		Requests []stated `json:"requests"`
	}
	d.Requests = make([]stated, len(rs))
	for i, r := range rs {
		d.Requests[i] = state(r)
		d.Requests[i].Body = block(r.Body)
	}
	var got struct {
		Responses []struct {
			Status  int               `json:"status"`
			Headers map[string]string `json:"headers"`
			Body    uint64            `json:"body"`
			Error   string            `json:"error"`
		} `json:"responses"`
	}
	if err := json.Unmarshal(unblock(httpBatch(document(d))), &got); err != nil {
		return nil, err
	}
	answers := make([]HTTPResponse, 0, len(rs))
	for _, r := range got.Responses {
		answers = append(answers, HTTPResponse{Status: r.Status, Header: r.Headers, Body: unblock(r.Body), Error: r.Error})
	}
	return answers, nil
}
