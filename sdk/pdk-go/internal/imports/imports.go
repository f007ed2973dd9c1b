// Package imports is the SDK's way to the host: the functions of Extism through
// go-pdk, and the host services of anchor-host beside them. Outside Wasm, where
// there is no host, [Stub] stands in, so that everything compiles and tests
// under plain Go.
package imports

// Level is a log level as Extism numbers them.
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
