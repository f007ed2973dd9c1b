package mounts

import (
	"errors"
	"syscall"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/wazerox/experimentalsys"
)

// Call is what mounts need of the call that a guest is in.
type Call interface {
	// Run runs f, which is code of the embedder, until the time of the call is over, and
	// returns what f returns. A panic of f is an error. If f does not return in time, or
	// too many such functions have not returned yet, Run returns an error at once. abandoned
	// says that f still runs; once it returns, late gets its value, unless late is nil. The
	// value that late gets is nil if f failed.
	Run(f func() (any, error), late func(any)) (v any, abandoned bool, err error)
	// Close runs f, which closes a file of the embedder, until the time of the call is
	// over, or for patience if it already is. overdue says that it was, and that f still
	// runs.
	Close(f func() error, patience time.Duration) (overdue bool)
}

// Log is the log of a guest.
type Log interface {
	// Line adds a message and reports whether there was room for it.
	Line(level, message string) bool
}

// Guest is what the mounts of a plugin keep of one guest. It belongs to one goroutine at a
// time.
type Guest struct {
	call Call
	log  Log
	// open is the number of files that the guest has open.
	open int
	// errno is why a mount refused the last request, if wazero cannot express the reason.
	errno Errno
	// abandoned says that a call of the embedder's code that has not returned has one of
	// the files.
	abandoned bool
	// impatient says that a file could not be closed in the time for that, so nobody waits
	// for further ones.
	impatient bool
}

// NewGuest returns what the mounts keep of a new guest. The guest's calls are call, one after
// the other. Its log gets a line when a folder is full.
func NewGuest(call Call, log Log) Guest { return Guest{call: call, log: log} }

// Open returns how many files the guest has open in its mounts, the mounts themselves among
// them.
func (g *Guest) Open() int { return g.open }

// Abandoned reports whether a call of the embedder's code that has not returned has one of
// the guest's files. The guest must not be used again.
func (g *Guest) Abandoned() bool { return g.abandoned }

// TakeErrno returns why a mount refused the last request, if wazero cannot express the
// reason, else [OK]. Until the next refusal it returns OK.
func (g *Guest) TakeErrno() Errno {
	n := g.errno
	g.errno = OK
	return n
}

// refuse returns the error number of an error. If wazero has no name for the number, it
// reaches the guest through g.errno instead.
func (g *Guest) refuse(err error) experimentalsys.Errno {
	if err == nil {
		return 0
	}
	for _, known := range []struct {
		err error
		no  Errno
	}{
		{errPluginFiles, TooManyFiles}, {errProcessFiles, TooManyFilesOfAll}, {errFull, QuotaExceeded},
		{syscall.EMFILE, TooManyFiles}, {syscall.ENFILE, TooManyFilesOfAll}, {syscall.EDQUOT, QuotaExceeded},
		{syscall.ENOSPC, NoSpace}, {syscall.EFBIG, FileTooLarge},
	} {
		if errors.Is(err, known.err) {
			g.errno = known.no
			return experimentalsys.EIO
		}
	}
	return errnoOf(err)
}
