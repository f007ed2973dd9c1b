package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/anchor-host/anchor-host/internal/testkit/indextest"
	"github.com/anchor-host/anchor-host/pipeline/retrieve"
)

func TestIndexContract(t *testing.T) {
	indextest.Run(t, func(t *testing.T) retrieve.Index {
		return mustOpen(t, filepath.Join(t.TempDir(), "store.db"), Options{Sync: Normal}).Index()
	})
}

// A cache that is too small for any collection changes nothing.
func TestIndexContractWithoutCache(t *testing.T) {
	indextest.Run(t, func(t *testing.T) retrieve.Index {
		return mustOpen(t, filepath.Join(t.TempDir(), "store.db"), Options{Sync: Normal, IndexCache: 1}).Index()
	})
}
