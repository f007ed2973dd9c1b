package audit

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Options are the settings of a [Log].
type Options struct {
	// Path is the file that is written.
	Path string
	// Key signs the heads.
	Key ed25519.PrivateKey
	// MaxBytes is the size from which a file is full. It is then renamed: a dot and the number of
	// its last line are added. 0: 64 MiB.
	MaxBytes int64
	// Keep is the age at which a file that was renamed is deleted. 0: never.
	Keep time.Duration
	// HeadEvery is the time after which a head follows new lines. 0: 30 s.
	HeadEvery time.Duration
	// Logger gets each head, and says when lines cannot be written. nil discards that.
	Logger *slog.Logger
}

// Log writes entries to a file. It is safe for concurrent use. One process at a time writes a file.
//
// If a line cannot be written, such as on a full disk, the line is lost, and [Log.Err] says so until
// lines can be written again. The log then has a line that says how many were lost.
type Log struct {
	options Options
	lock    *flock.Flock
	stop    chan struct{}
	stopped sync.WaitGroup

	mu       sync.Mutex
	file     file // nil if it could not be opened again
	open     func(path string) (file, error)
	size     int64
	limit    int64  // the size from which the file is full
	seq      uint64 // of the last line
	prev     string // its digest
	unsigned int    // lines after the last head
	lost     int64
	failure  error
	tried    time.Time // when writing was tried last, if it fails
	closed   bool
	refusals refusals
	removed  time.Time // when old files were looked for last
}

// file is what a log needs of an [os.File].
type file interface {
	io.WriteCloser
	Truncate(size int64) error
	Sync() error
}

const (
	headLines = 1000 // after which a head follows at once
	retry     = time.Second
)

// ErrClosed is returned for entries that come after the end of the log.
var ErrClosed = errors.New("audit: log is closed")

// Open begins or continues a log. What a crash has left of a line is removed, and the log says so.
func Open(o Options) (*Log, error) {
	return openWith(withDefaults(o), func(path string) (file, error) {
		return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	})
}

func withDefaults(o Options) Options {
	if o.MaxBytes <= 0 {
		o.MaxBytes = 64 << 20
	}
	if o.HeadEvery <= 0 {
		o.HeadEvery = 30 * time.Second
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

func openWith(o Options, open func(path string) (file, error)) (*Log, error) {
	l := &Log{options: o, open: open, limit: o.MaxBytes, lock: flock.New(o.Path+".lock", flock.SetPermissions(0o600)), stop: make(chan struct{})}
	if ok, err := l.lock.TryLock(); err != nil || !ok {
		return nil, fmt.Errorf("audit: lock %s.lock: %w", o.Path, errors.Join(err, errors.New("another process writes this log (give each its own file)")))
	}
	if err := l.start(); err != nil {
		_ = l.lock.Close()
		return nil, err
	}
	l.stopped.Go(l.signNowAndThen)
	return l, nil
}

// start finds the end of the log, repairs it, and writes the first line of this process.
func (l *Log) start() error {
	end, err := findEnd(l.options.Path)
	if err != nil {
		return err
	}
	out, err := l.open(l.options.Path)
	if err != nil {
		return fmt.Errorf("audit: open: %w", err)
	}
	l.file, l.size, l.seq, l.prev = out, end.size, end.seq, end.digest
	if len(end.torn) > 0 {
		err = out.Truncate(end.size)
		if err == nil {
			err = l.write(Entry{Action: "audit.recovered", Object: Digest(end.torn), Outcome: "removed an unfinished line", Count: int64(len(end.torn))})
		}
	}
	if err == nil {
		err = l.write(Entry{Action: "audit.open", Outcome: "ok"})
	}
	if err != nil {
		_ = out.Close()
		return fmt.Errorf("audit: open: %w", err)
	}
	return nil
}

// Append adds an entry. The error says that it is lost.
func (l *Log) Append(e Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	if l.failure != nil && time.Since(l.tried) < retry {
		l.lost++
		return l.failure
	}
	err := l.recover()
	if err == nil {
		err = l.write(e)
	}
	if err != nil {
		l.lost++
		return l.failed(err)
	}
	if l.unsigned >= headLines {
		l.sign()
	}
	return nil
}

// Err returns why lines are lost, nil if they are not. While they are, it tries to write now and
// then.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failure == nil || l.closed || time.Since(l.tried) < retry {
		return l.failure
	}
	if err := l.recover(); err != nil {
		return l.failed(err)
	}
	return nil
}

// failed notes that a line could not be written.
func (l *Log) failed(err error) error {
	if l.failure == nil {
		l.options.Logger.Error("audit: the log cannot be written; lines are lost", "file", l.options.Path, "error", err)
	}
	l.failure, l.tried = fmt.Errorf("audit: write: %w", err), time.Now()
	return l.failure
}

