package imagestore

import (
	"os"
	"strings"
	"sync"
)

// Boot identifies the start of the system. The guest's monotonic clock goes on in every process
// that sees the same one. It is "" if the system does not tell. Tests replace it.
var Boot = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, _ := os.Readlink("/proc/self/ns/time") // a container may have its own monotonic clock
	return strings.TrimSpace(string(id)) + " " + space
})
