package sqlite

import (
	"cmp"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"

	"github.com/anchor-host/anchor-host/store"
)

// appID marks a file as a store of this program, in the header of the file: "anch".
const appID = 0x616e6368

// migrations update the schema from one version to the next. The version of a file is the
// number of migrations that it has had. Never change a migration that was released.
var migrations = []string{
	`CREATE TABLE lists (
	-- one row for each key; never deleted, so that last is never forgotten
	id     INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 2147483647),
	tenant TEXT NOT NULL,
	kind   TEXT NOT NULL,
	stream TEXT NOT NULL,
	last   INTEGER NOT NULL, -- the greatest seq given
	UNIQUE (tenant, kind, stream)
) STRICT;
CREATE TABLE records (
	-- lists.id << 32 | seq: records of a list lie together, in order
	at   INTEGER PRIMARY KEY,
	id   TEXT,             -- null: '#' || seq
	time INTEGER NOT NULL, -- nanoseconds since 1970, UTC
	sum  INTEGER NOT NULL, -- CRC-32C of data, id, the size of data, time and at
	data BLOB NOT NULL     -- JSON
) STRICT;
CREATE UNIQUE INDEX records_id ON records (at >> 32, id) WHERE id IS NOT NULL;`,
	`CREATE TABLE collections (
	id         INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice, so that caches can rely on it
	tenant     TEXT NOT NULL,
	name       TEXT NOT NULL,
	settings   TEXT NOT NULL,    -- JSON
	generation INTEGER NOT NULL, -- grows with each write
	created    INTEGER NOT NULL, -- nanoseconds since 1970, UTC
	changed    INTEGER NOT NULL,
	UNIQUE (tenant, name)
) STRICT;
CREATE TABLE documents (
	num        INTEGER PRIMARY KEY AUTOINCREMENT, -- another one after each replacement
	collection INTEGER NOT NULL,
	id         TEXT NOT NULL,
	path       TEXT NOT NULL,
	hash       TEXT NOT NULL,
	size       INTEGER NOT NULL,
	modified   INTEGER,          -- nanoseconds since 1970, UTC; null: unknown
	chunks     INTEGER NOT NULL,
	vectors    INTEGER NOT NULL,
	bytes      INTEGER NOT NULL, -- of its texts
	UNIQUE (collection, id)
) STRICT;
CREATE TABLE texts (
	at   INTEGER PRIMARY KEY, -- documents.num << 20 | the number of the first chunk
	sum  INTEGER NOT NULL,    -- CRC-32C of data and at
	data BLOB NOT NULL        -- the texts of some chunks
) STRICT;
CREATE TABLE segments (
	id         INTEGER PRIMARY KEY AUTOINCREMENT,
	collection INTEGER NOT NULL,
	documents  INTEGER NOT NULL,
	size       INTEGER NOT NULL, -- of data and vectors
	sum        INTEGER NOT NULL, -- CRC-32C of data, vectors, size and collection
	data       BLOB NOT NULL,
	vectors    BLOB
) STRICT;
CREATE INDEX segments_collection ON segments (collection);
CREATE TABLE dead (
	-- documents that segments still have
	collection INTEGER NOT NULL,
	num        INTEGER NOT NULL,
	PRIMARY KEY (collection, num)
) STRICT, WITHOUT ROWID;`,
	"ALTER TABLE documents ADD COLUMN root TEXT NOT NULL DEFAULT ''",
	`CREATE TABLE facts (
	-- what finds the records of facts, beside a collection; made of the records
	list      INTEGER NOT NULL, -- lists.id
	id        TEXT NOT NULL,    -- of the record
	user      TEXT NOT NULL,
	session   TEXT NOT NULL,
	type      TEXT NOT NULL,
	tags      TEXT NOT NULL,    -- JSON
	used      INTEGER NOT NULL, -- nanoseconds since 1970, UTC
	relevance REAL NOT NULL,
	expires   INTEGER NOT NULL, -- nanoseconds since 1970, UTC
	hash      TEXT NOT NULL,    -- content_hash
	content   BLOB NOT NULL,    -- SHA-256 of the content
	vector    BLOB,             -- of the model of the collection
	PRIMARY KEY (list, id)
) STRICT;
CREATE INDEX facts_used ON facts (list, used);
CREATE INDEX facts_relevance ON facts (list, relevance, used);
CREATE INDEX facts_session_used ON facts (list, session, used);
CREATE INDEX facts_session_relevance ON facts (list, session, relevance, used);
CREATE INDEX facts_user_used ON facts (list, user, used);
CREATE INDEX facts_user_relevance ON facts (list, user, relevance, used);
CREATE INDEX facts_hash ON facts (list, hash);
CREATE INDEX facts_content ON facts (list, content);
CREATE INDEX facts_unembedded ON facts (list) WHERE vector IS NULL;
-- Vectors of facts were records of their own before.
DELETE FROM records WHERE at IN (SELECT r.at FROM lists l JOIN records r ON r.at > l.id << 32 AND r.at < (l.id + 1) << 32 WHERE l.kind = 'vector');`,
}

