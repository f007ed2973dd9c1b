package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/pipeline/sqlite"
	"github.com/anchor-host/anchor-host/store"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	path := filepath.Join(dir, "store.db")
	key := store.Key{Tenant: store.DefaultTenant, Kind: "turn", Stream: "conversation-1"}

	s, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		panic(err)
	}
	if _, err := s.Append(ctx, key, store.Record{Data: json.RawMessage(`"hello"`)}); err != nil {
		panic(err)
	}
	if err := s.Close(); err != nil {
		panic(err)
	}

	s, err = sqlite.Open(ctx, path, sqlite.Options{}) // a day later
	if err != nil {
		panic(err)
	}
	defer s.Close()
	recs, err := s.Last(ctx, key, 50)
	fmt.Println(recs[0].Seq, recs[0].ID, string(recs[0].Data), err)
	// Output: 1 #1 "hello" <nil>
}
