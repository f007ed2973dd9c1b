package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// TestNewerProgramBeside has a newer program update the schema while this one has the store open, as
// when a service goes on while the command beside it is updated. This one then writes nothing, because
// it does not know what else belongs to a record, and says so until the file is one that it knows.
func TestNewerProgramBeside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := mustOpen(t, path, Options{})
	col := retrieve.Collection{Tenant: store.DefaultTenant, Name: "docs"}
	doc := retrieve.Document{ID: "d", Chunks: []retrieve.Chunk{{Text: "a lamp"}}}
	_, err := s.Append(t.Context(), turns, text("a"))
	must(t, err)
	must(t, s.Index().Create(t.Context(), col, retrieve.Settings{}))
	must(t, s.Index().Upsert(t.Context(), col, doc))
	_, err = s.Read(t.Context(), turns, 0, 0) // a reader is open
	must(t, err)

	newer, err := openConn(fileURI(path) + "?mode=rw")
	must(t, err)
	must(t, newer.once("BEGIN IMMEDIATE; ALTER TABLE records ADD COLUMN more TEXT; PRAGMA user_version = 99; COMMIT; PRAGMA wal_checkpoint(TRUNCATE)"))
	before := read(t, path)
	for name, do := range map[string]func() error{
		"append":    func() error { _, err := s.Append(t.Context(), turns, text("b")); return err },
		"put":       func() error { return s.Put(t.Context(), turns, text("b")) },
		"clear":     func() error { _, err := s.Clear(t.Context(), turns); return err },
		"read":      func() error { _, err := s.Read(t.Context(), turns, 0, 0); return err },
		"get":       func() error { _, err := s.Get(t.Context(), turns, "#1"); return err },
		"keys":      func() error { _, err := s.Keys(t.Context(), store.DefaultTenant, ""); return err },
		"upsert":    func() error { return s.Index().Upsert(t.Context(), col, doc) },
		"remove":    func() error { return s.Index().Remove(t.Context(), col) },
		"documents": func() error { _, err := s.Index().Collection(t.Context(), col); return err },
	} {
		for range 2 { // not only when it finds out
			t.Run(name, func(t *testing.T) { oneLine(t, do(), store.ErrVersion, path, "use a newer anchor-host") })
		}
	}
	must(t, s.Checkpoint(t.Context()))
	if !bytes.Equal(read(t, path), before) {
		t.Error("the file was changed")
	}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		t.Errorf("the log has %d bytes that this program wrote", info.Size())
	}
	must(t, newer.once("BEGIN IMMEDIATE; ALTER TABLE records DROP COLUMN more; PRAGMA user_version = "+strconv.Itoa(len(migrations))+"; COMMIT"))
	must(t, newer.close())
	if first, err := s.Append(t.Context(), turns, text("b")); err != nil || first != 2 {
		t.Errorf("append to a file that it knows again: %d, %v, want 2", first, err)
	}
}
