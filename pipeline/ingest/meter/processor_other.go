//go:build !unix

package meter

import "time"

// began is when the process began, about.
var began = time.Now()

// processorTime is the time since the process began, as this system does not say what it has used.
func processorTime() time.Duration { return time.Since(began) }
