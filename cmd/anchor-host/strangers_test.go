package main

import (
	"strings"
	"testing"
)

// A client starts hook and mcp in folders of others, so a configuration there is not read, not even to be refused.
func TestConfigurationsOfStrangersAreNotRead(t *testing.T) {
	storeFolder(t, nil)
	t.Chdir(write(t, map[string]string{"anchor.yaml": "a stranger wrote: {this\n"}))
	if code, _, stderr := run(t, "", "mcp"); code != codeOK {
		t.Errorf("mcp: code %d: %s", code, stderr)
	}
	if code, _, stderr := run(t, "", "mcp", "--config", "anchor.yaml"); code == codeOK || !strings.Contains(stderr, "anchor.yaml") {
		t.Errorf("mcp with the file named: code %d: %s", code, stderr)
	}
}
