package host

import (
	"errors"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"github.com/anchor-host/anchor-host/abi"
)

// wasi is the system of an instance whose guest gets the WASI functions (wasicalls.go,
// files.go, fixed.go).
type wasi struct {
	*instance
	plugin *Plugin
	// files are the guest's file descriptors, nil if it cannot change them. unwatched says why
	// they cannot be checked for changes. live counts the files that the guest has open.
	files     *descriptors
	unwatched error
	// leftBehind says that a call which was left behind has one of the files, so that the
	// instance must be replaced. hurried says that closing a file took too long.
	leftBehind, hurried bool
	live                int
	// errno is why a mount refused the guest's last request, if wazero cannot express the
	// reason.
	errno wasiErrno
	// fixed replaces the clock and the random numbers, nil if they are real.
	fixed *fixedSources
}

// wasiOf is the WASI state of the instance that a call runs in.
func wasiOf(c *callState) *wasi { return c.inst.system.(*wasi) }

func (w *wasi) configure(cfg wazero.ModuleConfig) wazero.ModuleConfig {
	cfg = cfg.WithFSConfig(fsConfig(w.plugin.mounts, w))
	if w.plugin.cfg.Deterministic {
		w.fixed = newFixedSources()
		return cfg.WithRandSource(w.fixed).
			WithWalltime(w.fixed.walltime, sys.ClockResolution(time.Millisecond)).
			WithNanotime(w.fixed.nanotime, sys.ClockResolution(time.Millisecond))
	}
	cfg = cfg.WithRandSource(randomSource).WithWalltime(w.walltime, sys.ClockResolution(time.Microsecond))
	if bootID() != "" {
		return cfg.WithSysNanotime()
	}
	return cfg.WithNanotime(w.nanotime, sys.ClockResolution(time.Microsecond))
}

func (w *wasi) started(mod api.Module) error {
	if !w.plugin.spec.descriptors {
		return nil
	}
	w.files, w.unwatched = watchDescriptors(w.plugin.engine, mod, len(w.plugin.mounts), &w.live)
	if w.errno != wasiOK { // descriptors may be free later, hence the reason busy
		w.errno = wasiOK
		return &fault{code: abi.ReasonBusy, err: errors.New("no file descriptor is left for its mounts"), remedy: moreFiles}
	}
	return nil
}

func (w *wasi) uncaptured() string {
	switch {
	case w.unwatched != nil:
		return w.unwatched.Error()
	case !w.files.same():
		return "its init leaves files open"
	}
	return ""
}

func (w *wasi) kept() bool { return w.unwatched == nil && w.files.kept() }

func (w *wasi) lost() bool { return w.leftBehind }

func (w *wasi) capture() any {
	if w.fixed == nil {
		return nil
	}
	return *w.fixed
}

func (w *wasi) restore(state any) { *w.fixed = state.(fixedSources) }
