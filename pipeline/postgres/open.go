package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/anchor-host/anchor-host/internal/storeurl"
	"github.com/anchor-host/anchor-host/store"
)

// The defaults of the options.
const (
	// DefaultPool is the number of connections of a store. More make a server with few processors slower.
	DefaultPool = 16
	// DefaultTimeout is how long a statement may run, and how long a call waits for a connection.
	DefaultTimeout = 10 * time.Second
	// DefaultIndexCache is how many bytes of collections a store keeps in memory.
	DefaultIndexCache = 512 << 20
	// MaxPool bounds the number of connections.
	MaxPool = 1000

	// minVersion is the first version of the server that this package is tested for.
	minVersion = 14
	// grace is how much longer than a statement the client waits, so that the server answers first.
	grace = 2 * time.Second
	// maxAge is how old a connection becomes. Each new one looks at the version of the schema.
	maxAge = 10 * time.Minute
)

// Options are the settings of a store. The zero value is the safest choice.
type Options struct {
	// Async acknowledges a commit before the disk of the server has it (synchronous_commit = off).
	// A crash of the server may then lose the last commits, but never an earlier one without the
	// later ones.
	Async bool
	// Pool is the greatest number of connections, 1 to MaxPool. Zero means DefaultPool.
	Pool int
	// Timeout is how long a statement may run, and how long a call waits for a free connection.
	// Zero means DefaultTimeout.
	Timeout time.Duration
	// Replica is the URL of a replica, from which calls read whose context allows it; see [store.Stale].
	// Empty means that all calls use the primary.
	Replica string
	// IndexCache is how many bytes of collections [Store.Index] keeps in memory between searches.
	// Zero means DefaultIndexCache.
	IndexCache int64
	// Existing opens only a store that is there and changes no schema.
	Existing bool

	migrations []migration // those of the program; tests have other versions
}

// Store is a [store.Store] in a PostgreSQL database. Close it to release its connections.
type Store struct {
	address string // the URL without its password
	opts    Options
	pool    *pgxpool.Pool
	replica *pgxpool.Pool // nil for none
	// circuits are of the database and of the replica: without the replica the database goes on.
	circuit, replicaCircuit circuit

	closed atomic.Bool
	once   sync.Once
	index  *Index
	*facts
}

var _ store.Store = (*Store)(nil)

// Open opens the store in the database of a URL and makes or updates its tables. Errors name the
// address without its password. Besides the errors of every call, Open may return
// [store.ErrVersion] if a newer program has changed the tables so that this one cannot write them.
func Open(ctx context.Context, address string, opts Options) (*Store, error) {
	s := &Store{address: storeurl.Address(address), opts: opts}
	if err := s.open(ctx, address); err != nil {
		_ = s.Close() // it closes what is open, and never fails
		return nil, s.fail(err, "open")
	}
	return s, nil
}

func (s *Store) open(ctx context.Context, address string) (err error) {
	if err = s.opts.complete(); err != nil {
		return err
	}
	s.makeIndex()
	if s.pool, err = s.connect(ctx, address); err != nil {
		return err
	}
	if s.opts.Replica != "" {
		if s.replica, err = s.connect(ctx, s.opts.Replica); err != nil {
			return fmt.Errorf("store.replica: %w", err)
		}
	}
	return s.prepare(ctx)
}

func (o *Options) complete() error {
	if o.Pool < 0 || o.Pool > MaxPool || o.Timeout < 0 || o.IndexCache < 0 {
		return fmt.Errorf("%w: option outside of its range (pool 1 to %d)", store.ErrInvalid, MaxPool)
	}
	if o.migrations == nil {
		o.migrations = migrations
	}
	o.Pool = cmp.Or(o.Pool, DefaultPool)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.IndexCache = cmp.Or(o.IndexCache, DefaultIndexCache)
	return nil
}

// connect makes a pool. It opens no connection.
func (s *Store) connect(ctx context.Context, address string) (*pgxpool.Pool, error) {
	if !storeurl.Is(address) {
		return nil, fmt.Errorf("%w: not a URL (postgres://USER@HOST/DATABASE)", store.ErrInvalid)
	}
	cfg, err := pgxpool.ParseConfig(address)
	if err != nil { // it may quote the password
		return nil, fmt.Errorf("%w: not a URL of a database (postgres://USER@HOST/DATABASE?sslmode=verify-full)", store.ErrInvalid)
	}
	cfg.MaxConns, cfg.MinConns = int32(s.opts.Pool), 0
	cfg.MaxConnLifetime, cfg.MaxConnLifetimeJitter = maxAge, maxAge/5
	cfg.PingTimeout = s.opts.Timeout
	c := cfg.ConnConfig
	c.ConnectTimeout = min(s.opts.Timeout, 5*time.Second)
	c.DialFunc = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3}}).DialContext
	set := func(name, value string) {
		if c.RuntimeParams[name] == "" {
			c.RuntimeParams[name] = value
		}
	}
	set("application_name", "anchor-host")
	set("search_path", "anchor")
	set("statement_timeout", strconv.FormatInt(s.opts.Timeout.Milliseconds(), 10))
	set("idle_in_transaction_session_timeout", "60000")
	// The server lets go of hosts that are cut off as soon as they let go of it, not after hours.
	set("tcp_keepalives_idle", "10")
	set("tcp_keepalives_interval", "5")
	set("tcp_keepalives_count", "3")
	// Every statement goes by an index. Without this, one that was planned for an empty table would read
	// all of it until the server looks at its size.
	set("enable_seqscan", "off")
	if s.opts.Async {
		set("synchronous_commit", "off")
	}
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error { return s.fits(ctx, c) }
	return pgxpool.NewWithConfig(ctx, cfg)
}

// fits refuses servers that are too old, and a schema that a newer program has made unfit for this one.
func (s *Store) fits(ctx context.Context, c *pgx.Conn) error {
	version := c.PgConn().ParameterStatus("server_version")
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < minVersion {
		return fmt.Errorf("%w: PostgreSQL %s (store.path needs a server of version %d or later)", store.ErrInvalid, version, minVersion)
	}
	v, err := readVersion(ctx, c)
	if err == nil {
		err = v.fits(s.opts.migrations)
	}
	return err
}

// Close implements [store.Store].
func (s *Store) Close() error {
	s.once.Do(func() {
		s.closed.Store(true)
		for _, p := range []*pgxpool.Pool{s.pool, s.replica} {
			if p != nil {
				p.Close()
			}
		}
	})
	return nil
}

// Pool returns the connections of the store, for other tables of this program in the same database.
// Their search path is the schema of the store.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// unsent reports whether an error came before anything was sent to the server.
func unsent(err error) bool {
	return pgconn.SafeToRetry(err) || errors.As(err, new(*pgconn.ConnectError))
}
