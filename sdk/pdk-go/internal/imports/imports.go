// Package imports calls the host: the functions of Extism through go-pdk, and the host
// services of anchor-host. Outside Wasm there is no host, and [Stub] replaces it, so
// that plugins compile and can be tested with plain Go.
package imports

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
}

// HTTPResponse is the answer to a request.
type HTTPResponse struct {
	Status int
	Header map[string]string
	Body   []byte
}

// HTTPMethods are the methods that go-pdk can send.
var HTTPMethods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE"}
