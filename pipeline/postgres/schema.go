package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/anchor-host/anchor-host/store"
)

// A migration is one transaction, under a lock that one host has at a time, while other hosts go on.
//
// The rule is: expand, then contract. A migration only adds tables, columns with defaults and indexes,
// so that a program one version behind still reads and writes. What it no longer needs is dropped by a
// later migration, whose least is the version that stopped to use it. Never change a migration that was
// released.
type migration struct {
	sql string
	// least is the lowest version whose programs may still write after this migration.
	least int
}

// everyone is what a transaction sets in anchor.tenant to read the names of all lists and collections, and no
// content.
// Names of tenants have no control characters.
const everyone = "\x01"

// migrationLock is the number of the lock that a migration holds: "anch".
const migrationLock = 0x616e6368

var migrations = []migration{{least: 1, sql: `
CREATE TABLE lists (
	-- one row for each key; never deleted, so that last is never forgotten
	id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant text COLLATE "C" NOT NULL,
	kind   text COLLATE "C" NOT NULL,
	stream text COLLATE "C" NOT NULL,
	last   bigint NOT NULL CHECK (last BETWEEN 0 AND 4294967295), -- the greatest seq given
	UNIQUE (tenant, kind, stream)
) WITH (fillfactor = 50);
CREATE TABLE records (
	tenant text COLLATE "C" NOT NULL DEFAULT current_setting('anchor.tenant'),
	list   bigint NOT NULL,
	seq    bigint NOT NULL,
	id     text COLLATE "C",  -- null: '#' || seq
	time   bigint NOT NULL,   -- nanoseconds since 1970, UTC
	sum    bigint NOT NULL,   -- CRC-32C of data, id, the size of data and time
	data   bytea NOT NULL,    -- JSON
	PRIMARY KEY (list, seq)
);
CREATE UNIQUE INDEX records_id ON records (list, id) WHERE id IS NOT NULL;
CREATE TABLE collections (
	id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- never given twice, so that caches can rely on it
	tenant     text COLLATE "C" NOT NULL,
	name       text COLLATE "C" NOT NULL,
	settings   text NOT NULL,   -- JSON
	generation bigint NOT NULL, -- grows with each write
	created    bigint NOT NULL, -- nanoseconds since 1970, UTC
	changed    bigint NOT NULL,
	numbers    bigint NOT NULL DEFAULT 0, -- the greatest number given to a document
	UNIQUE (tenant, name)
);
CREATE TABLE documents (
	tenant     text COLLATE "C" NOT NULL DEFAULT current_setting('anchor.tenant'),
	collection bigint NOT NULL,
	num        bigint NOT NULL, -- another one after each replacement
	id         text COLLATE "C" NOT NULL,
	path       text NOT NULL,
	hash       text NOT NULL,
	size       bigint NOT NULL,
	modified   bigint,          -- nanoseconds since 1970, UTC; null: unknown
	chunks     bigint NOT NULL,
	vectors    bigint NOT NULL,
	bytes      bigint NOT NULL, -- of its texts
	root       text NOT NULL,
	PRIMARY KEY (collection, num),
	UNIQUE (collection, id)
);
CREATE TABLE texts (
	tenant     text COLLATE "C" NOT NULL DEFAULT current_setting('anchor.tenant'),
	collection bigint NOT NULL,
	at         bigint NOT NULL, -- documents.num << 20 | the number of the first chunk
	sum        bigint NOT NULL, -- CRC-32C of data and at
	data       bytea NOT NULL,  -- the texts of some chunks
	PRIMARY KEY (collection, at)
);
CREATE TABLE segments (
	tenant     text COLLATE "C" NOT NULL DEFAULT current_setting('anchor.tenant'),
	id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	collection bigint NOT NULL,
	documents  bigint NOT NULL,
	size       bigint NOT NULL, -- of data and vectors
	sum        bigint NOT NULL, -- CRC-32C of data, vectors, size and collection
	data       bytea NOT NULL,
	vectors    bytea
);
ALTER TABLE segments ALTER data SET STORAGE EXTERNAL, ALTER vectors SET STORAGE EXTERNAL; -- they are packed
CREATE INDEX segments_collection ON segments (collection);
CREATE TABLE dead (
	-- documents that segments still have
	tenant     text COLLATE "C" NOT NULL DEFAULT current_setting('anchor.tenant'),
	collection bigint NOT NULL,
	num        bigint NOT NULL,
	PRIMARY KEY (collection, num)
);
CREATE TABLE facts (
	-- what finds the records of facts, beside a collection; made of the records
	tenant    text COLLATE "C" NOT NULL DEFAULT current_setting('anchor.tenant'),
	list      bigint NOT NULL, -- lists.id
	id        text COLLATE "C" NOT NULL, -- of the record
	"user"    text COLLATE "C" NOT NULL,
	session   text COLLATE "C" NOT NULL,
	type      text COLLATE "C" NOT NULL,
	tags      text NOT NULL,   -- JSON
	used      bigint NOT NULL, -- nanoseconds since 1970, UTC
	relevance double precision NOT NULL,
	expires   bigint NOT NULL, -- nanoseconds since 1970, UTC
	hash      text COLLATE "C" NOT NULL, -- content_hash
	content   bytea NOT NULL,  -- SHA-256 of the content
	vector    bytea,           -- of the model of the collection
	PRIMARY KEY (list, id)
);
CREATE INDEX facts_used ON facts (list, used);
CREATE INDEX facts_relevance ON facts (list, relevance, used);
CREATE INDEX facts_session_used ON facts (list, session, used);
CREATE INDEX facts_session_relevance ON facts (list, session, relevance, used);
CREATE INDEX facts_user_used ON facts (list, "user", used);
CREATE INDEX facts_user_relevance ON facts (list, "user", relevance, used);
CREATE INDEX facts_content ON facts (list, content);
CREATE INDEX facts_unembedded ON facts (list) WHERE vector IS NULL;
CREATE INDEX facts_hash ON facts (list, hash);
`}}

