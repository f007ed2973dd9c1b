package host_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/host"
)

// stock is what a guest could take from the host and from the process.
type stock struct {
	instances, memory int64
	descriptors       int
	goroutines        goleak.Option
}

// takeStock counts what there is, once that is there which the process opens for all hosts.
func takeStock(t *testing.T, h *host.Host) stock {
	t.Helper()
	if _, _, err := h.Strategy(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := stock{descriptors: descriptors(), goroutines: goleak.IgnoreCurrent()}
	s.instances, s.memory = host.Usage(h)
	return s
}

// descriptors is how many files the process has open, where the system tells, but for
// those that the runtime of Go opens when it first waits for something.
func descriptors() (n int) {
	open, _ := os.ReadDir("/proc/self/fd")
	for _, d := range open {
		file, err := os.Readlink("/proc/self/fd/" + d.Name())
		if err == nil && !strings.HasPrefix(file, "anon_inode:[event") {
			n++
		}
	}
	return n
}

// missing says what is not back where it was. Descriptors may be fewer: what others
// left goes at any time.
func (s stock) missing(h *host.Host) error {
	if instances, memory := host.Usage(h); instances != s.instances || memory != s.memory {
		return fmt.Errorf("the host holds %d instances and %d bytes (want %d and %d)", instances, memory, s.instances, s.memory)
	}
	if n := descriptors(); n > s.descriptors {
		return fmt.Errorf("%d descriptors are open (want %d)", n, s.descriptors)
	}
	return goleak.Find(s.goroutines)
}

// checkStock checks that everything is back where it was: soon, as some of it is given
// back beside the call.
func checkStock(t *testing.T, h *host.Host, s stock) {
	t.Helper()
	end := time.Now().Add(badLimit)
	err := s.missing(h)
	for err != nil && time.Now().Before(end) {
		time.Sleep(5 * time.Millisecond)
		err = s.missing(h)
	}
	if err != nil {
		t.Error(err)
	}
}

// until waits for what happens soon. what says what that is.
func until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(badLimit); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain until %s", badLimit, what)
		}
	}
}

// checkTime checks how long a misdeed took. One that is ended by the clock ends with its
// time, others long before the clock would end them.
func checkTime(t *testing.T, took, limit time.Duration, clock bool) {
	t.Helper()
	switch {
	case clock && took < limit:
		t.Errorf("ended after %v (want its %v)", took, limit)
	case clock && took > limit+slackOfEnd:
		t.Errorf("ended after %v (want its %v and at most %v more)", took, limit, slackOfEnd)
	case !clock && took > limit/2:
		t.Errorf("ended after %v (want far less than its %v)", took, limit)
	}
}

// slackOfEnd is by how much a call may end late on a machine that others load. How punctual calls
// are is for benchmarks and attacks.
const slackOfEnd = time.Minute
