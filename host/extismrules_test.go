package host_test

import (
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/host"
)

// Status 1, which means no change in the contract, is a failure of a function outside of it.
func TestStatusOfForeignFunctions(t *testing.T) {
	for _, function := range []string{"status_1", "output_then_fail"} {
		_, err := load(t, newHost(t, host.Config{}), "extism-rules", host.PluginConfig{}).Call(t.Context(), function, nil)
		if perr := checkReason(t, err, abi.ReasonGuestError); !strings.Contains(perr.Error(), "status 1 without a message") {
			t.Errorf("%s: error %v", function, perr)
		}
	}
}
