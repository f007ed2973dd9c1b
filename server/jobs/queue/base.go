package queue

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	_ "modernc.org/sqlite" // the driver

	"github.com/anchor-host/anchor-host/pipeline/postgres"
	"github.com/anchor-host/anchor-host/server/jobs"
)

// schemaOf is the schema of the tables in Postgres: they have one of their own beside that of the connection, in which
// there may be a River of others.
func schemaOf(current string) string {
	if current == "public" {
		return "anchor_jobs"
	}
	return current + "_jobs"
}

// scanner reads the values of a row.
type scanner func(into ...any) error

// session runs statements, whose parameters are ?1, ?2 and so on, and whose tables have the prefix {s}.
type session interface {
	exec(ctx context.Context, statement string, args ...any) (int64, error)
	query(ctx context.Context, statement string, row func(scanner) error, args ...any) error
}

// transaction is a session that also inserts jobs.
type transaction interface {
	session
	insert(ctx context.Context, a args, o *river.InsertOpts) (*rivertype.JobInsertResult, error)
}

// base is a database with River's client.
type base interface {
	session
	within(ctx context.Context, work func(transaction) error) error
	migrate(ctx context.Context) error
	// connect makes the client, which runs jobs after start.
	connect(c *river.Config) error
	start(ctx context.Context) error
	// stop ends the running jobs, which go back.
	stop(ctx context.Context) error
	cancel(ctx context.Context, id int64) error
	close()
}

// engine is what both databases have of River. T is the type of a transaction.
type engine[T any] struct {
	driver riverdriver.Driver[T]
	client *river.Client[T]
	schema string
}

func (e *engine[T]) connect(c *river.Config) (err error) {
	c.Schema = e.schema
	e.client, err = river.NewClient(e.driver, c)
	return err
}

func (e *engine[T]) start(ctx context.Context) error { return e.client.Start(ctx) }

func (e *engine[T]) stop(ctx context.Context) error { return e.client.StopAndCancel(ctx) }

func (e *engine[T]) cancel(ctx context.Context, id int64) error {
	_, err := e.client.JobCancel(ctx, id)
	return err
}

// lite is a file of SQLite.
type lite struct {
	engine[*sql.Tx]
	path string
	db   *sql.DB
	liteSession
}

// busy is how long a statement waits for another process, in milliseconds.
const busy = 10_000

func openLite(path string, existing bool) (*lite, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); existing && errors.Is(err, fs.ErrNotExist) {
		return nil, jobs.ErrNotFound
	}
	db, err := openFile(path, "on")
	if err != nil {
		return nil, err
	}
	return &lite{engine: engine[*sql.Tx]{driver: riversqlite.New(db)}, path: path, db: db, liteSession: liteSession{db}}, nil
}

// openFile opens the file with one connection, as River asks for: SQLite runs one statement that writes at a time.
func openFile(path, foreignKeys string) (*sql.DB, error) {
	address := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path)}
	address.RawQuery = fmt.Sprintf("_txlock=immediate&_pragma=busy_timeout(%d)&_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=foreign_keys(%s)", busy, foreignKeys)
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

func (l *lite) close() { _ = l.db.Close() }