// recover writes how many lines were lost, if there are some.
func (l *Log) recover() error {
	if l.failure == nil {
		return nil
	}
	if l.file == nil {
		out, err := l.open(l.options.Path)
		if err != nil {
			return err
		}
		l.file = out
	}
	if err := l.file.Truncate(l.size); err != nil { // what is left of the line that failed
		return err
	}
	if l.lost > 0 {
		if err := l.write(Entry{Action: "audit.lost", Outcome: "lines could not be written", Count: l.lost}); err != nil {
			return err
		}
	}
	l.options.Logger.Warn("audit: the log is written again", "file", l.options.Path, "lost", l.lost)
	l.lost, l.failure = 0, nil
	return nil
}

// write writes one line, and makes room for it if the file is full.
func (l *Log) write(e Entry) error {
	if l.size >= l.limit {
		if err := l.rotate(); err != nil {
			return err
		}
	}
	return l.put(&line{Entry: e})
}

// put writes a line with its place in the chain.
func (l *Log) put(n *line) error {
	n.Seq, n.Prev, n.Time = l.seq+1, l.prev, time.Now().UTC()
	if n.Head != nil {
		n.Head.Signature = ed25519.Sign(l.options.Key, n.signed())
	}
	data, err := n.encode()
	if err != nil {
		return err
	}
	digest := digestOf(data)
	if l.file == nil {
		return os.ErrClosed
	}
	if _, err := l.file.Write(append(data, '\n')); err != nil {
		_ = l.file.Truncate(l.size) // recover does it again before the next line
		return err
	}
	l.size += int64(len(data)) + 1
	l.seq, l.prev, l.unsigned = n.Seq, digest, l.unsigned+1
	return nil
}

// sign writes a head and waits until the disk has everything.
func (l *Log) sign() {
	if err := l.signHead(); err != nil {
		_ = l.failed(err) // the lines before it are there
	}
}

func (l *Log) signHead() error {
	n := &line{Entry: Entry{Action: "audit.head", Outcome: "ok"}, Head: &head{Key: KeyName(l.options.Key.Public().(ed25519.PublicKey))}}
	if err := l.put(n); err != nil {
		return err
	}
	l.unsigned = 0
	l.options.Logger.Info("audit: head", "file", l.options.Path, "head", Head{l.seq, l.prev}.String())
	return l.file.Sync()
}

// signNowAndThen writes heads until the log is closed.
func (l *Log) signNowAndThen() {
	tick := time.NewTicker(l.options.HeadEvery)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
		}
		l.mu.Lock()
		l.flushRefusals(time.Now())
		if l.unsigned > 0 && l.failure == nil {
			l.sign()
		}
		if l.size > 0 {
			l.removeOld()
		}
		l.mu.Unlock()
	}
}

// rotate ends a file that is full with a head, and begins another one.
func (l *Log) rotate() error {
	if l.unsigned > 0 {
		if err := l.signHead(); err != nil {
			return err
		}
	}
	_ = l.file.Close() // it was synced, and some systems rename no open file
	l.file = nil
	if err := os.Rename(l.options.Path, rotatedName(l.options.Path, l.seq)); err != nil {
		l.options.Logger.Error("audit: a full file cannot be renamed; it grows", "file", l.options.Path, "error", err)
		l.limit = l.size + l.options.MaxBytes
	} else {
		l.size, l.limit = 0, l.options.MaxBytes
	}
	out, err := l.open(l.options.Path)
	if err != nil {
		return err
	}
	l.file = out
	return nil
}

// removeEvery is how often a log looks for files that are too old.
const removeEvery = time.Hour

// removeOld deletes the full files that were last written too long ago. The newest lines are in the
// file that is written, so the log goes on with the right number.
func (l *Log) removeOld() {
	if l.options.Keep <= 0 || time.Since(l.removed) < removeEvery {
		return
	}
	l.removed = time.Now()
	files, err := rotated(l.options.Path)
	if err != nil {
		l.options.Logger.Warn("audit: old files cannot be listed", "error", err)
	}
	for path := range files {
		if info, err := os.Stat(path); err != nil || time.Since(info.ModTime()) <= l.options.Keep {
			continue
		}
		if err := os.Remove(path); err != nil {
			l.options.Logger.Warn("audit: an old file cannot be deleted", "file", path, "error", err)
		} else {
			l.options.Logger.Info("audit: an old file is deleted", "file", path)
		}
	}
}

// Close writes a last head. Entries that come later are refused.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.flushRefusals(time.Now())
	err := l.recover()
	if err == nil && l.unsigned > 0 {
		err = l.signHead()
	}
	l.closed = true
	l.mu.Unlock()
	close(l.stop)
	l.stopped.Wait()
	if l.file != nil {
		err = errors.Join(err, l.file.Close())
	}
	return errors.Join(err, l.lock.Close())
}
