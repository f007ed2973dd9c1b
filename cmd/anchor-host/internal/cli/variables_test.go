package cli

import (
	"runtime"
	"slices"
	"testing"
)

// A hint names the variable that was meant: one without its section, with other letters, or none at all.
func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	got := UnknownVariables([]string{
		"PATH=/", "ANCHOR_HOST_CONFIG=x", "ANCHOR_HOST_SERVER_LISTEN=x", "ANCHOR_HOST_LISTEN=x", "ANCHOR_HOST_ADMIN_LISTEN=x", "ANCHOR_HOST_PORT=tcp://10.0.0.1:80", "ANCHOR_HOST_",
	})
	want := []string{
		"ANCHOR_HOST_LISTEN is no setting (did you mean ANCHOR_HOST_SERVER_LISTEN?)",
		"ANCHOR_HOST_ADMIN_LISTEN is no setting (did you mean ANCHOR_HOST_SERVER_ADMIN_LISTEN?)",
		"ANCHOR_HOST_PORT is no setting",
		"ANCHOR_HOST_ is no setting",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := UnknownVariables([]string{"ANCHOR_HOST_Server_Listen=x"}); (len(got) == 0) != (runtime.GOOS == "windows") {
		t.Errorf("other letters: %q", got)
	}
}
