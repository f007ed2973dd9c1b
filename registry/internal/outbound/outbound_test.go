package outbound

import "testing"

// TestAddresses states what is refused after a redirect.
func TestAddresses(t *testing.T) {
	for text, want := range map[string]bool{"8.8.8.8": false, "2606:4700::1": false, "127.0.0.1": true, "::1": true, "192.168.1.1": true, "172.20.0.1": true,
		"fd00::1": true, "169.254.169.254": true, "::ffff:10.0.0.1": true, "224.0.0.1": true, "0.1.2.3": true, "100.100.100.200": true} {
		if got := private(addresses(t.Context(), text)[0]); got != want {
			t.Errorf("%s: private is %v", text, got)
		}
	}
}
