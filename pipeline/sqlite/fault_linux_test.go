package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/retrieve"
	"github.com/anchor-host/anchor-host/store"
)

// TestReadOnlyDirectory opens stores where this user may not write.
func TestReadOnlyDirectory(t *testing.T) {
	dir, err := os.MkdirTemp("", "store") //nolint:usetesting // only its owner may enter what TempDir makes
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	path, locked := filepath.Join(dir, "store.db"), filepath.Join(dir, "locked.db")
	fill(t, path, 1)
	must(t, os.Chmod(path, 0o666))
	fill(t, locked, 1)
	must(t, os.Chmod(locked, 0o444))
	must(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { must(t, os.Chmod(dir, 0o755)) })
	for name, path := range map[string]string{
		"the log cannot be made":       path,
		"the file cannot be written":   locked,
		"the file cannot be made":      filepath.Join(dir, "new.db"),
		"the directory cannot be made": filepath.Join(dir, "sub", "new.db"),
	} {
		t.Run(name, func(t *testing.T) {
			asNobody(t)
			_, err := Open(t.Context(), path, Options{})
			oneLine(t, err, store.ErrReadOnly, path, "make the file and its directory writable")
		})
	}
}

// asNobody changes the user of this thread for file access until the test ends, because
// root may access every file.
func asNobody(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	runtime.LockOSThread()
	must(t, syscall.Setfsuid(65534))
	t.Cleanup(func() {
		must(t, syscall.Setfsuid(0))
		runtime.UnlockOSThread()
	})
}

// TestFullDisk fills a small file system.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mount a small file system: %v (needs root)", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(dir, 0)) })
	path := filepath.Join(dir, "store.db")
	s := mustOpen(t, path, Options{})
	ballast := filepath.Join(dir, "ballast")
	write(t, ballast, make([]byte, 300<<10))
	n := fillUp(t, s, path)
	if recs, err := s.Read(t.Context(), turns, 0, 0); err != nil || len(recs) != n {
		t.Errorf("after the disk was full: have %d records, %v, want %d", len(recs), err, n)
	}
	must(t, os.Remove(ballast))
	if first, err := s.Append(t.Context(), turns, longText(n+1)); err != nil || first != int64(n+1) {
		t.Errorf("append when there is room again: have %d, %v, want %d", first, err, n+1)
	}
	must(t, s.Check(t.Context()))
}

// TestLocksStay opens a file twice in one process. The first store must keep its locks. It
// would lose all of them if other code than SQLite opened and closed the file.
func TestLocksStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	mustOpen(t, path, Options{})
	before := locks(t, path)
	if before == 0 {
		t.Skip("this kernel does not show locks")
	}
	s, err := Open(t.Context(), path, Options{})
	must(t, err)
	must(t, s.Close())
	if after := locks(t, path); after != before {
		t.Errorf("locks on the file: had %d, have %d", before, after)
	}
}

// locks counts the locks on a file that the kernel knows.
func locks(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return strings.Count(string(read(t, "/proc/locks")), fmt.Sprintf(":%d ", info.Sys().(*syscall.Stat_t).Ino))
}

// fillTogether appends to all streams at the same time until the disk is full. The streams grow by
// the same number of records: on a busy machine, one could grow larger than what a deletion can
// write in the room of the reserve.
func fillTogether(t *testing.T, s *Store, streams []*stream) {
	t.Helper()
	for full := false; !full; {
		var wg sync.WaitGroup
		errs := make([]error, len(streams))
		for i, st := range streams {
			wg.Go(func() { errs[i] = st.append(t, s) })
		}
		wg.Wait()
		full = errors.Join(errs...) != nil
	}
}

