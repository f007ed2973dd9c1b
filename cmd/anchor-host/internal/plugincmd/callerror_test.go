package plugincmd

import (
	"errors"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/cmd/anchor-host/internal/cli"
	"github.com/anchor-host/anchor-host/host"
)

// Of settings that begin alike each has its own flag, those without one stay, and
// what a guest says is left alone.
func TestCallErrorNamesFlags(t *testing.T) {
	for remedy, want := range map[string]string{
		"grant it with grants.http":                                               "grant it with --allow-host",
		"grant it with grants.http.hosts":                                         "grant it with --allow-host",
		"grant it with grants.http.private":                                       "grant it with --allow-private",
		"grant it with grants.http.methods":                                       "grant it with --allow-method",
		"raise limits.input or limits.memory":                                     "raise limits.input or --memory-max",
		"raise limits.init_timeout":                                               "raise --timeout",
		"raise limits.memory, or limits.timeout":                                  "raise --memory-max, or --timeout",
		"a fault inside the plugin: its author can reproduce it with plugin call": "a fault inside the plugin",
	} {
		a := &cli.App{}
		err := callError(a, &host.PluginError{Plugin: "p", Code: abi.ReasonGuestError, Err: errors.New("raise limits.fuel"), Remedy: remedy})
		if want := `plugin "p": guest_error: raise limits.fuel (` + want + ")"; err.Error() != want {
			t.Errorf("%v\nwant %s", err, want)
		}
	}
}
