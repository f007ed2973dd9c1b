package docs_test

import (
	"bytes"
	"os/exec"
	"testing"
)

// What a stranger sees first of the pipeline is three screens of 50 lines.
func TestPipelineIsThreeScreens(t *testing.T) {
	cmd := exec.Command("go", "doc", "./pipeline")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(out, []byte("\n")); lines < 20 || lines > 150 {
		t.Errorf("go doc ./pipeline has %d lines, want at most 150", lines)
	}
}
