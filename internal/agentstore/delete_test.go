package agentstore_test

import (
	"context"
	"testing"

	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/store"
)

// busy is a store to which another process writes before each of the first changes.
type busy struct {
	store.Store
	key  store.Key
	left int
}

func (b *busy) write(ctx context.Context) {
	if b.left > 0 {
		b.left--
		if _, err := b.Append(ctx, b.key, store.Record{Data: []byte("{}")}); err != nil {
			panic(err)
		}
	}
}

func (b *busy) Apply(ctx context.Context, changes ...store.Change) error {
	b.write(ctx)
	return b.Store.Apply(ctx, changes...)
}

func (b *busy) Clear(ctx context.Context, key store.Key) (n int, err error) {
	n, err = b.Store.Clear(ctx, key)
	b.write(ctx)
	return n, err
}

// A run that is deleted while another process writes to it must not keep frames without their
// document, which nobody finds again.
func TestDeletedRunsLeaveNothing(t *testing.T) {
	for name, n := range map[string]int{"small": 10, "large": store.MaxBatch + 10} {
		s := store.NewMemory()
		frames := store.Key{Tenant: "default", Kind: agentstore.KindFrame, Stream: "r"}
		for range n {
			if _, err := s.Append(t.Context(), frames, store.Record{Data: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Put(t.Context(), store.Key{Tenant: "default", Kind: agentstore.KindRun, Stream: "r"}, store.Record{ID: "pipeline", Data: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		run := agentstore.Run{Store: &busy{s, frames, 3}, Tenant: "default", ID: "r"}
		deleted, err := run.Delete(t.Context())
		keys, failed := s.Keys(t.Context(), "default", "")
		if err != nil || failed != nil || len(keys) > 0 || deleted != n+1+3 {
			t.Errorf("%s: deleted %d, %v; left %v, %v", name, deleted, err, keys, failed)
		}
	}
}
