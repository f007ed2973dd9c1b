package outbound

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/registry/internal/kind"
)

// TestAddresses states what is refused after a redirect.
func TestAddresses(t *testing.T) {
	for text, want := range map[string]bool{"8.8.8.8": false, "2606:4700::1": false, "127.0.0.1": true, "::1": true, "192.168.1.1": true, "172.20.0.1": true,
		"fd00::1": true, "169.254.169.254": true, "::ffff:10.0.0.1": true, "224.0.0.1": true, "0.1.2.3": true, "100.100.100.200": true} {
		if got := private(addresses(t.Context(), text)[0]); got != want {
			t.Errorf("%s: private is %v", text, got)
		}
	}
}

// TestNear asks hosts that pass for this machine: without TLS only loopback addresses are reached.
func TestNear(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	transport := New(nil, &tls.Config{MinVersion: tls.VersionTLS12})
	defer transport.Close()
	transport.Near = func(string) bool { return true }
	for name, through := range map[string]http.RoundTripper{"client": transport, "direct": transport.Direct()} {
		client := &http.Client{Transport: through}
		if answer, err := client.Head(server.URL); err != nil || answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: this machine: %v", name, err)
		}
		_, err := client.Head("http://192.0.2.1:5000/v2/")
		if !errors.Is(err, kind.ErrUnreachable) || !strings.Contains(err.Error(), "192.0.2.1:5000 is no address of this machine") {
			t.Errorf("%s: another machine: %v", name, err)
		}
	}
}