// identify refuses files of other programs, before anything is written. It reads within one
// transaction, because another process may be creating the store at the same time.
func identify(c *conn) error {
	if err := c.once("BEGIN"); err != nil {
		return err
	}
	err := cmp.Or(identifyState(c), c.once("ROLLBACK"))
	return err
}

func identifyState(c *conn) error {
	app, _, err := c.number("PRAGMA application_id")
	if err != nil {
		return err
	}
	tables, _, err := c.number("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return err
	}
	if app != appID && (app != 0 || tables != 0) {
		return fmt.Errorf("%w: a database of another program (name another file)", store.ErrInvalid)
	}
	if _, err = version(c); err != nil {
		return err
	}
	return foreign(c)
}

// foreign refuses a file with statements in its schema that are not of this program. SQLite runs
// triggers, views and the expressions of columns and indexes as part of any other statement: in a
// file that somebody else has made, they could lose records or never end.
func foreign(c *conn) error {
	return c.query("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL", nil, func(row []driver.Value) error {
		name, _ := row[0].(string)
		if sql, ok := row[1].(string); !ok || !strings.Contains(ours, sql) {
			return fmt.Errorf("%w: its schema has %.100q, which this program has not made (restore a backup of your own)", store.ErrInvalid, name)
		}
		return nil
	})
}

// ours has all statements of the schemas of all versions, as SQLite keeps them.
var ours = strings.Join(append(slices.Clone(migrations),
	strings.Replace(migrations[1], "bytes      INTEGER NOT NULL,", "bytes      INTEGER NOT NULL, root TEXT NOT NULL DEFAULT '',", 1), // altered by the next one
	"CREATE TABLE sqlite_sequence(name,seq)", "CREATE TABLE sqlite_stat1(tbl,idx,stat)", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"), ";")

func version(c *conn) (int, error) {
	v, _, err := c.number("PRAGMA user_version")
	if err != nil {
		return 0, err
	}
	if v < 0 || v > int64(len(migrations)) {
		return 0, fmt.Errorf("%w: schema %d, this program supports up to %d (use a newer anchor-host)", store.ErrVersion, v, len(migrations))
	}
	return int(v), nil
}

// migrate updates the schema completely or not at all. Two processes may try at the same
// time: the second finds nothing to do.
func migrate(c *conn) error {
	if v, err := version(c); err != nil || v == len(migrations) {
		return err
	}
	if err := c.once("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := migrateSteps(c)
	if err == nil {
		err = c.once("COMMIT")
	}
	if err != nil {
		_ = c.once("ROLLBACK") // it may have happened already
	}
	return err
}

func migrateSteps(c *conn) error {
	if err := identifyState(c); err != nil {
		return err
	}
	v, err := version(c)
	if err != nil {
		return err
	}
	for ; v < len(migrations); v++ {
		if err := c.once(migrations[v]); err != nil {
			return fmt.Errorf("migrate to schema %d: %w", v+1, err)
		}
	}
	return c.once(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", appID, len(migrations)))
}
