package host_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host"
)

// machineCode is how much memory mappings take that can be run and are not of a file,
// in KiB.
func machineCode(t *testing.T) (sum int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	code := false
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if !strings.HasSuffix(fields[0], ":") {
			code = len(fields) == 5 && fields[1] == "r-xp"
		}
		size := 0
		if _, err := fmt.Sscanf(line, "Rss: %d kB", &size); err == nil && code {
			sum += size
		}
	}
	return sum
}

// The memory of machine code is there again when its last plugin is closed, before any
// collection.
func TestCloseGivesMachineCodeBack(t *testing.T) {
	if portable() {
		t.Skip("wazero gives it back later")
	}
	h := newHost(t, host.Config{})
	closedPlugin(t, h, host.StateReset) // compiles what all plugins share
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before := machineCode(t)
	for last := -1; before != last; last, before = before, machineCode(t) { // what others left goes
		runtime.GC()
		time.Sleep(20 * time.Millisecond)
	}
	first, second := load(t, h, "foreign", host.PluginConfig{}), load(t, h, "foreign", host.PluginConfig{Name: "second"})
	with := machineCode(t)
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Call(t.Context(), "echo", nil); err != nil || with <= before {
		t.Errorf("%d KiB without the plugin, %d with two of it, error %v when one is closed", before, with, err)
	}
	if err := second.Close(t.Context()); err != nil || machineCode(t) > before {
		t.Errorf("%d KiB when both are closed, %d before, error %v", machineCode(t), before, err)
	}
}
