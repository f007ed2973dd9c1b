package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/testbuild"
)

// What the command has at most. Whoever needs more says why: each hook of a coding agent starts the command.
const (
	maxCommand = 61_300_000 // bytes of the file
	maxInits   = 40_000     // objects that packages allocate before main
)

// A template that calls methods, or a large table made at the start, is noticed.
func TestFootprint(t *testing.T) {
	command := testbuild.Command(t)
	info, err := os.Stat(command)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxCommand {
		t.Errorf("the command has %d bytes, allowed %d (a template or reflection that names methods keeps all of them: go build -ldflags=-dumpdep lists ReflectMethod)", info.Size(), maxCommand)
	}
	cmd := exec.CommandContext(t.Context(), command, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	total, packages := 0, 0
	for line := range strings.Lines(stderr.String()) {
		var name, at, took string
		var bytes, objects int
		if n, _ := fmt.Sscanf(line, "init %s %s ms, %s ms clock, %d bytes, %d allocs", &name, &at, &took, &bytes, &objects); n == 5 {
			total, packages = total+objects, packages+1
		}
	}
	if packages < 100 || total > maxInits {
		t.Errorf("%d packages allocate %d objects before main, allowed %d:\n%s", packages, total, maxInits, stderr.String())
	}
	t.Logf("%d bytes, %d packages, %d objects before main", info.Size(), packages, total)
}
