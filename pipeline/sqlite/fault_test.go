package sqlite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/store"
)

// oneLine checks that an error wraps the right one, and names the file and the remedy
// on one line.
func oneLine(t *testing.T, err, is error, path, remedy string) {
	t.Helper()
	if !errors.Is(err, is) {
		t.Fatalf("have error %v, want %v", err, is)
	}
	if s := err.Error(); !strings.Contains(s, path) || !strings.Contains(s, remedy) || strings.Contains(s, "\n") {
		t.Errorf("%q does not name %s and %q on one line", s, path, remedy)
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(t *testing.T, path string)
		is      error
		remedy  string
	}{
		{"a text file", func(t *testing.T, path string) {
			write(t, path, []byte(strings.Repeat("not a database, but long enough to be one\n", 200)))
		}, store.ErrCorrupt, "name another file, or restore a backup"},
		{"a file cut in the header", func(t *testing.T, path string) {
			fill(t, path, 1)
			write(t, path, read(t, path)[:50])
		}, store.ErrCorrupt, "restore a backup"},
		{"a broken schema", func(t *testing.T, path string) {
			fill(t, path, 1)
			b := read(t, path)
			copy(b[110:], bytes.Repeat([]byte{0xff}, 400))
			write(t, path, b)
		}, store.ErrCorrupt, "restore a backup"},
		{"a database of another program", func(t *testing.T, path string) {
			script(t, path, "CREATE TABLE theirs (x); PRAGMA user_version = 3")
		}, store.ErrInvalid, "name another file"},
		{"a database marked by another program", func(t *testing.T, path string) {
			script(t, path, "PRAGMA application_id = 7")
		}, store.ErrInvalid, "name another file"},
		{"a newer schema", func(t *testing.T, path string) {
			fill(t, path, 1)
			script(t, path, "PRAGMA user_version = 99")
		}, store.ErrVersion, "use a newer anchor-host"},
		{"a file that may only be read", func(t *testing.T, path string) {
			if os.Geteuid() == 0 {
				t.Skip("nothing is forbidden to root")
			}
			fill(t, path, 1)
			must(t, os.Chmod(path, 0o400))
		}, store.ErrReadOnly, "make the file and its directory writable"},
		{"a directory", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, store.ErrInvalid, "name a file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			tt.prepare(t, path)
			before, _ := os.ReadFile(path)
			_, err := Open(t.Context(), path, Options{})
			oneLine(t, err, tt.is, path, tt.remedy)
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
	path := filepath.Join(t.TempDir(), "file", "store.db")
	write(t, filepath.Dir(path), nil)
	if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file in the place of the directory: have error %v", err)
	}
	for _, o := range []Options{{Sync: "half"}, {BusyTimeout: -1}, {Readers: -1}} {
		if _, err := Open(t.Context(), path, o); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%+v: have error %v", o, err)
		}
	}
}

func TestCorruptRecord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	fill(t, path, 20)
	b := read(t, path)
	at := bytes.Index(b, []byte("record 7 "))
	if at < 0 {
		t.Fatal("the record is not in the file")
	}
	b[at+len("record 7 ")] ^= 1 // still a JSON text
	write(t, path, b)

	s := mustOpen(t, path, Options{})
	_, err := s.Get(t.Context(), turns, "#7")
	oneLine(t, err, store.ErrCorrupt, path, `record "#7"`)
	_, err = s.Read(t.Context(), turns, 0, 0)
	oneLine(t, err, store.ErrCorrupt, path, "delete it, or restore a backup")
	oneLine(t, s.Check(t.Context()), store.ErrCorrupt, path, `record "#7"`)
	oneLine(t, store.Export(t.Context(), s, &bytes.Buffer{}, turns.Tenant), store.ErrCorrupt, path, `record "#7"`)
	if _, err := s.Get(t.Context(), turns, "#8"); err != nil {
		t.Errorf("the record beside it: %v", err)
	}
	if n, err := s.Delete(t.Context(), turns, "#7"); err != nil || n != 1 {
		t.Errorf("delete of the corrupt record: have %d, %v", n, err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Errorf("check after the deletion: %v", err)
	}
}

