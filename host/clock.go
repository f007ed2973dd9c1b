package host

import "time"

// clockStart is when the program began.
var clockStart = time.Now()

// clock is the time since then. Deadlines of calls are kept by it, as it takes
// half of what time.Now does: that reads the wall clock beside.
func clock() time.Duration { return time.Since(clockStart) }
