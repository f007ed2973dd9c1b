// Package imports calls the host: the functions of Extism through go-pdk, and the host
// services of anchor-host. Outside Wasm there is no host, and [Stub] replaces it, so
// that plugins compile and can be tested with plain Go.
package imports

import "time"

// Level is a log level with the numbers of Extism.
type Level int32

// The levels.
const (
	LevelTrace Level = iota
	LevelDebug
	LevelInfo
	LevelWarn
	LevelError
)

// HTTPRequest is a request to send.
type HTTPRequest struct {
	Method, URL string
	Header      map[string]string
	Body        []byte
	Timeout     time.Duration
}

// HTTPResponse is the answer to a request. Without an answer Status is 0, and in a batch Error
// says why.
type HTTPResponse struct {
	Status int
	Header map[string]string
	Body   []byte
	Error  string
}

// HTTPMethods are the methods of HTTP.
var HTTPMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE"}
