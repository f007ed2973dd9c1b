package pdk

import (
	"slices"

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
}

// HTTPResponse is the answer of a server.
type HTTPResponse struct {
	Status int
	// Header has names in lower case.
	Header map[string]string
	Body   []byte
}

// HTTP sends a request through the host. It needs the permission http. The host checks the
// method, host name and address of the request and of every redirect. A request that is not
// granted ends the call. If no server answers, HTTP returns an error, and the host logs the
// cause. An answer is never an error, whatever its status.
func HTTP(r HTTPRequest) (*HTTPResponse, error) {
	if r.Method == "" {
		r.Method = "GET"
	}
	if !slices.Contains(imports.HTTPMethods, r.Method) {
		return nil, Errorf("http: method %q is not supported (use one of %v)", r.Method, imports.HTTPMethods)
	}
	resp := HTTPResponse(imports.HTTP(imports.HTTPRequest(r)))
	if resp.Status == 0 {
		return nil, Errorf("http: %s %s: no answer (the log of the host says why)", r.Method, r.URL)
	}
	return &resp, nil
}

// Get sends a GET request.
func Get(url string) (*HTTPResponse, error) { return HTTP(HTTPRequest{URL: url}) }
