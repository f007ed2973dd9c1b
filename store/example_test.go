package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/anchor-host/anchor-host/store"
)

func ExampleStore() {
	ctx := context.Background()
	var s store.Store = store.NewMemory()
	defer s.Close()
	facts := store.Key{Tenant: store.DefaultTenant, Kind: "fact"}
	first, err := s.Append(ctx, facts,
		store.Record{ID: "name", Data: json.RawMessage(`"Ada"`)},
		store.Record{ID: "city", Data: json.RawMessage(`"London"`)})
	fmt.Println(first, err)

	err = s.Put(ctx, facts, store.Record{ID: "city", Data: json.RawMessage(`"Paris"`)})
	fmt.Println(err)
	for r, err := range store.All(ctx, s, facts, 0) {
		fmt.Println(r.Seq, r.ID, string(r.Data), err)
	}
	// Output:
	// 1 <nil>
	// <nil>
	// 1 name "Ada" <nil>
	// 2 city "Paris" <nil>
}

func ExampleExport() {
	ctx := context.Background()
	s := store.NewMemory()
	defer s.Close()
	key := store.Key{Tenant: "ada", Kind: "turn", Stream: "c1"}
	at := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	if _, err := s.Append(ctx, key, store.Record{Data: json.RawMessage(`{"text": "hi"}`), Time: at}); err != nil {
		panic(err)
	}
	if err := store.Export(ctx, s, os.Stdout, "ada"); err != nil {
		panic(err)
	}
	// Output: {"tenant":"ada","kind":"turn","stream":"c1","seq":1,"id":"#1","time":"2025-01-02T03:04:05Z","data":{"text":"hi"}}
}

func ExampleImport() {
	ctx := context.Background()
	s := store.NewMemory()
	defer s.Close()
	n, err := store.Import(ctx, s, strings.NewReader(`{"tenant":"ada","kind":"fact","id":"city","data":"London"}
{"tenant":"ada","kind":"fact","id":"city","date":"Paris"}
`))
	fmt.Println(n)
	fmt.Println(err)
	// Output:
	// 0
	// import: line 2: date: unknown key: invalid value (did you mean "data"?) (nothing is stored)
}
