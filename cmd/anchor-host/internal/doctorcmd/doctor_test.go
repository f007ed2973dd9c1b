package doctorcmd

import (
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/internal/config"
)

// A configuration that every command refuses, as its model is in Go, is a problem.
func TestPartsInGoAreAProblem(t *testing.T) {
	c := config.Default()
	if f := configurationFinding(c); f.Status != statusOK {
		t.Errorf("%+v", f)
	}
	c.Models = map[string]config.Model{"mine": {Use: "parrot"}}
	if f := configurationFinding(c); f.Status != statusProblem || !strings.Contains(f.Detail, "models.mine.use: parrot") {
		t.Errorf("%+v", f)
	}
}
