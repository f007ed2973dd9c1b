package offered

import (
	"strings"
	"testing"
)

// What AssemblyScript imports without the options of plugin build has a remedy of its own.
func TestHintsForAssemblyScript(t *testing.T) {
	for name, want := range map[string]string{
		"abort":       "--use abort=anchor/host/abort",
		"console.log": "log.info of ./anchor/index",
		"seed":        "no random numbers",
		"extism_x":    "the host offers the modules",
	} {
		if got := Hint(OldEnv, name); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
