package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/anchor-host/anchor-host/store"
	"github.com/anchor-host/anchor-host/store/storetest"
)

func TestContract(t *testing.T) {
	for _, sync := range []Sync{Full, Normal} {
		t.Run(string(sync), func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Opener {
				path := filepath.Join(t.TempDir(), "a dir?#%41", "store.db")
				return storetest.Opener{Durable: true, Open: func(t *testing.T) store.Store {
					s, err := Open(t.Context(), path, Options{Sync: sync})
					if err != nil {
						t.Fatal(err)
					}
					return s
				}}
			})
		})
	}
}