// migrate has the file for itself, so that two processes do not both begin. Foreign keys are off: a step of River may
// make a table again, and what refers to it must stay.
func (l *lite) migrate(ctx context.Context) error {
	f, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE, 0o600) // SQLite would let others read it
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	db, err := openFile(l.path, "off")
	if err != nil {
		return err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	m, err := rivermigrate.New(riversqlite.New(db), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if _, err := m.MigrateTx(ctx, tx, rivermigrate.DirectionUp, nil); err != nil { //nolint:staticcheck // the reason of its end, values of enumerations, is one of Postgres
		return err
	}
	for _, statement := range tables("INTEGER", "BLOB") {
		if _, err := (liteSession{tx}).exec(ctx, statement); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func (l *lite) within(ctx context.Context, work func(transaction) error) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	if err := work(liteTx{liteSession{tx}, l.client, tx}); err != nil {
		return err
	}
	return tx.Commit()
}

// runner is what *sql.DB and *sql.Tx have.
type runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

type liteSession struct{ runner }

var liteWords = strings.NewReplacer("{s}", "", "{now}", "datetime('now', 'subsec')")

func (l liteSession) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	done, err := l.ExecContext(ctx, liteWords.Replace(statement), args...)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

func (l liteSession) query(ctx context.Context, statement string, row func(scanner) error, args ...any) error {
	rows, err := l.QueryContext(ctx, liteWords.Replace(statement), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

type liteTx struct {
	liteSession
	client *river.Client[*sql.Tx]
	tx     *sql.Tx
}

func (t liteTx) insert(ctx context.Context, a args, o *river.InsertOpts) (*rivertype.JobInsertResult, error) {
	return t.client.InsertTx(ctx, t.tx, a, o)
}

// shared is a database of Postgres.
type shared struct {
	engine[pgx.Tx]
	pool *pgxpool.Pool
	pgSession
}

// connections is how many a host has for jobs. One holds a lock while others migrate.
const connections = 4

// connectTime bounds the wait for a server that does not answer.
const connectTime = 5 * time.Second

func openPostgres(ctx context.Context, address string, existing bool) (*shared, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return nil, errors.New("the address of the database cannot be read") // err may have the password
	}
	config.MaxConns = connections
	config.ConnConfig.ConnectTimeout = connectTime
	set := config.ConnConfig.RuntimeParams
	set["statement_timeout"] = cmp.Or(set["statement_timeout"], "60000") // that of a role may be meant for people
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	var current string
	var there bool
	err = pool.QueryRow(ctx, "SELECT coalesce(current_schema(), 'public')").Scan(&current)
	schema := schemaOf(current)
	if err == nil && existing {
		if err = pool.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", pgx.Identifier{schema, "anchor_job"}.Sanitize()).Scan(&there); err == nil && !there {
			err = jobs.ErrNotFound
		}
	}
	if err != nil {
		pool.Close()
		return nil, err
	}
	words := strings.NewReplacer("{s}", pgx.Identifier{schema}.Sanitize()+".", "{now}", "now()", "?", "$")
	return &shared{engine: engine[pgx.Tx]{driver: riverpgxv5.New(pool), schema: schema}, pool: pool, pgSession: pgSession{pool, words}}, nil
}

func (p *shared) close() { p.pool.Close() }

// migrationLock is the key of the lock that hosts take before they bring the tables up to date.
const migrationLock = 0x616e63686f72 // "anchor"

func (p *shared) migrate(ctx context.Context) error {
	lock, err := p.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer lock.Release()
	if _, err := lock.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(migrationLock)); err != nil {
		return err
	}
	defer func() { // the end of the connection unlocks it, too
		_, _ = lock.Exec(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock($1)", int64(migrationLock))
	}()
	if _, err := p.pool.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{p.schema}.Sanitize()); err != nil {
		return err
	}
	m, err := rivermigrate.New(p.driver, &rivermigrate.Config{Schema: p.schema, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	if _, err := m.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	for _, statement := range tables("BIGINT", "BYTEA") {
		if _, err := p.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

func (p *shared) within(ctx context.Context, work func(transaction) error) error {
	worked := false
	err := pgx.BeginFunc(ctx, p.pool, func(tx pgx.Tx) error {
		err := work(pgTx{pgSession{tx, p.words}, p.client, tx})
		worked = err == nil
		return err
	})
	if worked && postgres.Broke(err) {
		return fmt.Errorf("%w: the connection broke during the commit: %w", jobs.ErrUnknown, err)
	}
	return err
}

// pgRunner is what pools and transactions have.
type pgRunner interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

type pgSession struct {
	pgRunner
	words *strings.Replacer // of what statements have in curly brackets
}

func (p pgSession) exec(ctx context.Context, statement string, args ...any) (int64, error) {
	tag, err := p.Exec(ctx, p.words.Replace(statement), args...)
	return tag.RowsAffected(), err
}

func (p pgSession) query(ctx context.Context, statement string, row func(scanner) error, args ...any) error {
	rows, err := p.Query(ctx, p.words.Replace(statement), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

type pgTx struct {
	pgSession
	client *river.Client[pgx.Tx]
	tx     pgx.Tx
}

func (t pgTx) insert(ctx context.Context, a args, o *river.InsertOpts) (*rivertype.JobInsertResult, error) {
	return t.client.InsertTx(ctx, t.tx, a, o)
}

// tables are the statements that make the tables beside those of River, if they are not there. A job's row and its
// parts go with the row of River. What a job keeps are its files ("f"), its results ("r") and its log ("l"); a file has
// pieces, and the piece of a result is 1 for a failure.
func tables(number, bytes string) []string {
	fill := strings.NewReplacer("{number}", number, "{bytes}", bytes)
	return []string{
		fill.Replace(`CREATE TABLE IF NOT EXISTS {s}anchor_job (
			id {number} PRIMARY KEY REFERENCES {s}river_job (id) ON DELETE CASCADE,
			tenant TEXT NOT NULL, owner TEXT NOT NULL, kind TEXT NOT NULL, task TEXT NOT NULL, files TEXT NOT NULL,
			slot {number} NOT NULL DEFAULT 0, started {number} NOT NULL DEFAULT 0,
			done {number} NOT NULL DEFAULT 0, total {number} NOT NULL DEFAULT 0, note TEXT NOT NULL DEFAULT '',
			input {number} NOT NULL DEFAULT 0, kept {number} NOT NULL DEFAULT 0, logged {number} NOT NULL DEFAULT 0, results {number} NOT NULL DEFAULT 0,
			failed {number} NOT NULL DEFAULT 0, problem TEXT NOT NULL DEFAULT '', report {bytes})`),
		`CREATE INDEX IF NOT EXISTS anchor_job_tenant ON {s}anchor_job (tenant, id)`,
		`CREATE INDEX IF NOT EXISTS anchor_job_slot ON {s}anchor_job (tenant, slot)`,
		fill.Replace(`CREATE TABLE IF NOT EXISTS {s}anchor_job_part (
			job {number} NOT NULL REFERENCES {s}anchor_job (id) ON DELETE CASCADE,
			stream TEXT NOT NULL, item {number} NOT NULL, piece {number} NOT NULL, data {bytes} NOT NULL,
			PRIMARY KEY (job, stream, item, piece))`),
	}
}
