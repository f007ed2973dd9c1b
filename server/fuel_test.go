package server

import (
	"testing"

	"github.com/anchor-host/anchor-host/pipeline"
)

// Steps that fail are paid for like others.
func TestFuelOfFailures(t *testing.T) {
	var c call
	c.addFuel(&pipeline.Diagnostics{
		Steps: []pipeline.StepDiagnostic{{Fuel: 10}, {}, {Fuel: 5}}, StepFailures: []pipeline.StepFailure{{Fuel: 100}},
	})
	if c.usage.Fuel != 115 {
		t.Errorf("%d", c.usage.Fuel)
	}
}
