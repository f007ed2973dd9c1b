package abi

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files and the generated parts of ABI.md")

// checkGolden compares data with a file of testdata.
func checkGolden(t *testing.T, name string, data []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, want) {
		t.Errorf("%s differs from what is written now; the layout is a contract (if it is meant: go test ./abi -update)", name)
	}
}

// firstColumns are those that the first hosts of version 1 sent.
const firstColumns = AllColumns &^ (1 << ColumnEmbedding)

// The bytes of layout 1.0 are fixed: old plugins read them.
func TestGoldenBatches(t *testing.T) {
	score, vectors := ColumnSet(0).With(ColumnScore), ColumnSet(0).With(ColumnID).With(ColumnEmbedding)
	for name, b := range map[string][]byte{
		"batch_all.bin":        encodeBatch(t, ItemRows(goldenItems()), firstColumns, goldenEnvelope()),
		"batch_score.bin":      encodeBatch(t, ItemRows(goldenItems()), score, &Envelope{TopK: 3}),
		"batch_query.bin":      encodeBatch(t, nil, 0, &Envelope{Query: &Query{Text: "which fox?"}, TopK: 5, TokensLeft: 100}),
		"batch_empty.bin":      encodeBatch(t, ItemRows{}, firstColumns, nil),
		"batch_vectors.bin":    encodeBatch(t, ItemRows(goldenItems()), vectors, nil),
		"batch_no_vectors.bin": encodeBatch(t, ItemRows{{ID: "a"}}, vectors, nil),
	} {
		checkGolden(t, name, b)
	}
}

// Both forms of a change set are fixed, and mean the same.
func TestGoldenChanges(t *testing.T) {
	for name, c := range map[string]*Changes{
		"changes_all":  goldenChanges(),
		"changes_keep": {Keep: []uint32{0, 2}},
		"changes_none": {},
	} {
		bin, err := AppendChanges(nil, c)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := AppendChangesJSON(nil, c)
		if err != nil {
			t.Fatal(err)
		}
		checkGolden(t, name+".bin", bin)
		checkGolden(t, name+".json", append(doc, '\n'))
		got, err := DecodeChangesJSON(doc)
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestGoldenRequest(t *testing.T) {
	for name, cols := range map[string]ColumnSet{"items_request.json": firstColumns, "items_request_vectors.json": ColumnSet(0).With(ColumnID).With(ColumnEmbedding)} {
		doc, err := AppendItemsRequest(nil, ItemRows(goldenItems()), cols, goldenEnvelope())
		if err != nil {
			t.Fatal(err)
		}
		checkGolden(t, name, append(doc, '\n'))
	}
}
