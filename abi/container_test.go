package abi

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/abi/internal/inplace"
	"github.com/anchor-host/anchor-host/abi/internal/jsontext"
	"github.com/anchor-host/anchor-host/abi/internal/layout"
)

// Every prefix of a container, and every container with one byte flipped, is a
// value or an error, and readable to the last cell when it is a value.
func TestCorruptContainers(t *testing.T) {
	batch := encodeBatch(t, ItemRows(goldenItems()), AllColumns, goldenEnvelope())
	changes, err := AppendChanges(nil, goldenChanges())
	if err != nil {
		t.Fatal(err)
	}
	for i := range batch {
		if _, err := OpenBatch(batch[:i]); err == nil || !errors.Is(err, ErrMalformed) {
			t.Fatalf("batch cut at %d: %v", i, err)
		}
	}
	for i := range changes {
		if _, err := DecodeChanges(changes[:i]); err == nil || !errors.Is(err, ErrMalformed) {
			t.Fatalf("changes cut at %d: %v", i, err)
		}
	}
	for _, bit := range []byte{1, 0x80} {
		for i := range batch {
			b := slices.Clone(batch)
			b[i] ^= bit
			if v, err := OpenBatch(b); err == nil {
				readAll(v)
			}
		}
		for i := range changes {
			b := slices.Clone(changes)
			b[i] ^= bit
			if c, err := DecodeChanges(b); err == nil {
				_ = c.Check(4, wideGrant())
			}
		}
	}
}

// readAll touches every cell.
func readAll(b *Batch) {
	itemsOf(b)
	for i := range b.Len() {
		for n := range b.MetaLen(i) {
			key, v := b.MetaAt(i, n)
			_ = v.String()
			b.MetaValue(i, key)
		}
	}
	_, _ = b.Query()
	_, _, _, _ = b.Scores(), b.QueryEmbedding(), b.Settings(), b.TopK()
}

// put32 changes one u32 of a copy.
func put32(b []byte, at int, v uint32) []byte {
	b = slices.Clone(b)
	binary.LittleEndian.PutUint32(b[at:], v)
	return b
}

func put16(b []byte, at int, v uint16) []byte {
	b = slices.Clone(b)
	binary.LittleEndian.PutUint16(b[at:], v)
	return b
}

// corruptions are batches that break one rule each, with the message. The
// golden batch has 3 rows; its directory begins with id, score, text, metadata.
func corruptions(b []byte) map[string][]byte {
	entry := func(i int) int { return layout.HeaderSize + layout.EntrySize*i }
	off := func(i int) int { return int(binary.LittleEndian.Uint32(b[entry(i)+8:])) }
	meta := off(3)
	cells, rowOff := meta+16, meta+16+8*7
	keyOff := rowOff + 4*4
	entryKey := keyOff + 4*7
	kinds := entryKey + 4*7
	vectors := off(8)
	last := entry(int(binary.LittleEndian.Uint32(b[20:])) - 1)
	kind := slices.Clone(b)
	kind[kinds] = 6
	return map[string][]byte{
		`batch begins with "ANCX" (want "ANCB")`:                                                                                put32(b, 0, layout.BatchMagic&0xffffff|'X'<<24),
		"batch has layout version 2 (this side reads version 1)":                                                                put16(b, 4, 2),
		"batch has a header of 24 bytes (want 32 or a larger multiple of 8 within the container)":                               put32(b, 8, 24),
		"batch has a header of 33 bytes (want 32 or a larger multiple of 8 within the container)":                               put32(b, 8, 33),
		"batch has 1048577 rows (want at most 1048576)":                                                                         put32(b, 16, MaxRows+1),
		"batch has 4294967295 sections, more than its bytes hold":                                                               put32(b, 20, math.MaxUint32),
		"batch lists section id out of order (want ascending ids from 1)":                                                       put16(b, entry(1), 1),
		"batch lists section 0 out of order (want ascending ids from 1)":                                                        put16(b, entry(0), 0),
		"batch lists section query_text out of order (want ascending ids from 1)":                                               put16(b, last, 256),
		"batch requires section 400, which is not supported":                                                                    put32(put16(b, last, 400), last+4, layout.FlagRequired),
		"batch has section score of type text (want f64[])":                                                                     put16(b, entry(1)+2, 1),
		"batch has section score of 16 bytes (want 24)":                                                                         put32(b, entry(1)+12, 16),
		"batch has section id with offsets that do not rise from 0 to the number of its bytes":                                  put32(b, off(0)+4, 5),
		"batch has section metadata with row offsets that do not rise from 0 to the number of entries":                          put32(b, rowOff, 1),
		"batch has section metadata with key offsets that do not rise from 0 to the number of key bytes":                        put32(b, keyOff+4, 1000),
		"batch has section metadata whose row 0 names key 9 (want ascending, below 6)":                                          put32(b, entryKey, 9),
		"batch has section metadata whose row 0 names key 0 (want ascending, below 6)":                                          put32(b, entryKey+4, 0),
		"batch has section metadata whose row 0 has a kind 6 with an invalid cell":                                              kind,
		"batch has section metadata whose row 0 has a string with an invalid cell":                                              put32(b, cells+8, 1),
		"batch has section embedding with vectors of 16385 dimensions (want at most 16384)":                                     put32(b, vectors, MaxDimension+1),
		"batch has section embedding of 44 bytes (want 56)":                                                                     put32(b, vectors, 4),
		"batch has section embedding of 44 bytes (want 8)":                                                                      put32(b, vectors, 0),
		"batch has section embedding of 4 bytes (want at least 8)":                                                              put32(b, entry(8)+12, 4),
		"batch has section score at 8+24 (want 8-aligned, after the section before, within " + strconv.Itoa(len(b)) + " bytes)": put32(b, entry(1)+8, 8),
	}
}

