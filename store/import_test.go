package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/anchor-host/anchor-host/store"
)

const good = `{"tenant":"t","kind":"k","data":1}` + "\n"

func TestImportRefuses(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"no object", `[1]`, "[1]: invalid value (want an object)"},
		{"no JSON", `tenant`, "invalid character"},
		{"half an object", `{"tenant":"t","kind":"k","data":1`, "unexpected EOF"},
		{"half a value", `{"tenant":"t","kind":"k","data":{"a"`, `data.a: unexpected EOF`},
		{"two objects", `{"tenant":"t","kind":"k","data":1} {}`, "data after the object"},
		{"unknown member", `{"tenant":"t","kind":"k","data":1,"extra":2}`, `extra: unknown key: invalid value (want one of tenant, kind, stream, seq, id, time, data, last)`},
		{"member of another case", `{"Tenant":"t","kind":"k","data":1}`, `Tenant: unknown key: invalid value (did you mean "tenant"?)`},
		{"member twice", `{"tenant":"t","kind":"k","data":1,"data":2}`, `data: given twice`},
		{"null", `{"tenant":"t","kind":"k","data":1,"id":null}`, `id: null: invalid value (leave it out)`},
		{"number for text", `{"tenant":7,"kind":"k","data":1}`, `tenant: 7: invalid value (want a string)`},
		{"text for number", `{"tenant":"t","kind":"k","data":1,"seq":"1"}`, `seq: "1": invalid value (want an integer within 64 bits)`},
		{"fraction", `{"tenant":"t","kind":"k","data":1,"seq":1.5}`, `seq: 1.5: invalid value (want an integer within 64 bits)`},
		{"no time", `{"tenant":"t","kind":"k","data":1,"time":"today"}`, `time: "today": invalid value (want a time in RFC 3339)`},
		{"no tenant", `{"kind":"k","data":1}`, "no tenant"},
		{"no kind", `{"tenant":"t","data":1}`, "no kind"},
		{"no data", `{"tenant":"t","kind":"k"}`, "no data"},
		{"seq below zero", `{"tenant":"t","kind":"k","data":1,"seq":-1}`, "seq -1"},
		{"seq too great", `{"tenant":"t","kind":"k","data":1,"seq":4294967296}`, "seq 4294967296"},
		{"control character", `{"tenant":"t\n","kind":"k","data":1}`, "control characters"},
		{"not UTF-8", "{\"tenant\":\"\xff\",\"kind\":\"k\",\"data\":1}", "not UTF-8"},
		{"year 1600", `{"tenant":"t","kind":"k","data":1,"time":"1600-01-01T00:00:00Z"}`, "years 1678 to 2262"},
		{"byte order mark", "\ufeff" + good, "invalid character"},
		{"a line without end", strings.Repeat("x", store.MaxData+64<<10), "longer than"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := store.NewMemory()
			n, err := store.Import(t.Context(), s, strings.NewReader(good+"\n"+tt.line))
			if n != 0 || !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("have %d, %v, want %q", n, err, tt.want)
			}
			if s := err.Error(); !strings.HasPrefix(s, "import: line 3: ") || !strings.HasSuffix(s, "(nothing is stored)") || strings.Contains(s, "\n") {
				t.Errorf("%q does not name line 3 and what is stored", s)
			}
			if keys, err := s.Keys(t.Context(), "t", ""); err != nil || len(keys) != 0 {
				t.Errorf("have keys %v, %v", keys, err)
			}
		})
	}
}

// TestImportBatches stops after the first batch.
func TestImportBatches(t *testing.T) {
	s := store.NewMemory()
	n, err := store.Import(t.Context(), s, strings.NewReader(strings.Repeat(good, 2500)+"{}"))
	if n != 2000 || err == nil || !strings.Contains(err.Error(), "line 2501: ") || !strings.Contains(err.Error(), "the 2000 records before line 2001 are stored") {
		t.Errorf("have %d, %v", n, err)
	}
	recs, err := s.Read(t.Context(), store.Key{Tenant: "t", Kind: "k"}, 0, 0)
	if err != nil || len(recs) != 2000 || recs[1999].Seq != 2000 {
		t.Errorf("have %d records, %v", len(recs), err)
	}
}

