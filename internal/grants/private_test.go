package grants

import (
	"errors"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
)

// A private address that private: true does not allow is refused before anything runs.
func TestPrivateAddresses(t *testing.T) {
	for host, refused := range map[string]bool{
		"http://127.0.0.1:9": true, "10.1.2.3": true, "192.168.0.1:8443": true, "http://localhost:8080": true, "[::1]:443": true, "fe80::1": true, "::ffff:10.0.0.1": true,
		"api.example.com": false, "8.8.8.8": false, "*.localhost.example": false, "https://": false,
	} {
		for _, private := range []bool{false, true} {
			err := CheckPrivate(&config.HTTPGrant{Hosts: []string{"a.test", host}, Private: private})
			if (err != nil) != (refused && !private) || err != nil && !errors.Is(err, config.ErrInvalid) {
				t.Errorf("%s, private %v: %v", host, private, err)
			}
		}
	}
	if err := CheckPrivate(nil); err != nil {
		t.Error(err)
	}
}
