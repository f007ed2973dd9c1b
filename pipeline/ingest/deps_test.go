package ingest_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestCoreStaysLight holds that programs that do not ingest get none of the parsers.
func TestCoreStaysLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "../...").Output()
	if err != nil {
		t.Skip(err)
	}
	if !strings.Contains(string(out), "golang.org/x/net/html") {
		t.Fatal("the list lacks what package ingest imports")
	}
	out, err = exec.Command("go", "list", "-deps", "..", "../agent", "../retrieve", "../sqlite", "../../store", "../../tokens").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.Lines(string(out)) {
		if dep = strings.TrimSpace(dep); strings.Contains(dep, "pipeline/ingest") || strings.HasPrefix(dep, "golang.org/x/net") || strings.HasPrefix(dep, "go.yaml.in") {
			t.Errorf("the core of pipeline imports %s", dep)
		}
	}
}
