package sqlite

import (
	"encoding/json"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/store"
)

// longTests enables tests that take minutes.
var longTests = os.Getenv("ANCHOR_LONG_TESTS") != ""

// TestMain runs the tests, or is the writer that one of them kills.
func TestMain(m *testing.M) {
	if path := os.Getenv(victimEnv); path != "" {
		victim(path)
		return
	}
	if path := os.Getenv(indexVictimEnv); path != "" {
		indexVictim(path, os.Getenv(indexVictimName))
		return
	}
	if path := os.Getenv(factVictimEnv); path != "" {
		factVictim(path, os.Getenv(factVictimName))
		return
	}
	goleak.VerifyTestMain(m)
}

func mustOpen(t testing.TB, path string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var turns = store.Key{Tenant: store.DefaultTenant, Kind: "turn", Stream: "c1"}

func text(s string) store.Record {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return store.Record{Data: data}
}
