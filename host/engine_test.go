package host_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/host"
)

// A program that does not know its engine keeps no machine code: that of another one
// would pass for its own.
func TestUnknownEngineKeepsNothing(t *testing.T) {
	t.Setenv("ANCHOR_ENGINE_OF_TESTS", "")
	dir := t.TempDir()
	var log bytes.Buffer
	h := newHost(t, host.Config{CacheDir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	load(t, h, "keep-first", host.PluginConfig{})
	load(t, h, "no-change", host.PluginConfig{})
	if files := cacheFiles(t, dir); len(files) != 0 {
		t.Errorf("kept: %v", files)
	}
	if n := strings.Count(log.String(), "does not say which version of github.com/tetratelabs/wazero"); n != 1 && host.Compiles() {
		t.Errorf("it is said %d times:\n%s", n, &log)
	}
}