// fenced are the tables that hold content of tenants.
var fenced = []string{"lists", "records", "collections", "documents", "texts", "segments", "dead", "facts"}

// fence gives a table its policy. The setting may be missing: then no row matches.
func fence(table string) string {
	return fmt.Sprintf(`ALTER TABLE %[1]s ENABLE ROW LEVEL SECURITY; ALTER TABLE %[1]s FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON %[1]s USING (tenant = current_setting('anchor.tenant', true));`, table)
}

// fenceLists lets a transaction that names no tenant list those that there are.
const fenceLists = `CREATE POLICY everyone ON lists FOR SELECT USING (current_setting('anchor.tenant', true) = E'\x01');
CREATE POLICY everyone ON collections FOR SELECT USING (current_setting('anchor.tenant', true) = E'\x01');`

func init() {
	for _, table := range fenced {
		migrations[0].sql += fence(table)
	}
	migrations[0].sql += fenceLists
}

// schemaVersion is the version of the tables of a database.
type schemaVersion struct {
	version int // the number of migrations that it has had
	least   int // the lowest version whose programs may write
}

// fits returns an error if a program with some migrations may not write the tables.
func (v schemaVersion) fits(migrations []migration) error {
	if v.version > len(migrations) && v.least > len(migrations) {
		return fmt.Errorf("%w: schema %d, which programs from schema %d on may write; this one has %d (use a newer anchor-host)",
			store.ErrVersion, v.version, v.least, len(migrations))
	}
	return nil
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// readVersion reads the version of the tables, 0 if there are none.
func readVersion(ctx context.Context, q querier) (v schemaVersion, err error) {
	var there bool
	// It reads a table, because only then the server looks for what others have made meanwhile.
	if err := q.QueryRow(ctx, "SELECT to_regclass('schema') IS NOT NULL FROM pg_database LIMIT 1").Scan(&there); err != nil || !there {
		return v, err
	}
	err = q.QueryRow(ctx, "SELECT version, least FROM schema").Scan(&v.version, &v.least)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return v, err
}

// prepare makes or updates the tables.
func (s *Store) prepare(ctx context.Context) error {
	for {
		done, err := s.migrateOne(ctx)
		if done || err != nil {
			return err
		}
	}
}

// migrateOne makes the next migration, or reports that there is none. Hosts that start together wait
// for each other. It does not wait long for tables that others use, because all later statements would
// wait behind it.
func (s *Store) migrateOne(ctx context.Context) (done bool, err error) {
	c, err := s.acquire(ctx, s.pool)
	if err != nil {
		return false, err
	}
	defer c.Release()
	v, err := readVersion(ctx, c)
	if err == nil && (v.version >= len(s.opts.migrations) || s.opts.Existing) {
		if v.version == 0 {
			err = fmt.Errorf("%w: the database has no store (the first start of the service makes it)", store.ErrNotFound)
		}
		return true, errors.Join(err, v.fits(s.opts.migrations))
	}
	if err != nil {
		return false, err
	}
	tx, err := c.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // after a commit it does nothing
	if err := s.migrate(ctx, tx); err != nil {
		return false, err
	}
	return false, tx.Commit(ctx)
}

// migrate makes the next migration within a transaction.
func (s *Store) migrate(ctx context.Context, tx pgx.Tx) error {
	const begin = `SET LOCAL lock_timeout = '5s'; SET LOCAL statement_timeout = 0`
	if _, err := tx.Exec(ctx, begin); err != nil {
		return err
	}
	lockCtx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if _, err := tx.Exec(lockCtx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
		return err
	}
	v, err := readVersion(ctx, tx)
	if err != nil || v.version >= len(s.opts.migrations) {
		return err // another host was faster
	}
	if v.version == 0 {
		// A role that may not create schemas finds the one that was made for it.
		const first = `DO $$ BEGIN IF current_schema() IS NULL THEN CREATE SCHEMA anchor; END IF; END $$;
			CREATE TABLE schema (version int NOT NULL, least int NOT NULL); INSERT INTO schema VALUES (0, 0)`
		if _, err := tx.Exec(ctx, first); err != nil {
			return err
		}
	}
	m := s.opts.migrations[v.version]
	if _, err := tx.Exec(ctx, m.sql); err != nil {
		return fmt.Errorf("migrate to schema %d: %w", v.version+1, err)
	}
	_, err = tx.Exec(ctx, "UPDATE schema SET version = $1, least = $2", v.version+1, m.least)
	return err
}

// Schema returns the version of the tables.
func (s *Store) Schema(ctx context.Context) (int, error) {
	v := schemaVersion{}
	err := s.read(ctx, s.pool, func(ctx context.Context, c *pgx.Conn) (err error) {
		v, err = readVersion(ctx, c)
		return err
	})
	if err != nil {
		return 0, s.fail(err, "read the schema version")
	}
	return v.version, nil
}
