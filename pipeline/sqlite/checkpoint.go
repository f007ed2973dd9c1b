package sqlite

import (
	"cmp"
	"context"
	"fmt"

	"github.com/anchor-host/anchor-host/store"
)

// Checkpoint copies the write-ahead log into the file and empties the log, so that neither
// contains deleted records. It returns [store.ErrBusy] if another connection is reading or
// writing. The log then keeps its content until a later checkpoint, or until the last
// process that has the store open closes it.
func (s *Store) Checkpoint(ctx context.Context) error {
	if err := s.checkpoint(ctx); err != nil {
		return s.fail(err, "empty the log")
	}
	return nil
}

func (s *Store) checkpoint(ctx context.Context) error {
	select {
	case <-s.closing:
		return store.ErrClosed
	default:
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.writer == nil {
		return errReadOnly
	}
	if err := s.sameFile(); err != nil {
		return err
	}
	c, err := openConn(s.uri, busyPragma(busySlice), fmt.Sprintf("synchronous = %s", s.opts.Sync))
	if err != nil {
		return err
	}
	busy, _, err := c.number("PRAGMA wal_checkpoint(TRUNCATE)")
	err = cmp.Or(err, c.close())
	s.keepReserve()
	if err == nil && busy != 0 {
		err = fmt.Errorf("%w: another connection holds the log", store.ErrBusy)
	}
	return err
}