func TestOpenBatchErrors(t *testing.T) {
	b := encodeBatch(t, ItemRows(goldenItems()), AllColumns, goldenEnvelope())
	for want, bad := range corruptions(b) {
		if v, err := OpenBatch(bad); v != nil || err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// Sections of newer hosts are skipped.
func TestSkipsUnknownSections(t *testing.T) {
	b := encodeBatch(t, ItemRows(goldenItems()), AllColumns, goldenEnvelope())
	n := int(binary.LittleEndian.Uint32(b[20:]))
	last := layout.HeaderSize + layout.EntrySize*(n-1)
	v, err := OpenBatch(put16(put16(b, 6, 7), last, 400))
	if err != nil {
		t.Fatal(err)
	}
	if v.TokensLeft() != 0 || v.TopK() != 10 {
		t.Errorf("tokens left %d, top_k %d", v.TokensLeft(), v.TopK())
	}
}

// Bytes that are not aligned, and machines that are big-endian, read the same.
func TestPortableReader(t *testing.T) {
	items := goldenItems()
	b := encodeBatch(t, ItemRows(items), AllColumns, goldenEnvelope())
	want := itemsOf(mustOpen(t, b))
	shifted := inplace.AlignedBytes(len(b) + 1)[1:]
	copy(shifted, b)
	check := func(name string, b []byte) {
		t.Helper()
		v := mustOpen(t, b)
		if got := itemsOf(v); !slices.EqualFunc(got, want, sameItem) {
			t.Errorf("%s: got %+v", name, got)
		}
		if e := v.QueryEmbedding(); !slices.Equal(e, []float32{0.5, -1.25}) {
			t.Errorf("%s: embedding %v", name, e)
		}
	}
	check("unaligned", shifted)
	defer func(le bool) { inplace.LittleEndian = le }(inplace.LittleEndian)
	inplace.LittleEndian = false
	check("portable reader", b)
	portable := encodeBatch(t, ItemRows(items), AllColumns, goldenEnvelope())
	inplace.LittleEndian = true
	if !slices.Equal(portable, b) {
		t.Error("the portable writer writes other bytes")
	}
}

func sameItem(a, b Item) bool {
	return a.ID == b.ID && a.Content == b.Content && a.Score == b.Score && a.CreatedAt.Equal(b.CreatedAt) && len(a.Metadata) == len(b.Metadata)
}

func mustOpen(t *testing.T, b []byte) *Batch {
	t.Helper()
	v, err := OpenBatch(b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// A writer that is used again allocates nothing, keeps nothing of the last
// batch, and writes the same bytes.
func TestWriterReuse(t *testing.T) {
	var rows Rows = ItemRows(benchItems(50))
	env := &Envelope{Query: &Query{Text: "q", Metadata: Metadata{"k": int64(1)}}}
	var w BatchWriter
	size, err := w.Plan(rows, AllColumns, env)
	if err != nil {
		t.Fatal(err)
	}
	first, again := make([]byte, size), make([]byte, size)
	if err := w.Write(first); err != nil {
		t.Fatal(err)
	}
	if w.rows != nil || w.query.Metadata != nil {
		t.Error("the writer keeps the rows alive")
	}
	allocs := testing.AllocsPerRun(20, func() {
		if _, err := w.Plan(rows, AllColumns, env); err != nil {
			t.Error(err)
		}
		if err := w.Write(again); err != nil {
			t.Error(err)
		}
	})
	if allocs > 1 {
		t.Errorf("%v allocations per batch, want at most that of sorting the query metadata", allocs)
	}
	if !slices.Equal(first, again) {
		t.Error("the same rows give other bytes")
	}
	if err := w.Write(again); err == nil || !strings.Contains(err.Error(), "call Plan before each Write") {
		t.Errorf("Write without Plan: %v", err)
	}
}

// Rows with many keys of their own take the other way through the dictionary,
// to the same bytes, whatever the order of the map.
func TestMetadataDictionary(t *testing.T) {
	var rows []Item
	for r := range 40 {
		m := Metadata{"common": int64(r)}
		for k := range 30 {
			m["key-"+strconv.Itoa(r*17%23)+"-"+strconv.Itoa(k*r%29)] = strconv.Itoa(k)
		}
		rows = append(rows, Item{Metadata: m})
	}
	cols := ColumnSet(0).With(ColumnMetadata)
	first := encodeBatch(t, ItemRows(rows), cols, nil)
	b := mustOpen(t, first)
	for i, r := range rows {
		if got := b.Metadata(i); len(got) != len(r.Metadata) || got["common"] != r.Metadata["common"] {
			t.Errorf("row %d: got %v", i, got)
		}
		for k, v := range r.Metadata {
			if k != "common" && b.Metadata(i)[k] != v {
				t.Errorf("row %d: %s = %v, want %v", i, k, b.Metadata(i)[k], v)
			}
		}
	}
	for range 5 {
		if !slices.Equal(first, encodeBatch(t, ItemRows(rows), cols, nil)) {
			t.Fatal("the same rows give other bytes")
		}
	}
}

func TestRowsChangedAfterPlan(t *testing.T) {
	items := goldenItems()
	var w BatchWriter
	size, err := w.Plan(ItemRows(items), AllColumns, nil)
	if err != nil {
		t.Fatal(err)
	}
	items[1].Content = "longer than before"
	if err := w.Write(make([]byte, size)); err == nil || err.Error() != "row 1: text: changed between Plan and Write" {
		t.Errorf("got %v", err)
	}
}

// manyRows has more rows than a batch may have.
type manyRows struct{ ItemRows }

func (manyRows) Len() int { return MaxRows + 1 }

func TestTooManyRows(t *testing.T) {
	var w BatchWriter
	_, err := w.Plan(manyRows{}, 0, nil)
	_, jsonErr := AppendItemsRequest(nil, manyRows{}, 0, nil)
	for _, err := range []error{err, jsonErr} {
		if !errors.Is(err, ErrTooLarge) || err.Error() != "batch has 1048577 rows (at most 1048576)" {
			t.Errorf("got %v", err)
		}
	}
}

func TestTimes(t *testing.T) {
	for _, at := range []time.Time{{}, time.Unix(0, 0).UTC(), time.Unix(-1, 5).UTC(), time.Unix(0, math.MaxInt64).UTC(), time.Unix(0, math.MinInt64+1).UTC()} {
		ns, err := jsontext.Nanoseconds(at)
		if got := jsontext.Time(ns); err != nil || !got.Equal(at) || got.IsZero() != at.IsZero() {
			t.Errorf("%v: got %v, %v", at, got, err)
		}
	}
	for _, at := range []time.Time{time.Unix(0, math.MinInt64), time.Unix(0, math.MaxInt64).Add(1), time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if _, err := jsontext.Nanoseconds(at); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%v: %v", at, err)
		}
	}
}
