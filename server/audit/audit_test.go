package audit

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
	"github.com/anchor-host/anchor-host/server"
)

var key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

func public() ed25519.PublicKey { return key.Public().(ed25519.PublicKey) }

func opened(t *testing.T, path string, more ...func(*Options)) *Log {
	t.Helper()
	o := Options{Path: path, Key: key}
	for _, change := range more {
		change(&o)
	}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func closed(t *testing.T, l *Log) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// written makes a log of some files, the last of which is path.
func written(t *testing.T, entries int, size int64) (path string, files []string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "audit.jsonl")
	l := opened(t, path, func(o *Options) { o.MaxBytes = size })
	for i := range entries {
		if err := l.Append(Entry{Key: "k1", Tenant: "acme", Action: "build", Object: Digest([]byte{byte(i)}), Outcome: "ok", Status: 200, Request: fmt.Sprint("r<", i)}); err != nil {
			t.Fatal(err)
		}
	}
	closed(t, l)
	files, _ = filepath.Glob(path + "*")
	return path, slices.DeleteFunc(files, func(s string) bool { return strings.HasSuffix(s, ".lock") })
}

// Files that are too old are deleted, and the log goes on.
func TestOldFilesAreDeleted(t *testing.T) {
	path, files := written(t, 200, 4000)
	old := time.Now().Add(-48 * time.Hour)
	for _, f := range files[1:3] { // files[0] is the one that is written
		if err := os.Chtimes(f, old, old); err != nil {
			t.Fatal(err)
		}
	}
	l := opened(t, path, func(o *Options) { o.Keep, o.HeadEvery = 24*time.Hour, time.Millisecond })
	gone := func() bool {
		left, _ := filepath.Glob(path + ".0*")
		return len(left) == len(files)-3
	}
	if !await.True(gone) {
		t.Errorf("the files %v are still there", files[1:3])
	}
	closed(t, l)
	r := verify(t, slices.DeleteFunc(files, func(f string) bool { return f == files[1] || f == files[2] }))
	if r.Broken != nil || r.First == 1 {
		t.Errorf("%+v %+v", r, r.Broken)
	}
}

