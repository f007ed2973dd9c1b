package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// A backup that is made while somebody writes has a prefix of the writes, and all that were
// acknowledged before it began.
func TestBackupOfABusyStore(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	s := mustOpen(t, path, Options{})
	ctx, stop := context.WithCancel(t.Context())
	var acked atomic.Int64
	done := make(chan error, 1)
	go func() {
		for n := int64(1); ctx.Err() == nil; n++ {
			if _, err := s.Append(context.WithoutCancel(ctx), turns, text(fmt.Sprint(n))); err != nil {
				done <- err
				return
			}
			acked.Store(n)
		}
		done <- nil
	}()
	if !await.True(func() bool { return acked.Load() >= 20 || len(done) > 0 }) {
		t.Fatalf("%d records are appended, want 20", acked.Load())
	}
	for i := range 5 {
		before := acked.Load()
		file := filepath.Join(dir, fmt.Sprintf("backup-%d.db", i))
		made, err := Backup(t.Context(), path, file)
		if err != nil {
			t.Fatal(err)
		}
		got := contents(t, file)
		if int64(len(got)) < before || int64(len(got)) != made.Records || made.Schema != len(migrations) {
			t.Errorf("backup %d: %d records, %+v; want at least %d", i, len(got), made, before)
		}
		for j, data := range got {
			if want := fmt.Sprintf("%q", fmt.Sprint(j+1)); data != want {
				t.Fatalf("backup %d: record %d is %s, want %s", i, j, data, want)
			}
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*"+unfinished)); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// contents opens a store, and returns the records of turns.
func contents(t *testing.T, path string) (data []string) {
	t.Helper()
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	records, err := s.Read(t.Context(), turns, 0, 1<<20)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		data = append(data, string(r.Data))
	}
	return data
}

// What was restored has the records, their numbers and ids, and the collections.
func TestRestore(t *testing.T) {
	dir := t.TempDir()
	path, file, restored := filepath.Join(dir, "store.db"), filepath.Join(dir, "backup.db"), filepath.Join(dir, "new", "store.db")
	s := mustOpen(t, path, Options{})
	for _, what := range []string{"one", "two", "three"} {
		if _, err := s.Append(t.Context(), turns, text(what)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Delete(t.Context(), turns, store.AutoID(3)); err != nil {
		t.Fatal(err)
	}
	if err := s.Index().Create(t.Context(), retrieve.Collection{Tenant: "acme", Name: "docs"}, retrieve.Settings{}); err != nil {
		t.Fatal(err)
	}
	if _, err := Backup(t.Context(), path, file); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), file, restored); err != nil {
		t.Fatal(err)
	}
	again := mustOpen(t, restored, Options{})
	seq, err := again.Append(t.Context(), turns, text("four"))
	if err != nil {
		t.Fatal(err)
	}
	records, err := again.Read(t.Context(), turns, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	if seq != 4 || len(records) != 3 || string(records[1].Data) != `"two"` {
		t.Errorf("the restored store has %v, and gives the number %v, want 4: that of a deleted record is not given again", records, seq)
	}
	if list, err := again.Index().Collections(t.Context(), "acme"); err != nil || len(list) != 1 {
		t.Errorf("collections: %v, %v", list, err)
	}
	if after, err := os.ReadFile(file); err != nil || !slices.Equal(before, after) {
		t.Error("the backup was changed")
	}
	for _, name := range []string{file, restored} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
			t.Errorf("%s: %v, %v; want a file that only its owner can read", name, info.Mode(), err)
		}
	}
}

// A backup of a store with an older schema keeps it, so that the older program can go on with it.
func TestBackupKeepsTheSchema(t *testing.T) {
	dir := t.TempDir()
	path, file, restored := filepath.Join(dir, "old.db"), filepath.Join(dir, "backup.db"), filepath.Join(dir, "store.db")
	old := rawConn(t, path)
	script := "PRAGMA journal_mode = WAL;" + migrations[0] + fmt.Sprintf("; PRAGMA application_id = %d; PRAGMA user_version = 1", appID)
	if err := errors.Join(old.once(script), old.close()); err != nil {
		t.Fatal(err)
	}
	made, err := Backup(t.Context(), path, file)
	if err != nil || made.Schema != 1 {
		t.Fatalf("%+v, %v; want schema 1", made, err)
	}
	for _, name := range []string{path, file} {
		if c, err := Examine(t.Context(), name); err != nil || c.Schema != 1 {
			t.Errorf("%s: %+v, %v; want schema 1", name, c, err)
		}
	}
	if _, err := Restore(t.Context(), file, restored); err != nil {
		t.Fatal(err)
	}
	if got := contents(t, restored); len(got) != 0 {
		t.Errorf("the restored store has %v", got)
	}
	if c, err := Examine(t.Context(), restored); err != nil || c.Schema != len(migrations) {
		t.Errorf("the restored store after its use: %+v, %v", c, err)
	}
}

// rawConn makes a database without a schema.
func rawConn(t *testing.T, path string) *conn {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := openConn(fileURI(path) + "?mode=rw")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// After a refusal, and after an error, the files are as they were.
func TestBackupAndRestoreRefuse(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string, data []byte) {
		if err := os.WriteFile(at(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := mustOpen(t, at("store.db"), Options{})
	for range 200 {
		if _, err := s.Append(t.Context(), turns, text(strings.Repeat("a long record ", 200))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Backup(t.Context(), at("store.db"), at("good.db")); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(at("good.db"))
	if err != nil {
		t.Fatal(err)
	}
	write("here.db", []byte("somebody's"))
	write("text.db", []byte(strings.Repeat("no database ", 1000)))
	write("empty.db", nil)
	write("short.db", good[:len(good)/2])
	write("with.db-wal", []byte("the log of a store that is gone"))
	damaged := slices.Clone(good)
	copy(damaged[len(damaged)/2:], strings.Repeat("X", 100))
	write("damaged.db", damaged)
	newer := rawConn(t, at("newer.db"))
	if err := errors.Join(newer.once(fmt.Sprintf("CREATE TABLE t (a); PRAGMA application_id = %d; PRAGMA user_version = 999", appID)), newer.close()); err != nil {
		t.Fatal(err)
	}
	other := rawConn(t, at("other.db"))
	if err := errors.Join(other.once("CREATE TABLE t (a)"), other.close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("nowhere"), at("link.db")); err != nil {
		t.Logf("no test of links: %v", err)
		write("link.db", nil)
	}
	before := listing(t, dir)
	for _, c := range []struct {
		what     string
		run      func(ctx context.Context, from, to string) (Copy, error)
		from, to string
		want     error
	}{
		{"backup", Backup, "store.db", "here.db", fs.ErrExist},
		{"backup", Backup, "store.db", "store.db", fs.ErrExist},
		{"backup", Backup, "store.db", "link.db", fs.ErrExist},
		{"backup", Backup, "store.db", "no/such/folder.db", fs.ErrNotExist},
		{"backup", Backup, "nothing.db", "b.db", fs.ErrNotExist},
		{"backup", Backup, "text.db", "b.db", store.ErrCorrupt},
		{"backup", Backup, "damaged.db", "b.db", store.ErrCorrupt},
		{"backup", Backup, "short.db", "b.db", store.ErrCorrupt},
		{"backup", Backup, "newer.db", "b.db", store.ErrVersion},
		{"backup", Backup, "other.db", "b.db", store.ErrInvalid},
		{"backup", Backup, "empty.db", "b.db", store.ErrInvalid},
		{"backup", Backup, ".", "b.db", store.ErrInvalid},
		{"restore", Restore, "good.db", "here.db", fs.ErrExist},
		{"restore", Restore, "good.db", "with.db", fs.ErrExist},
		{"restore", Restore, "store.db", "b.db", store.ErrInvalid}, // in use: its log has records
		{"restore", Restore, "nothing.db", "b.db", fs.ErrNotExist},
		{"restore", Restore, "text.db", "b.db", store.ErrCorrupt},
		{"restore", Restore, "damaged.db", "b.db", store.ErrCorrupt},
		{"restore", Restore, "short.db", "b.db", store.ErrCorrupt},
		{"restore", Restore, "newer.db", "b.db", store.ErrVersion},
		{"restore", Restore, "other.db", "b.db", store.ErrInvalid},
		{"restore", Restore, "empty.db", "b.db", store.ErrInvalid},
	} {
		_, err := c.run(t.Context(), at(c.from), at(c.to))
		if !errors.Is(err, c.want) {
			t.Errorf("%s %s %s: %v, want %v", c.what, c.from, c.to, err, c.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Backup(ended, at("store.db"), at("b.db")); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if after := listing(t, dir); !slices.Equal(before, after) {
		t.Errorf("files before:\n%s\nafter:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
}

// listing returns the names and sizes of the files of a folder, but those of logs.
func listing(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && !strings.HasSuffix(e.Name(), "-shm") {
			list = append(list, fmt.Sprint(e.Name(), " ", info.Size()))
		}
	}
	return list
}
