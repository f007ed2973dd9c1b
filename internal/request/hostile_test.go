package request

import (
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/testkit/hostile"
)

// An attack on a part of a request says nothing if the part has another name now.
func TestAttacksNameKeysThatExist(t *testing.T) {
	meant := map[string]bool{"unknown keys": true, "blanks": true}
	for name, attack := range hostile.Requests {
		_, _, err := Read(t.Context(), "request", []byte(attack(2000)), config.Default())
		if err != nil && strings.Contains(err.Error(), "unknown key") && !meant[name] {
			t.Errorf("%s: %.200v", name, err)
		}
	}
}
