package store_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/anchor-host/anchor-host/store"
	"github.com/anchor-host/anchor-host/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Opener {
		return storetest.Opener{Open: func(*testing.T) store.Store { return store.NewMemory() }}
	})
}
