package wasi

import (
	"errors"
	"io"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"github.com/anchor-host/anchor-host/host/internal/mounts"
)

// Call is what the functions need of the call that a guest is in. All calls of one guest are
// one Call after the other. Where a method ends the call, it panics with a reason that wazero
// returns as the error of the call.
type Call interface {
	mounts.Call
	// Spend charges the call for work of the host, in fuel. It ends a call without fuel or
	// without time.
	Spend(fuel int64)
	// Stop ends the call if its time is over.
	Stop()
	// Leave gives the processor back before the call may block.
	Leave()
	// Rejoin takes a processor after Leave. It ends the call if its time is over.
	Rejoin()
	// Sleep waits for so many nanoseconds, without the processor. It ends the call if its
	// time is over.
	Sleep(ns int64)
}

// Options say what a guest sees.
type Options struct {
	// OutputBytes is how much of the guest's output is kept for one call.
	OutputBytes int
	// Mounts are the guest's folders. They may be used until the guest is closed.
	Mounts *mounts.Set
	// Deterministic replaces clocks and random numbers by ones that are the same in every
	// guest.
	Deterministic bool
	// Random provides the random numbers, unless Deterministic is true.
	Random io.Reader
	// Uptime is the guest's monotonic clock. nil: the one of the system, which goes on in
	// the next process.
	Uptime func() time.Duration
	// Timeless says that the state of the guest does not depend on the time of day, although
	// the guest reads it.
	Timeless bool
}

// State is what one guest and the modules linked to it see through WASI. It belongs to one
// goroutine at a time. Init must come first.
type State struct {
	// Output is what the guest wrote to stdout, stderr and the log.
	Output Output

	options Options
	call    Call
	files   mounts.Guest
	// watched are the guest's descriptors, nil if it cannot change them. unknown says why
	// they cannot be checked for changes.
	watched *descriptors
	unknown error
	// fixed replaces the clocks and the random numbers, nil if they are real.
	fixed *Sources
	// readClock says that the guest read a clock that may show another time in the next
	// process.
	readClock bool
}

// Init prepares the state of a new guest, whose calls are call.
func (s *State) Init(call Call, o Options) {
	s.options, s.call = o, call
	s.Output.limit = o.OutputBytes
	s.files = mounts.NewGuest(call, &s.Output)
	if o.Deterministic {
		s.fixed = newSources()
	}
}

// Configure adds what the guest sees to the configuration of one of its modules.
func (s *State) Configure(cfg wazero.ModuleConfig) wazero.ModuleConfig {
	cfg = cfg.WithStdout(&s.Output).WithStderr(&s.Output).WithNanosleep(s.call.Sleep).WithFSConfig(s.options.Mounts.Config(&s.files))
	if s.fixed != nil {
		return cfg.WithRandSource(s.fixed).
			WithWalltime(s.fixed.walltime, sys.ClockResolution(time.Millisecond)).
			WithNanotime(s.fixed.nanotime, sys.ClockResolution(time.Millisecond))
	}
	cfg = cfg.WithRandSource(s.options.Random).WithWalltime(s.walltime, sys.ClockResolution(time.Microsecond))
	if s.options.Uptime == nil {
		return cfg.WithSysNanotime()
	}
	return cfg.WithNanotime(s.nanotime, sys.ClockResolution(time.Microsecond))
}

// walltime is the wall clock of the guest.
func (s *State) walltime() (int64, int32) {
	s.readClock = s.readClock || !s.options.Timeless
	t := time.Now()
	return t.Unix(), int32(t.Nanosecond())
}

// nanotime is the monotonic clock of the guest where it may start anew in the next process.
func (s *State) nanotime() int64 {
	s.readClock = true
	return int64(s.options.Uptime())
}

// ReadClock reports whether the guest read a clock that may show another time in the next
// process.
func (s *State) ReadClock() bool { return s.readClock }

// ErrNoDescriptor says that a guest cannot start because no file descriptor is left for its
// mounts.
var ErrNoDescriptor = errors.New("no file descriptor is left for its mounts")

// Watch notes the descriptors of a new guest that can change them, so that [State.Kept] can
// tell whether it did. visible says that the host can look at descriptors. The error is
// [ErrNoDescriptor].
func (s *State) Watch(mod api.Module, visible bool) error {
	s.watched, s.unknown = watch(mod, visible, s.options.Mounts.Len(), &s.files)
	if s.files.TakeErrno() != mounts.OK {
		return ErrNoDescriptor
	}
	return nil
}

// Uncaptured says why the state of the guest cannot be captured, "" if it can.
func (s *State) Uncaptured() string {
	switch {
	case s.unknown != nil:
		return s.unknown.Error()
	case !s.watched.same():
		return "its init leaves files open"
	}
	return ""
}

// Kept reports whether calls have left the files as they were when Watch noted them. If not,
// the guest cannot be reset.
func (s *State) Kept() bool { return s.unknown == nil && s.watched.kept() }

// Abandoned reports whether a call of the embedder's code that has not returned has one of
// the guest's files. The guest must not be used again.
func (s *State) Abandoned() bool { return s.files.Abandoned() }

// Sources returns a copy of the clocks and random numbers of a deterministic guest, nil if
// they are real.
func (s *State) Sources() *Sources {
	if s.fixed == nil {
		return nil
	}
	c := *s.fixed
	return &c
}

// SetSources makes the clocks and random numbers of a deterministic guest go on from where
// they were at from, which it does not change. nil changes nothing.
func (s *State) SetSources(from *Sources) {
	if s.fixed != nil && from != nil {
		*s.fixed = *from
	}
}