func verify(t *testing.T, files []string, expect ...Head) *Report {
	t.Helper()
	r, err := Verify(files, VerifyOptions{Key: public(), Expect: expect})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWholeLog(t *testing.T) {
	path, files := written(t, 200, 4000)
	if len(files) < 5 {
		t.Fatalf("only %v", files)
	}
	slices.Reverse(files) // the order does not matter
	r := verify(t, files)
	if r.Broken != nil || r.First != 1 || r.Last != r.Lines || r.Unsigned != 0 || r.Heads != len(files) || r.Lines != uint64(201+len(files)) {
		t.Errorf("%+v %+v", r, r.Broken)
	}
	l := opened(t, path) // goes on
	closed(t, l)
	again := verify(t, files, *r.LastHead)
	if again.Broken != nil || again.Lines != r.Lines+2 {
		t.Errorf("%+v %+v", again, again.Broken)
	}
	if _, err := Verify([]string{path + ".none"}, VerifyOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// Every change of a byte is found, at its line.
func TestEveryByteCounts(t *testing.T) {
	path, _ := written(t, 2, 0)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head := verify(t, []string{path}).LastHead
	if len(whole) < 100 {
		t.Fatalf("the log has %d bytes, want two entries", len(whole))
	}
	for i := range whole {
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		r := verify(t, []string{path}, *head)
		at := bytes.Count(whole[:i], []byte("\n")) + 1
		isEnd := i == len(whole)-1 // what has no end is not counted as a line
		if r.Broken == nil || !isEnd && (r.Broken.Line < at || r.Broken.Line > at+1) {
			t.Fatalf("byte %d, in line %d: %+v", i, at, r.Broken)
		}
	}
}

func TestLinesThatAreMissing(t *testing.T) {
	path, _ := written(t, 8, 0)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	lines = lines[:len(lines)-1]
	full := verify(t, []string{path})
	put := func(lines [][]byte) {
		t.Helper()
		if err := os.WriteFile(path, bytes.Join(lines, nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := 1; i < len(lines)-1; i++ {
		put(slices.Delete(slices.Clone(lines), i, i+1))
		if r := verify(t, []string{path}); r.Broken == nil || r.Broken.Line != i+1 {
			t.Errorf("without line %d: %+v", i+1, r.Broken)
		}
		swapped := slices.Clone(lines)
		swapped[i], swapped[i-1] = swapped[i-1], swapped[i]
		put(swapped)
		if r := verify(t, []string{path}); r.Broken == nil || r.Broken.Line > i+1 {
			t.Errorf("lines %d and %d swapped: %+v", i, i+1, r.Broken)
		}
		put(slices.Insert(slices.Clone(lines), i, lines[i-1]))
		if r := verify(t, []string{path}); r.Broken == nil || r.Broken.Line != i+1 {
			t.Errorf("line %d twice: %+v", i, r.Broken)
		}
		put(lines[:i]) // cut off
		r := verify(t, []string{path})
		if r.Broken != nil || r.Unsigned != uint64(i) || !strings.Contains(strings.Join(r.Notes, " "), "cut off") {
			t.Errorf("cut after line %d: %+v", i, r)
		}
		if r := verify(t, []string{path}, *full.LastHead); r.Broken == nil || !strings.Contains(r.Broken.What, "cut off") {
			t.Errorf("cut after line %d, with the head: %+v", i, r.Broken)
		}
	}
	put(nil)
	if r := verify(t, []string{path}, *full.LastHead); r.Broken == nil {
		t.Error("an empty log has the head")
	}
}

func TestFilesThatAreMissing(t *testing.T) {
	_, files := written(t, 200, 4000)
	slices.Sort(files) // the first one is the newest
	if r := verify(t, slices.Delete(slices.Clone(files), 2, 3)); r.Broken == nil || r.Broken.Line != 1 {
		t.Errorf("one in the middle: %+v", r.Broken)
	}
	if r := verify(t, slices.Delete(slices.Clone(files), 1, 2)); r.Broken != nil || r.First == 1 || !strings.Contains(r.Notes[0], "before it") {
		t.Errorf("the oldest: %+v", r)
	}
}

// Who writes a log anew needs the key.
func TestAnotherKey(t *testing.T) {
	path, _ := written(t, 3, 0)
	other := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize))
	r, err := Verify([]string{path}, VerifyOptions{Key: other.Public().(ed25519.PublicKey)})
	if err != nil || r.Broken == nil || !strings.Contains(r.Broken.What, "another key") {
		t.Errorf("%+v, %v", r.Broken, err)
	}
	if r, err := Verify([]string{path}, VerifyOptions{}); err != nil || r.Broken != nil || r.SignaturesVerified {
		t.Errorf("without a key: %+v, %v", r, err)
	}
}

// Wherever a crash cuts the last line, the log goes on.
func TestCrashWithinALine(t *testing.T) {
	path, _ := written(t, 3, 0)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for cut := last; cut < len(whole); cut++ {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		closed(t, opened(t, path))
		r := verify(t, []string{path})
		if r.Broken != nil || r.Unsigned != 0 {
			t.Fatalf("cut after %d bytes: %+v", cut-last, r.Broken)
		}
		now, _ := os.ReadFile(path)
		if (cut > last) != bytes.Contains(now, []byte(fmt.Sprintf(`"audit.recovered","object":%q,"outcome":"removed an unfinished line","count":%d`, Digest(whole[last:cut]), cut-last))) {
			t.Fatalf("cut after %d bytes:\n%s", cut-last, now)
		}
	}
	if err := os.WriteFile(path, []byte(`{"seq":`), 0o600); err != nil { // the very first line
		t.Fatal(err)
	}
	closed(t, opened(t, path))
	if r := verify(t, []string{path}); r.Broken != nil || r.First != 1 {
		t.Errorf("%+v", r)
	}
	if err := os.WriteFile(path, append(whole, "no line\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Path: path, Key: key}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a last line that is none: %v", err)
	}
}

// A crash between two files leaves no gap.
func TestCrashBetweenFiles(t *testing.T) {
	path, files := written(t, 50, 4000)
	before := verify(t, files)
	if err := os.Rename(path, rotatedName(path, before.Last)); err != nil {
		t.Fatal(err)
	}
	closed(t, opened(t, path))
	all, _ := filepath.Glob(path + ".0*")
	if r := verify(t, append(all, path), *before.LastHead); r.Broken != nil || r.First != 1 || r.Last != before.Last+2 {
		t.Errorf("%+v %+v", r, r.Broken)
	}
}

// disk is a disk with some bytes left.
type disk struct{ left int }

type fullFile struct {
	*os.File
	disk *disk
}

var errFull = errors.New("no space left on device")

func (f fullFile) Write(p []byte) (int, error) {
	if f.disk.left < len(p) {
		n, _ := f.File.Write(p[:f.disk.left]) // a part of the line
		f.disk.left = 0
		return n, errFull
	}
	f.disk.left -= len(p)
	return f.File.Write(p)
}

// On a full disk lines are lost, which the log says later, and an operator may have the service
// stop.
func TestFullDisk(t *testing.T) {
	path, d := filepath.Join(t.TempDir(), "audit.jsonl"), &disk{5000}
	synctest.Test(t, func(t *testing.T) {
		o := Options{Path: path, Key: key, MaxBytes: 3000, HeadEvery: time.Hour}
		l, err := openWith(withDefaults(o), func(path string) (file, error) {
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
			return fullFile{f, d}, err
		})
		if err != nil {
			t.Fatal(err)
		}
		guard := l.Guarded(nil)
		admit := func() error {
			_, err := guard.Admit(t.Context(), server.Principal{}, server.Cost{})
			return err
		}
		if err := admit(); err != nil {
			t.Fatal(err)
		}
		lost := int64(0)
		for range 100 {
			if err := l.Append(Entry{Action: "build", Outcome: "ok"}); err != nil {
				if lost == 0 && !errors.Is(err, errFull) {
					t.Fatal(err)
				}
				lost++
			}
		}
		var refusal *server.Refusal
		if err := admit(); !errors.As(err, &refusal) || refusal.Status != http.StatusServiceUnavailable || refusal.RetryAfter == 0 {
			t.Errorf("on a full disk: %v", err)
		}
		time.Sleep(2 * retry)
		if l.Err() == nil || admit() == nil {
			t.Error("the disk is still full")
		}
		d.left = 1 << 20
		time.Sleep(2 * retry)
		if err := admit(); err != nil {
			t.Errorf("with space again: %v", err)
		}
		if err := l.Append(Entry{Action: "build", Outcome: "ok"}); err != nil {
			t.Error(err)
		}
		closed(t, l)
		files, _ := filepath.Glob(path + ".0*")
		if r := verify(t, append(files, path)); r.Broken != nil || r.Lost != lost || lost == 0 || r.Unsigned != 0 {
			t.Errorf("lost %d: %+v %+v", lost, r, r.Broken)
		}
	})
}

func TestOneProcessWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := opened(t, path)
	if _, err := Open(Options{Path: path, Key: key}); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second one: %v", err)
	}
	closed(t, l)
	if err := l.Append(Entry{Action: "build"}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	closed(t, opened(t, path))
}

// Writers at the same time, with files that fill and heads by time, make one chain.
func TestManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := opened(t, path, func(o *Options) { o.MaxBytes, o.HeadEvery = 20_000, time.Millisecond })
	var writers sync.WaitGroup
	for range 8 {
		writers.Go(func() {
			for range 200 {
				if err := l.Append(Entry{Action: "build", Tenant: strings.Repeat("é", 1000), Request: "\xff", Outcome: "ok"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	closed(t, l)
	files, _ := filepath.Glob(path + ".0*")
	r := verify(t, append(files, path))
	if r.Broken != nil || len(files) < 10 || r.Lines != 1601+uint64(r.Heads) {
		t.Errorf("%+v %+v", r, r.Broken)
	}
}

// Requests are written, those of everybody are not, and a flood of refused ones is counted.
func TestRequests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	synctest.Test(t, func(t *testing.T) {
		l := opened(t, path, func(o *Options) { o.HeadEvery = time.Hour })
		send := func(r server.RequestInfo, u server.Usage, err error) {
			_, end := l.Observer().OnRequest(t.Context(), &r)
			end(&r, u, err)
		}
		send(server.RequestInfo{Action: "livez"}, server.Usage{Status: 200}, nil)
		send(server.RequestInfo{Action: "deleteFact", ID: "req-1", Generation: 7, Path: "/v1/memory/facts/secret-name", Method: "DELETE", Principal: server.Principal{KeyID: "k1", Tenant: "acme"}}, server.Usage{Status: 200}, nil)
		send(server.RequestInfo{Action: "build", ID: "req-2", Method: "POST", Path: "/v1/builds", Principal: server.Principal{KeyID: "k2", Tenant: "acme"}}, server.Usage{Status: 500, Claims: []server.Claim{{What: "conversation", Name: "secret-name"}}}, errors.New("busy"))
		for range 10_000 {
			send(server.RequestInfo{Action: "build"}, server.Usage{Status: 401}, &server.Refusal{Status: 401, Reason: "no_key"})
		}
		closed(t, l)
	})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	if n := strings.Count(text, `"outcome":"no_key"`); n != maxRefusals || !strings.Contains(text, fmt.Sprintf(`"count":%d`, 10_000-n)) {
		t.Errorf("%d refusals\n%s", n, text)
	}
	if strings.Contains(text, "livez") || strings.Contains(text, "secret-name") || !strings.Contains(text, `"key":"k1","tenant":"acme","action":"deleteFact","object":"sha256:`) || !strings.Contains(text, `"request":"req-1","generation":7}`) {
		t.Error(text)
	}
	if claim := `"key":"k2","tenant":"acme","action":"claim","object":"` + Digest([]byte("conversation secret-name")) + `","outcome":"ok","request":"req-2"}`; !strings.Contains(text, claim) {
		t.Errorf("no line has %s: %s", claim, text)
	}
	if r := verify(t, []string{path}); r.Broken != nil {
		t.Errorf("%+v", r.Broken)
	}
}

func TestKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.key")
	made, err := Key(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Key(path)
	if err != nil || !again.Equal(made) {
		t.Errorf("read again: %v", err)
	}
	for _, name := range []string{path, path + ".pub"} {
		if pub, err := PublicKey(name); err != nil || !pub.Equal(made.Public()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Key(path); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
}

// Without the key nobody writes a head, and no line makes the verifier fail.
func FuzzVerify(f *testing.F) {
	f.Add([]byte(`{"seq":1,"time":"2026-01-01T00:00:00Z","prev":"` + first + `","action":"a","outcome":"ok"}` + "\n"))
	f.Add([]byte(`{"seq":18446744073709551615,"head":{}}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v := &verifier{o: VerifyOptions{Key: public()}, prev: first}
		r := bufio.NewReaderSize(bytes.NewReader(data), maxLine)
		for {
			text, _, err := readLine(r)
			if err != nil || v.line(text) != "" {
				break
			}
		}
		v.end()
		if v.report.Heads > 0 || v.report.Lines > uint64(bytes.Count(data, []byte("\n")))+1 {
			t.Fatalf("%+v", v.report)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	l, err := Open(Options{Path: filepath.Join(b.TempDir(), "a"), Key: key})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	e := Entry{Key: "k1", Tenant: "acme", Action: "build", Object: Digest(nil), Outcome: "ok", Status: 200, Request: "0123456789"}
	for b.Loop() {
		if err := l.Append(e); err != nil {
			b.Fatal(err)
		}
	}
}
