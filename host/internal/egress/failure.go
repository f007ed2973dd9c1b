package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/guesttext"
)

// Failure is the error of a request that a server, the network or the embedder's transport
// failed.
type Failure struct {
	// Method and URL are those of the request, or of the redirect that failed. The URL has no
	// password.
	Method, URL string
	// Err is the cause.
	Err error
}

// Error names the request and the cause.
func (f *Failure) Error() string { return fmt.Sprintf("http %s %s: %v", f.Method, f.URL, f.Err) }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// lateError is the cause of a failure whose request had a time of its own.
type lateError struct{ after time.Duration }

func (e lateError) Error() string { return fmt.Sprintf("no answer within %v", e.after) }

// lateKey is the key of the time that a request has of its own.
type lateKey struct{}

// Late returns the error of a request whose own time is over, so that a transport which only
// plays a slow server need not wait for it. ctx is that of the request. Late returns nil if the
// request has no time but that of its call.
func Late(ctx context.Context) error {
	if after, ok := ctx.Value(lateKey{}).(time.Duration); ok {
		return lateError{after}
	}
	return nil
}

// Word is the cause in one of the words that guests are told: timeout, dns, connect,
// certificate, tls, reset, short_body, too_large or network.
func (f *Failure) Word() string {
	var late lateError
	var name *net.DNSError
	var dial *net.OpError
	var cert *tls.CertificateVerificationError
	text := f.Err.Error()
	switch {
	case errors.As(f.Err, &late):
		return "timeout"
	case errors.As(f.Err, &name):
		return "dns"
	case errors.As(f.Err, &dial) && dial.Op == "dial":
		return "connect"
	case errors.As(f.Err, &cert):
		return "certificate"
	case strings.Contains(text, "tls: "), strings.Contains(text, "TLS handshake"), strings.Contains(text, "HTTP response to HTTPS client"):
		return "tls" // net/http and crypto/tls have no types for most of these
	case errors.Is(f.Err, io.ErrUnexpectedEOF):
		return "short_body"
	case errors.Is(f.Err, syscall.ECONNRESET), errors.Is(f.Err, syscall.EPIPE), errors.Is(f.Err, io.EOF):
		return "reset"
	case strings.Contains(text, "response headers exceeded"):
		return "too_large"
	}
	return "network"
}

// failed returns the Refusal or the TooLarge that err wraps, or else the Failure of the request or redirect.
func failed(req *http.Request, err error) error {
	var r *Refusal
	var large *TooLarge
	switch {
	case errors.As(err, &r):
		return r
	case errors.As(err, &large):
		return large
	}
	f := &Failure{Method: req.Method, URL: req.URL.Redacted(), Err: err}
	if hop, ok := errors.AsType[*url.Error](err); ok {
		f.Err = hop.Err
		if u, err := url.Parse(hop.URL); err == nil && u.Host != "" { // it may be what a server stated
			f.Method, f.URL = strings.ToUpper(hop.Op), u.Redacted()
		}
	}
	return f
}

// Remedy says which server was not reached, and what to check. It is for an operator, whose
// plugin is not at fault.
func (f *Failure) Remedy() string {
	host := "the host"
	if u, err := url.Parse(f.URL); err == nil {
		host = fmt.Sprintf("host %q", guesttext.Clip(u.Hostname(), maxName))
	}
	var name *net.DNSError
	var dial *net.OpError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.As(f.Err, &name) && name.IsNotFound:
		return host + " has no address: check the name, and the name server of this machine"
	case errors.As(f.Err, &name):
		return "the name server of this machine did not resolve " + host + ": check it and the network"
	case errors.As(f.Err, &dial) && dial.Op == "dial":
		return host + " could not be reached: check that it serves this port, and the network"
	case errors.As(f.Err, &cert):
		return host + " has a certificate that this machine does not trust: check both"
	}
	return host + " or the network failed the request, not the plugin"
}
