// Package goenv finds the Go standard library for tests that index it.
package goenv

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Sources returns the folder of the standard library's sources.
func Sources(tb testing.TB) string {
	tb.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		tb.Fatalf("go env GOROOT: %v", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "src")
}
