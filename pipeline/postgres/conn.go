package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/puddle/v2"

	"github.com/anchor-host/anchor-host/internal/observe"
	"github.com/anchor-host/anchor-host/store"
)

const (
	// tries is how often a transaction runs that others disturb.
	tries = 6
	// firstPause is about how long the second try waits; each later one waits twice as long.
	firstPause = 5 * time.Millisecond
)

// setTenant says whose rows a transaction sees, until its end.
const setTenant = "SELECT set_config('anchor.tenant', $1, true)"

// reader is where a call reads.
func (s *Store) reader(ctx context.Context) *pgxpool.Pool {
	if s.replica != nil && store.IsStale(ctx) {
		return s.replica
	}
	return s.pool
}

// circuitOf is the circuit of a pool.
func (s *Store) circuitOf(pool *pgxpool.Pool) *circuit {
	if pool == s.replica {
		return &s.replicaCircuit
	}
	return &s.circuit
}

// acquire takes a connection. Errors mean that nothing was sent.
func (s *Store) acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	if s.closed.Load() {
		return nil, store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := s.circuitOf(pool).allow(); err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	c, err := pool.Acquire(wait)
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, puddle.ErrClosedPool):
		return nil, store.ErrClosed
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, store.ErrVersion), errors.Is(err, store.ErrInvalid):
		return nil, err
	case pool.Stat().AcquiredConns() >= pool.Stat().MaxConns():
		said := &serverError{text: fmt.Sprintf("all %d connections are in use", s.opts.Pool)}
		return nil, fmt.Errorf("%w: %w (try again, or raise store.pool)", store.ErrBusy, said)
	}
	said := code(err)
	s.circuitOf(pool).note(said != "" && said != codeStarting)
	if said == "" { // it broke while it was made
		err = &brokenError{err}
	}
	return nil, err
}

// using runs f on a connection. Once f runs, it ends only with the timeout of the store, because a write
// that was sent cannot be taken back.
func (s *Store) using(ctx context.Context, pool *pgxpool.Pool, f func(context.Context, *pgx.Conn) error) error {
	c, err := s.acquire(ctx, pool)
	if err != nil {
		return err
	}
	defer func() {
		if c.Conn().IsClosed() {
			c.Hijack() // the driver waits 15 seconds for the end of a lost connection; its place is free at once
			return
		}
		c.Release()
	}()
	err = f(ctx, c.Conn())
	if err != nil && ctx.Err() != nil {
		return err // the caller has given up, which says nothing of the server
	}
	s.circuitOf(pool).note(!lost(err) && !c.Conn().IsClosed())
	if c.Conn().IsClosed() {
		pool.Reset() // the other connections are of the same server
		if err != nil && code(err) == "" {
			err = &brokenError{err}
		}
	}
	return err
}

// again runs f until it succeeds, or fails for good.
func (s *Store) again(ctx context.Context, f func() error, retriable func(error) bool) error {
	pause := firstPause
	for try := 1; ; try++ {
		err := f()
		if err == nil || try == tries || !retriable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause/2 + rand.N(pause)):
		}
		pause *= 2
	}
}

// disturbed reports whether others have ended a transaction, which had no effect.
func disturbed(err error) bool {
	c := code(err)
	return c == codeSerialization || c == codeDeadlock
}

// read runs f, which changes nothing.
func (s *Store) read(ctx context.Context, pool *pgxpool.Pool, f func(context.Context, *pgx.Conn) error) (err error) {
	ctx, span := observe.Begin(ctx, observe.Work{Kind: observe.Store, Name: "read"})
	defer func() { span.End(observe.Result{Err: err}) }()
	err = s.again(ctx, func() error {
		return s.using(ctx, pool, func(ctx context.Context, c *pgx.Conn) error {
			limited, cancel := context.WithTimeout(ctx, s.opts.Timeout+grace)
			defer cancel()
			return f(limited, c)
		})
	}, func(err error) bool {
		return disturbed(err) || ctx.Err() == nil && lost(err) && !errors.Is(err, store.ErrBusy)
	})
	if ctx.Err() != nil && err != nil {
		return ctx.Err()
	}
	return err
}

// write runs f, which makes one transaction. If it is not known whether that was committed, the error
// is [store.ErrUnknown]. begun is how f says that a commit was sent.
func (s *Store) write(ctx context.Context, f func(ctx context.Context, c *pgx.Conn, begun *bool) error) (err error) {
	ctx, span := observe.Begin(ctx, observe.Work{Kind: observe.Store, Name: "write"})
	defer func() { span.End(observe.Result{Err: err}) }()
	return s.again(ctx, func() error {
		begun := false
		err := s.using(ctx, s.pool, func(ctx context.Context, c *pgx.Conn) error {
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Timeout+grace)
			defer cancel()
			err := f(limited, c, &begun)
			if err != nil && c.PgConn().TxStatus() != 'I' && !c.IsClosed() {
				_, _ = c.Exec(limited, "ROLLBACK") // if it fails, the pool closes the connection
			}
			return err
		})
		if begun && err != nil && lost(err) && !unsent(err) {
			return fmt.Errorf("%w: the connection broke during the commit: %w (read to find out)", store.ErrUnknown, brief(err))
		}
		return err
	}, func(err error) bool { // what broke before the commit had no effect
		return disturbed(err) || !errors.Is(err, store.ErrUnknown) && !errors.Is(err, store.ErrBusy) && lost(err)
	})
}