func TestImportAs(t *testing.T) {
	s := store.NewMemory()
	in := good + `{"kind":"k","data":2}` + "\n"
	if n, err := store.ImportChecked(t.Context(), s, strings.NewReader(in), "mine", nil); n != 2 || err != nil {
		t.Fatalf("have %d, %v", n, err)
	}
	for tenant, want := range map[string]int{"mine": 2, "t": 0} {
		recs, err := s.Read(t.Context(), store.Key{Tenant: tenant, Kind: "k"}, 0, 0)
		if err != nil || len(recs) != want {
			t.Errorf("tenant %s: have %d records, %v, want %d", tenant, len(recs), err, want)
		}
	}
	if _, err := store.ImportChecked(t.Context(), s, strings.NewReader(in), "", nil); !errors.Is(err, store.ErrInvalid) {
		t.Errorf("no tenant: have error %v", err)
	}
}

func TestImportBroken(t *testing.T) {
	sick := errors.New("the disk is sick")
	s := store.NewMemory()
	_, err := store.Import(t.Context(), s, io.MultiReader(strings.NewReader(good), iotest.ErrReader(sick)))
	if !errors.Is(err, sick) || !strings.HasPrefix(err.Error(), "import: line 2: ") {
		t.Errorf("broken reader: have error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := store.Import(ctx, s, strings.NewReader(good)); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context: have error %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Import(t.Context(), s, strings.NewReader(good)); !errors.Is(err, store.ErrClosed) || !strings.Contains(err.Error(), "lines 1 to ") {
		t.Errorf("closed store: have error %v", err)
	}
	if err := store.Export(t.Context(), s, io.Discard, "t"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("export of a closed store: have error %v", err)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestExportBroken(t *testing.T) {
	s := store.NewMemory()
	if _, err := store.Import(t.Context(), s, strings.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	if err := store.Export(t.Context(), s, brokenWriter{}, "t"); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("have error %v", err)
	}
}

func TestAllStops(t *testing.T) {
	s := store.NewMemory()
	if _, err := store.Import(t.Context(), s, strings.NewReader(strings.Repeat(good, 250))); err != nil {
		t.Fatal(err)
	}
	key := store.Key{Tenant: "t", Kind: "k"}
	seen := 0
	for r, err := range store.All(t.Context(), s, key, 20) {
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if r.Seq == 170 {
			break
		}
	}
	if seen != 150 {
		t.Errorf("have %d records, want 150", seen)
	}
	var errs []error
	for _, err := range store.All(t.Context(), s, store.Key{}, 0) {
		errs = append(errs, err)
	}
	if len(errs) != 1 || !errors.Is(errs[0], store.ErrInvalid) {
		t.Errorf("an empty key: errors %v, want ErrInvalid once", errs)
	}
}

// FuzzImport: a value or an error, and what was imported exports to something that
// imports to the same.
func FuzzImport(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(good + good + "\n{\"tenant\":\"t\",\"kind\":\"k\",\"stream\":\"s\",\"seq\":7,\"id\":\"#7\",\"time\":\"2025-01-02T03:04:05.6+01:00\",\"data\":{\"a\":[1e9,null,\"\\u2028<\"]}}"))
	f.Add([]byte(`{"tenant":"t","kind":"k","id":"#4","seq":3,"data":{}}` + "\n" + `{"tenant":"t","kind":"k","id":"#3","data":{}}`))
	f.Add([]byte(`{"tenant":"t","kind":"k","data":1,"seq":4294967295}` + "\n" + good))
	f.Fuzz(func(t *testing.T, in []byte) {
		s := store.NewMemory()
		n, err := store.ImportChecked(t.Context(), s, bytes.NewReader(in), "t", nil)
		first := export(t, s)
		if lines := bytes.Count(first, []byte("\n")); err != nil && lines != n && n == 0 || lines > n {
			t.Fatalf("%d lines of %d records, %v", lines, n, err)
		}
		copied := store.NewMemory()
		if m, err := store.Import(t.Context(), copied, bytes.NewReader(first)); err != nil || m > n {
			t.Fatalf("import of an export: %d of %d, %v\n%s", m, n, err, first)
		}
		if second := export(t, copied); !bytes.Equal(first, second) {
			t.Fatalf("copy differs\n%s\n%s", first, second)
		}
	})
}

func export(t *testing.T, s store.Store) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := store.Export(t.Context(), s, &b, "t"); err != nil {
		t.Fatal(fmt.Errorf("export: %w", err))
	}
	return b.Bytes()
}