// TestFullDiskOfAService fills the disk of a store that stays open, again and again, while a reader
// keeps the log from being emptied. What was acknowledged stays, in whole batches, what was deleted
// does not, and there is no need to open the store again.
func TestFullDiskOfAService(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("mount a small file system: %v (needs root)", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(dir, 0)) })
	path, ballast := filepath.Join(dir, "store.db"), filepath.Join(dir, "ballast")
	s, err := Open(t.Context(), path, Options{checkpointPages: 50, Reserve: 512 << 10})
	must(t, err)
	streams := []*stream{{}, {}, {}, {}}
	for i := range streams {
		streams[i].key = turns
		streams[i].key.Stream = fmt.Sprint("stream ", i)
	}
	docs, x := retrieve.Collection{Tenant: store.DefaultTenant, Name: "docs"}, s.Index()
	must(t, x.Create(t.Context(), docs, retrieve.Settings{}))
	for i := range 4 {
		must(t, x.Upsert(t.Context(), docs, retrieve.Document{ID: fmt.Sprint(i), Chunks: []retrieve.Chunk{{Text: string(longText(i).Data)}}}))
	}
	for round := range 4 {
		write(t, ballast, make([]byte, 1<<20))
		reader, err := s.acquire(t.Context())
		must(t, err)
		must(t, reader.once("BEGIN"))
		_, _, err = reader.number("SELECT count(*) FROM records")
		must(t, err)
		fillTogether(t, s, streams)
		var wg sync.WaitGroup
		for _, st := range streams {
			wg.Go(func() {
				for st.append(t, s) == nil {
				}
				oneLine(t, st.append(t, s), store.ErrFull, path, "make room on the disk")
			})
		}
		wg.Wait()
		must(t, reader.once("ROLLBACK"))
		s.release(reader, nil)
		for _, st := range streams {
			st.check(t, s)
		}
		deleted := streams[round]
		if n, err := s.Clear(t.Context(), deleted.key); err != nil || n != deleted.last-deleted.gone {
			t.Errorf("round %d: clear on a full disk: %d of %d, %v", round, n, deleted.last-deleted.gone, err)
		}
		deleted.gone = deleted.last
		must(t, os.Remove(ballast))
		for _, st := range streams {
			if err := st.append(t, s); err != nil {
				t.Errorf("round %d: append when there is room again: %v", round, err)
			}
			st.check(t, s)
		}
		must(t, s.Checkpoint(t.Context()))
		if info, err := os.Stat(path + reserveSuffix); err != nil || info.Size() != 512<<10 {
			t.Errorf("round %d: the reserve is not there again: %v, %v", round, info, err)
		}
		if err := os.WriteFile(ballast, make([]byte, 4<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("round %d: the disk is not full: %v", round, err)
		}
		if n, err := x.Delete(t.Context(), docs, fmt.Sprint(round)); err != nil || n != 1 {
			t.Errorf("round %d: delete a document on a full disk: %d, %v", round, n, err)
		}
		must(t, os.Remove(ballast))
	}
	must(t, s.Close())
	s = mustOpen(t, path, Options{})
	must(t, s.Check(t.Context()))
	for _, st := range streams {
		st.check(t, s)
	}
}

// stream is a list of records, what was acknowledged of it, and what was deleted.
type stream struct {
	key        store.Key
	last, gone int
}

// append adds two records.
func (st *stream) append(t *testing.T, s *Store) error {
	first, err := s.Append(t.Context(), st.key, longText(st.last+1), longText(st.last+2))
	if err != nil {
		return err
	}
	if first != int64(st.last+1) {
		t.Errorf("%s: append %d has seq %d", st.key, st.last+1, first)
	}
	st.last += 2
	return nil
}

// check reads the stream.
func (st *stream) check(t *testing.T, s *Store) {
	t.Helper()
	recs, err := s.Read(t.Context(), st.key, 0, 0)
	if err != nil || len(recs) != st.last-st.gone {
		t.Errorf("%s: %d records, %v, want %d", st.key, len(recs), err, st.last-st.gone)
		return
	}
	for i, r := range recs {
		if want := string(longText(st.gone + i + 1).Data); string(r.Data) != want {
			t.Errorf("%s: record %d is %.40s, want %.40s", st.key, r.Seq, r.Data, want)
		}
	}
}
