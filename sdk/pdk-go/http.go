package pdk

import (
	"cmp"
	"slices"
	"time"

	"github.com/anchor-host/anchor-host/sdk/pdk-go/internal/imports"
)

// HTTPRequest is a request for the host to send.
type HTTPRequest struct {
	// Method is GET when empty.
	Method string
	// URL must be absolute, and its host must be granted.
	URL string
	// Header has one value per name. The host sets the headers of the connection, such as
	// Host and Content-Length. A malformed header ends the call.
	Header map[string]string
	Body   []byte
	// Timeout is the time, in whole milliseconds, after which there is no answer. The plugin
	// can then go on without it. 0: the request may take all the time of the call, and the
	// call ends with that time.
	Timeout time.Duration
}

// HTTPResponse is the answer of a server.
type HTTPResponse struct {
	// Status is 0 if there is no answer.
	Status int
	// Header has names in lower case.
	Header map[string]string
	Body   []byte
	// Error says why there is no answer: timeout, dns, connect, certificate, tls, reset,
	// short_body, too_large, network.
	Error string
}

// MaxBatch is the number of requests that [HTTPBatch] takes at most.
const MaxBatch = 32

// HTTP sends a request through the host. It needs the permission http. The host checks the
// method, host name and address of the request and of every redirect. A request that is not
// granted ends the call. If no server answers, HTTP returns an error that says why in a word of
// [HTTPResponse.Error], and the host logs the cause. An answer is never an error, whatever its status.
func HTTP(r HTTPRequest) (*HTTPResponse, error) {
	if err := r.complete(); err != nil {
		return nil, err
	}
	resp := HTTPResponse(imports.HTTP(imports.HTTPRequest(r)))
	if resp.Status == 0 {
		return nil, Errorf("http: %s %s: no answer: %s", r.Method, r.URL, cmp.Or(resp.Error, "network"))
	}
	return &resp, nil
}

// HTTPBatch sends up to [MaxBatch] requests at the same time, and returns their answers in the
// same order when all have ended. An answer with Status 0 is none, and its Error says why. The
// host's limits for bodies hold for those of the whole batch. If one of the requests is not
// granted, none is sent and the call ends. An older host, and other Extism hosts, refuse a
// plugin that uses HTTPBatch.
func HTTPBatch(rs []HTTPRequest) ([]HTTPResponse, error) {
	if len(rs) > MaxBatch {
		return nil, Errorf("http: %d requests at once (send at most %d)", len(rs), MaxBatch)
	}
	asked := make([]imports.HTTPRequest, len(rs))
	for i, r := range rs {
		if err := r.complete(); err != nil {
			return nil, err
		}
		asked[i] = imports.HTTPRequest(r)
	}
	got, err := imports.HTTPBatch(asked)
	if err != nil || len(got) != len(rs) {
		return nil, Errorf("http: the host answered %d of %d requests: %v", len(got), len(rs), err)
	}
	answers := make([]HTTPResponse, len(got))
	for i, a := range got {
		answers[i] = HTTPResponse(a)
	}
	return answers, nil
}

// complete fills in the method and checks it.
func (r *HTTPRequest) complete() error {
	if r.Method == "" {
		r.Method = "GET"
	}
	switch {
	case !slices.Contains(imports.HTTPMethods, r.Method):
		return Errorf("http: method %q is not supported (use one of %v)", r.Method, imports.HTTPMethods)
	case r.Timeout < 0:
		return Errorf("http: timeout %v is negative (leave it out for none)", r.Timeout)
	}
	return nil
}

// Get sends a GET request.
func Get(url string) (*HTTPResponse, error) { return HTTP(HTTPRequest{URL: url}) }
