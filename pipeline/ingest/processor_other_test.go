//go:build !unix

package ingest_test

import (
	"testing"
	"time"
)

// began is when the process began, about.
var began = time.Now()

// processorTime is the time since then, as this system does not say what the process has used.
func processorTime(testing.TB) time.Duration { return time.Since(began) }
