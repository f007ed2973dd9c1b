package postgres

import (
	"os"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/pgtest"
	"github.com/anchor-host/anchor-host/store"
	"github.com/anchor-host/anchor-host/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func mustOpen(t testing.TB, url string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestContract(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Opener {
		url := pgtest.URL(t)
		return storetest.Opener{Durable: true, Open: func(t *testing.T) store.Store {
			return mustOpen(t, url, Options{})
		}}
	})
}
