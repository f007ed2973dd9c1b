package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/store"
)

// TestForeignSchema opens files that someone has made who wants code of his to run whenever this
// program reads or writes: to lose records that were acknowledged, to copy those of one tenant to
// another, or to keep the writer busy for ever. They are refused before any of it runs.
func TestForeignSchema(t *testing.T) {
	const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
	for name, script := range map[string]string{
		"loses":   "CREATE TRIGGER x BEFORE INSERT ON records BEGIN SELECT RAISE(IGNORE); END",
		"copies":  "CREATE TRIGGER x AFTER INSERT ON records BEGIN UPDATE records SET data = NEW.data; END",
		"endless": "CREATE TRIGGER x AFTER INSERT ON lists BEGIN " + endless + "; END",
		"view":    "DROP TABLE records; CREATE VIEW records AS SELECT (" + endless + ") AS at, NULL AS id, 0 AS time, 0 AS sum, x'' AS data",
		"memory":  "DROP TABLE facts; CREATE TABLE facts (list INTEGER, id TEXT CHECK (length(hex(randomblob(500000000))) > 0))",
		"column":  "ALTER TABLE records ADD COLUMN x TEXT GENERATED ALWAYS AS (hex(zeroblob(500000000)))",
		"index":   "CREATE INDEX x ON records (hex(zeroblob(time)))",
		"table":   "CREATE TABLE x (a)",
		"name":    "CREATE TRIGGER x AFTER INSERT ON lists BEGIN " + endless + "; END; PRAGMA writable_schema = ON; UPDATE sqlite_schema SET name = 'sqlite_x', sql = replace(sql, 'TRIGGER x', 'TRIGGER sqlite_x') WHERE name = 'x'",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			s, err := Open(t.Context(), path, Options{})
			must(t, err)
			must(t, s.Close())
			c, err := openConn(fileURI(path) + "?mode=rw")
			must(t, err)
			must(t, c.once(script))
			must(t, c.close())
			before := read(t, path)
			for what, do := range map[string]func() error{
				"open": func() error { s, err := Open(t.Context(), path, Options{}); return errors.Join(err, closed(s)) },
				"read": func() error {
					s, err := Open(t.Context(), path, Options{ReadOnly: true})
					return errors.Join(err, closed(s))
				},
				"restore": func() error { _, err := Restore(t.Context(), path, path+".restored"); return err },
				"backup":  func() error { _, err := Backup(t.Context(), path, path+".backup"); return err },
				"examine": func() error { _, err := Examine(t.Context(), path); return err },
			} {
				t.Run(what, func(t *testing.T) { oneLine(t, do(), store.ErrInvalid, path, "which this program has not made") })
			}
			if string(read(t, path)) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

func closed(s *Store) error {
	if s == nil {
		return nil
	}
	return s.Close()
}

// TestOwnSchema opens files of each version, and one with SQLite's own statistics.
func TestOwnSchema(t *testing.T) {
	for v := range len(migrations) + 1 {
		path := filepath.Join(t.TempDir(), "store.db")
		c := rawConn(t, path)
		must(t, c.once(strings.Join(migrations[:v], ";")))
		must(t, c.once(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", appID, v)))
		if v > 0 {
			must(t, c.once("INSERT INTO lists (tenant, kind, stream, last) VALUES ('t', 'k', 's', 0); ANALYZE"))
		}
		must(t, c.close())
		for range 2 {
			s, err := Open(t.Context(), path, Options{})
			must(t, err)
			must(t, s.Close())
		}
	}
}
