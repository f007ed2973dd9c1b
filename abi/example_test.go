package abi_test

import (
	"fmt"
	"log"

	"github.com/anchor-host/anchor-host/abi"
)

// A host writes only the columns that the manifest reads; a guest reads them in
// place.
func ExampleBatchWriter() {
	rows := abi.ItemRows{{Content: "old news", Score: 0.2}, {Content: "fresh news", Score: 0.9}}
	cols, err := abi.ColumnsOf([]string{"score"})
	if err != nil {
		log.Fatal(err)
	}
	var w abi.BatchWriter
	size, err := w.Plan(rows, cols, &abi.Envelope{Query: &abi.Query{Text: "news?"}})
	if err != nil {
		log.Fatal(err)
	}
	buf := make([]byte, size) // the guest lends this
	if err := w.Write(buf); err != nil {
		log.Fatal(err)
	}

	b, err := abi.OpenBatch(buf)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s %d rows, %v, text %q\n", b.QueryText(), b.Len(), b.Scores(), b.Text(1))
	// Output: news? 2 rows, [0.2 0.9], text ""
}

// A guest answers with row numbers; the host checks all of it before it applies
// anything.
func ExampleChanges_Check() {
	out, err := abi.AppendChanges(nil, &abi.Changes{Keep: []uint32{1, 7}})
	if err != nil {
		log.Fatal(err)
	}
	changes, err := abi.DecodeChanges(out)
	if err != nil {
		log.Fatal(err)
	}
	grant := abi.Grant{Writes: abi.ChangeSet(0).With(abi.ChangeKeep)}
	fmt.Println(changes.Check(2, grant))
	// Output: changes: keep[1]: row 7: does not exist (the call has 2 rows, 0 to 1)
}

// One function serves both lanes: BatchOf turns the document into the view.
func ExampleBatchOf() {
	req, err := abi.DecodeItemsRequest([]byte(`{"query": {"query_str": "q"}, "items": [{"metadata": {"year": 2024}}]}`))
	if err != nil {
		log.Fatal(err)
	}
	b, err := abi.BatchOf(req)
	if err != nil {
		log.Fatal(err)
	}
	year, ok := b.MetaValue(0, "year")
	fmt.Println(year, ok, year.Kind())
	// Output: 2024 true i64
}