// TestCorruptPages damages pages at random: a read returns what was written, or
// an error.
func TestCorruptPages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	fill(t, path, 300)
	whole := read(t, path)
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 40 {
		b := bytes.Clone(whole)
		for range 1 + random.IntN(20) {
			b[random.IntN(len(b))] ^= byte(1 + random.IntN(255))
		}
		write(t, path, b)
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			found++
			continue
		}
		recs, err := s.Read(t.Context(), turns, 0, 0)
		for _, r := range recs {
			if string(r.Data) != string(longText(int(r.Seq)).Data) {
				t.Errorf("record %d is %.40s, and nobody said so", r.Seq, r.Data)
			}
		}
		switch {
		case err != nil || s.Check(t.Context()) != nil:
			found++
		case len(recs) != 300:
			t.Errorf("%d of 300 records are there, and nobody said so", len(recs))
		}
		_ = s.Close() // it may fail: the file is damaged
	}
	if found < 30 {
		t.Errorf("only %d of 40 damaged files were noticed", found)
	}
}

// TestTornLog cuts the log off where a power cut might have, or fills its end with
// what was on the disk before: a beginning of the batches is there, each whole.
func TestTornLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	s := mustOpen(t, path, Options{})
	for i := range 40 {
		if _, err := s.Append(t.Context(), turns, longText(3*i+1), longText(3*i+2), longText(3*i+3)); err != nil {
			t.Fatal(err)
		}
	}
	file, log := read(t, path), read(t, path+"-wal")
	random := rand.New(rand.NewPCG(3, 4))
	lengths := make(map[int]bool)
	for i := range 30 {
		torn := filepath.Join(dir, fmt.Sprintf("torn%d.db", i))
		cut := random.IntN(len(log))
		end := make([]byte, random.IntN(9000))
		if i%2 == 0 {
			end = bytes.Clone(log[:min(len(end), cut)])
		}
		write(t, torn, file)
		write(t, torn+"-wal", append(bytes.Clone(log[:cut]), end...))
		copied, err := Open(t.Context(), torn, Options{})
		must(t, err)
		must(t, copied.Check(t.Context()))
		recs, err := copied.Read(t.Context(), turns, 0, 0)
		must(t, err)
		if len(recs)%3 != 0 {
			t.Errorf("cut at %d: %d records, part of a batch", cut, len(recs))
		}
		for i, r := range recs {
			if string(r.Data) != string(longText(i+1).Data) {
				t.Errorf("cut at %d: record %d is %.40s", cut, i+1, r.Data)
			}
		}
		lengths[len(recs)] = true
		must(t, copied.Close())
	}
	if len(lengths) < 10 {
		t.Errorf("30 cuts gave only %d different lengths", len(lengths))
	}
}

func TestFull(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := mustOpen(t, path, Options{maxPages: 60})
	n := fillUp(t, s, path)
	if recs, err := s.Read(t.Context(), turns, 0, 0); err != nil || len(recs) != n {
		t.Errorf("after the file was full: have %d records, %v, want %d", len(recs), err, n)
	}
	if _, err := s.Clear(t.Context(), turns); err != nil {
		t.Errorf("clear of a full store: %v", err)
	}
	first, err := s.Append(t.Context(), turns, longText(1))
	if err != nil || first != int64(n+1) {
		t.Errorf("append when there is room again: have %d, %v, want %d", first, err, n+1)
	}
}

// fillUp appends until the store is full and returns how many records it took.
func fillUp(t *testing.T, s *Store, path string) int {
	t.Helper()
	for n := range 10_000 {
		first, err := s.Append(t.Context(), turns, longText(n+1))
		if err != nil {
			oneLine(t, err, store.ErrFull, path, "make room on the disk")
			return n
		}
		if first != int64(n+1) {
			t.Fatalf("append %d has seq %d", n+1, first)
		}
	}
	t.Fatal("the store never got full")
	return 0
}

// longText returns a long record that is determined by its number.
func longText(n int) store.Record {
	data, err := json.Marshal(fmt.Sprintf("record %d %s", n, strings.Repeat("abc", n*37%800)))
	if err != nil {
		panic(err)
	}
	return store.Record{Data: data}
}

// fill makes a store of n records.
func fill(t *testing.T, path string, n int) {
	t.Helper()
	s, err := Open(t.Context(), path, Options{})
	must(t, err)
	recs := make([]store.Record, n)
	for i := range recs {
		recs[i] = longText(i + 1)
	}
	_, err = s.Append(t.Context(), turns, recs...)
	must(t, err)
	must(t, s.Close())
}

// script runs SQL on a file without using the store.
func script(t *testing.T, path, sql string) {
	t.Helper()
	must(t, createFile(path))
	c, err := openConn(fileURI(path) + "?mode=rw")
	must(t, err)
	must(t, c.once(sql))
	must(t, c.close())
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	must(t, os.WriteFile(path, b, 0o600))
}
