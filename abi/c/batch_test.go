package c_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/abi"
	"github.com/anchor-host/anchor-host/abi/internal/layout"
)

// compile builds the test program, with the sanitizers where the compiler has
// them. Without a compiler the test is skipped, loudly; in CI it fails.
func compile(t *testing.T) string {
	t.Helper()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	path, err := exec.LookPath(cc)
	if err != nil {
		msg := fmt.Sprintf("NO C COMPILER: %s is not installed, so anchor_batch.h is NOT TESTED (install gcc or clang, or set CC)", cc)
		if os.Getenv("CI") != "" {
			t.Fatal(msg)
		}
		t.Log(msg)
		t.Skip(msg)
	}
	bin := filepath.Join(t.TempDir(), "batch_test")
	flags := []string{"-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-o", bin, "test/batch_test.c"}
	sanitize := []string{"-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}
	if out, err := exec.Command(path, append(sanitize, flags...)...).CombinedOutput(); err == nil {
		return bin
	} else {
		t.Logf("without sanitizers: %s", firstLine(out))
	}
	if out, err := exec.Command(path, flags...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", path, err, out)
	}
	return bin
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

// goLine is what the C program prints for a batch, by the Go reader.
func goLine(data []byte) string {
	b, err := abi.OpenBatch(data)
	if err != nil {
		return "error"
	}
	h := fnv.New64a()
	u64 := func(v uint64) { _ = binary.Write(h, binary.LittleEndian, v) }
	text := func(s string) {
		u64(uint64(len(s)))
		_, _ = io.WriteString(h, s)
	}
	u64(uint64(b.Len()))
	for i := range b.Len() {
		text(b.ID(i))
		u64(math.Float64bits(b.Score(i)))
		text(b.Text(i))
		text(b.Source(i))
		u64(uint64(b.Priority(i)))
		u64(uint64(b.TokenCount(i)))
		if at := b.CreatedAt(i); at.IsZero() {
			u64(1 << 63)
		} else {
			u64(uint64(at.UnixNano()))
		}
		u64(uint64(len(b.Embedding(i))))
		_ = binary.Write(h, binary.LittleEndian, b.Embedding(i))
		u64(uint64(b.MetaLen(i)))
		for n := range b.MetaLen(i) {
			key, v := b.MetaAt(i, n)
			text(key)
			u64(uint64(v.Kind()))
			u64(valueBits(v))
			text(valueText(v))
		}
	}
	f := fieldsOf(data)
	text(b.QueryText())
	text(string(f[layout.SectionQueryMetadata]))
	text(string(f[layout.SectionChatHistory]))
	text(string(b.Settings()))
	u64(uint64(len(b.QueryEmbedding())))
	_ = binary.Write(h, binary.LittleEndian, b.QueryEmbedding())
	u64(uint64(b.TopK()))
	u64(uint64(b.TokensLeft()))
	return fmt.Sprintf("ok %016x", h.Sum64())
}

// fieldsOf returns the sections of a batch that the Go reader has accepted.
func fieldsOf(b []byte) map[layout.Section][]byte {
	le, fields := binary.LittleEndian, map[layout.Section][]byte{}
	at := le.Uint32(b[8:])
	for range le.Uint32(b[20:]) {
		e := b[at:]
		off, n := le.Uint32(e[8:]), le.Uint32(e[12:])
		fields[layout.Section(le.Uint16(e))] = b[off : off+n]
		at += layout.EntrySize
	}
	return fields
}

func valueBits(v abi.Value) uint64 {
	if n, ok := v.Int(); ok {
		return uint64(n)
	}
	if f, ok := v.Float(); ok {
		return math.Float64bits(f)
	}
	if b, _ := v.Bool(); b {
		return 1
	}
	return 0
}

func valueText(v abi.Value) string {
	if s, ok := v.Text(); ok {
		return s
	}
	s, _ := v.JSON()
	return s
}

// golden reads the batches of the package's testdata.
func golden(t *testing.T) [][]byte {
	t.Helper()
	paths, err := filepath.Glob("../testdata/batch_*.bin")
	if err != nil || len(paths) < 3 {
		t.Fatalf("golden batches: %v, %v", paths, err)
	}
	var list [][]byte
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b)
	}
	return list
}

// corrupt returns each batch, each of its prefixes, each with one bit of one
// byte flipped and each with one word set to an extreme.
func corrupt(batches [][]byte) [][]byte {
	var all [][]byte
	for _, b := range batches {
		all = append(all, b)
		for i := range b {
			all = append(all, b[:i])
			c := slices.Clone(b)
			c[i] ^= 1 << (i % 8)
			all = append(all, c)
		}
		for i := 0; i+4 <= len(b); i += 4 {
			for _, v := range []uint32{math.MaxUint32, 1 << 31, uint32(len(b)), 0} {
				c := slices.Clone(b)
				binary.LittleEndian.PutUint32(c[i:], v)
				all = append(all, c)
			}
		}
	}
	return all
}

// The C reader accepts exactly what the Go reader accepts, and reads the same.
func TestReaderAgreesWithGo(t *testing.T) {
	bin := compile(t)
	batches := corrupt(golden(t))
	var in bytes.Buffer
	for _, b := range batches {
		_ = binary.Write(&in, binary.LittleEndian, uint32(len(b)))
		in.Write(b)
	}
	cmd := exec.Command(bin)
	cmd.Stdin = &in
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(batches) {
		t.Fatalf("%d answers for %d batches", len(lines), len(batches))
	}
	accepted := 0
	for i, line := range lines {
		if strings.HasPrefix(line, "error ") {
			line = "error"
		} else {
			accepted++
		}
		if want := goLine(batches[i]); line != want {
			t.Fatalf("batch %d: C says %q, Go says %q\n%x", i, lines[i], want, batches[i])
		}
	}
	t.Logf("%d batches, %d of them sound", len(batches), accepted)
}

// What the C writer writes, the host reads.
func TestWriter(t *testing.T) {
	out, err := exec.Command(compile(t), "write").Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := abi.DecodeChanges(out)
	if err != nil {
		t.Fatal(err)
	}
	want := &abi.Changes{
		Keep:   []uint32{0, 2, 3},
		Scores: []abi.RowScore{{Row: 2, Score: 0.25}, {Row: 0, Score: 1}},
		Order:  []uint32{3, 0, 2},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
